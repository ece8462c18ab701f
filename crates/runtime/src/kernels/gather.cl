// Elements picked, or put, by indices that a frame computes.
//
// T: element type of the right size (of numbers where MODE says that they are joined); I: type of the indices.
// Negative indices count from the end; those outside are taken as the nearest one inside, since nothing here can refuse them.
// MODE, for scattering: 0 puts, 1 adds, 2 multiplies, 3 takes the larger, 4 the smaller; IS_REAL: whether T is a real type.

static long inside(long index, const long extent) {
  index = index < 0 ? index + extent : index;
  return clamp(index, 0L, extent - 1);
}

// r[o, j, i] = x[o, indices[j], i]; an item a block of `block` of the elements i.
__kernel void gather(IN(T, x), IN(I, indices), OUT(T, r), const long extent, const long count, const long inner,
                     const long block) {
  BIND_IN(T, x);
  BIND_IN(I, indices);
  BIND_OUT(T, r);
  const long from = (long)get_global_id(0) * block;
  const long to = min(from + block, inner);
  const long line = get_global_id(1);
  const long index = inside(indices[line % count], extent);
  __global const T *source = x + (line / count * extent + index) * inner;
  __global T *out = r + line * inner;
  long i = from;
#ifdef V
  for (; i + V <= to; i += V)
    STORE(LOAD(source + i), out + i);
#endif
  for (; i < to; ++i)
    out[i] = source[i];
}

// r[…] = x[…] with the index along one axis replaced; table, an axis: extent of the indices, stride of x; `axis` has stride `stride`.
__kernel void gather_elements(IN(T, x), IN(I, indices), OUT(T, r), __global const long *restrict table, const int rank,
                              const int axis, const long extent) {
  BIND_IN(T, x);
  BIND_IN(I, indices);
  BIND_OUT(T, r);
  const long at = get_global_id(0);
  long rest = at, place = inside(indices[at], extent) * table[2 * axis + 1];
  for (int a = rank - 1; a >= 0; --a) {
    if (a != axis)
      place += rest % table[2 * a] * table[2 * a + 1];
    rest /= table[2 * a];
  }
  r[at] = x[place];
}

// r[b, t, i] = x[b, indices[b, t, 0], indices[b, t, 1], …, i]; table, a component: its extent and its stride.
__kernel void gather_tuples(IN(T, x), IN(I, indices), OUT(T, r), __global const long *restrict table,
                            const int components, const long tuples, const long batch_stride, const long inner) {
  BIND_IN(T, x);
  BIND_IN(I, indices);
  BIND_OUT(T, r);
  const long i = get_global_id(0), tuple = get_global_id(1);
  long place = tuple / tuples * batch_stride + i;
  for (int c = 0; c < components; ++c)
    place += inside(indices[tuple * components + c], table[2 * c]) * table[2 * c + 1];
  r[tuple * inner + i] = x[place];
}

// r[i…, one class, …] = indices[i…] is the class ? on : off; classes lie `inner` apart.
__kernel void one_hot(IN(I, indices), IN(T, values), OUT(T, r), const long depth, const long inner) {
  BIND_IN(I, indices);
  BIND_IN(T, values);
  BIND_OUT(T, r);
  const long at = get_global_id(0);
  const long i = at % inner, label = at / inner % depth, o = at / inner / depth;
  long index = (long)indices[o * inner + i];
  index = index < 0 ? index + depth : index;
  r[at] = values[index == label];
}

#ifdef MODE
#if MODE == 0
#define PUT(old, new) (new)
#elif MODE == 1
#define PUT(old, new) ((old) + (new))
#elif MODE == 2
#define PUT(old, new) ((old) * (new))
#elif MODE == 3 && IS_REAL
#define PUT(old, new) LARGER(old, new)
#elif MODE == 3
#define PUT(old, new) max(old, new)
#elif IS_REAL
#define PUT(old, new) SMALLER(old, new)
#else
#define PUT(old, new) min(old, new)
#endif

// r holds x already. An item a line of the updates along `axis`, so that updates of one element come in order.
// table, an axis: extent of the indices, stride of the indices, stride of r.
__kernel void scatter_elements(IN(I, indices), IN(T, updates), OUT(T, r), __global const long *restrict table,
                               const int rank, const int axis, const long extent) {
  BIND_IN(I, indices);
  BIND_IN(T, updates);
  BIND_OUT(T, r);
  long rest = get_global_id(0), at = 0, place = 0;
  for (int a = rank - 1; a >= 0; --a) {
    if (a == axis)
      continue;
    const long index = rest % table[3 * a];
    rest /= table[3 * a];
    at += index * table[3 * a + 1];
    place += index * table[3 * a + 2];
  }
  for (long j = 0; j < table[3 * axis]; ++j) {
    const long from = at + j * table[3 * axis + 1];
    const long to = place + inside(indices[from], extent) * table[3 * axis + 2];
    r[to] = PUT(r[to], updates[from]);
  }
}

// r holds x already. An item an element of the slices, for all tuples in order; table, a component: its extent and its stride.
__kernel void scatter_tuples(IN(I, indices), IN(T, updates), OUT(T, r), __global const long *restrict table,
                             const int components, const long tuples, const long inner) {
  BIND_IN(I, indices);
  BIND_IN(T, updates);
  BIND_OUT(T, r);
  const long i = get_global_id(0);
  for (long tuple = 0; tuple < tuples; ++tuple) {
    long place = i;
    for (int c = 0; c < components; ++c)
      place += inside(indices[tuple * components + c], table[2 * c]) * table[2 * c + 1];
    r[place] = PUT(r[place], updates[tuple * inner + i]);
  }
}
#endif
