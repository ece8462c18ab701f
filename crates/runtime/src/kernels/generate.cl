// Elements that follow from where they are: constants, ranges, triangles, and padding by other elements.
// T: an element type of the right size.

// count elements from bits, each work item block of them.
__kernel void fill(OUT(T, r), const long bits, const long count, const long block) {
  BIND_OUT(T, r);
  const long from = (long)get_global_id(0) * block;
  const long to = min(from + block, count);
  for (long i = from; i < to; ++i)
    r[i] = (T)bits;
}

// The triangle of matrices of `height` by `width` on and below (or above) the diagonal `k`.
__kernel void triangle(IN(T, x), OUT(T, r), const long height, const long width, const long k, const int upper) {
  BIND_IN(T, x);
  BIND_OUT(T, r);
  const long row = get_global_id(0);
  const long at = row * width;
  const long i = row % height;
  for (long j = 0; j < width; ++j)
    r[at + j] = (upper ? j - i >= k : j - i <= k) ? x[at + j] : 0;
}

// Ones on the diagonal `k` of a matrix with rows of `width`.
__kernel void diagonal(OUT(T, r), const long one, const long width, const long k) {
  BIND_OUT(T, r);
  const long i = get_global_id(0);
  for (long j = 0; j < width; ++j)
    r[i * width + j] = j - i == k ? (T)one : (T)0;
}

// r[i0, i1, …] = x[places0[i0] + places1[i1] + …].
// table: an axis, its extent and where its places start in the table; then the places.
__kernel void lookup(IN(T, x), OUT(T, r), __global const long *restrict table, const int rank, const long count,
                     const long block) {
  BIND_IN(T, x);
  BIND_OUT(T, r);
  const long from = (long)get_global_id(0) * block;
  const long to = min(from + block, count);
  for (long i = from; i < to; ++i) {
    long rest = i, place = 0;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const long extent = table[2 * axis];
      place += table[table[2 * axis + 1] + rest % extent];
      rest /= extent;
    }
    r[i] = x[place];
  }
}
