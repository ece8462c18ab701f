// r[…] = EXPR of x, y and z, over strided tensors of any rank.
//
// The innermost axis is a loop, those around it are counted like an odometer.
// table: strides of r, x, y, z along the innermost axis; the first elements of the same; then, an outer axis, its extent and the same strides.
// TX, TY, TZ, TR: element types; V: elements of a vector, defined where all of them are single-precision numbers.

#define OUTER_AXES 16

__kernel void map(IN(TX, a),
#ifdef TY
                  IN(TY, b),
#endif
#ifdef TZ
                  IN(TZ, c),
#endif
                  OUT(TR, r), __global const long *restrict table, const int outer, const long inner, const long rows,
                  const long inner_block, const long row_block) {
  BIND_IN(TX, a);
  const long sx = table[1];
#ifdef TY
  BIND_IN(TY, b);
  const long sy = table[2];
#endif
#ifdef TZ
  BIND_IN(TZ, c);
  const long sz = table[3];
#endif
  BIND_OUT(TR, r);
  const long sr = table[0];
  const long from = (long)get_global_id(0) * inner_block;
  const long to = min(from + inner_block, inner);
  const long row_from = (long)get_global_id(1) * row_block;
  const long row_to = min(row_from + row_block, rows);
  long pr = table[4], px = table[5], py = table[6], pz = table[7];
  long at[OUTER_AXES];
  long rest = row_from;
  for (int axis = outer - 1; axis >= 0; --axis) {
    __global const long *t = table + 8 + 5 * axis;
    at[axis] = rest % t[0];
    rest /= t[0];
    pr += at[axis] * t[1];
    px += at[axis] * t[2];
    py += at[axis] * t[3];
    pz += at[axis] * t[4];
  }
  for (long row = row_from; row < row_to; ++row) {
    long i = from;
#ifdef V
    if (sr == 1 && (sx == 0 || sx == 1)
#ifdef TY
        && (sy == 0 || sy == 1)
#endif
#ifdef TZ
        && (sz == 0 || sz == 1)
#endif
    ) {
      const VECTOR(TX) same_x = (VECTOR(TX))(a[px]);
#ifdef TY
      const VECTOR(TY) same_y = (VECTOR(TY))(b[py]);
#endif
#ifdef TZ
      const VECTOR(TZ) same_z = (VECTOR(TZ))(c[pz]);
#endif
      for (; i + V <= to; i += V) {
        const VECTOR(TX) x = sx ? LOAD(a + px + i) : same_x;
#ifdef TY
        const VECTOR(TY) y = sy ? LOAD(b + py + i) : same_y;
#endif
#ifdef TZ
        const VECTOR(TZ) z = sz ? LOAD(c + pz + i) : same_z;
#endif
        STORE(EXPR, r + pr + i);
      }
    }
#endif
    for (; i < to; ++i) {
      const TX x = a[px + i * sx];
#ifdef TY
      const TY y = b[py + i * sy];
#endif
#ifdef TZ
      const TZ z = c[pz + i * sz];
#endif
      r[pr + i * sr] = (TR)(EXPR);
    }
    for (int axis = outer - 1; axis >= 0; --axis) {
      __global const long *t = table + 8 + 5 * axis;
      pr += t[1];
      px += t[2];
      py += t[3];
      pz += t[4];
      if (++at[axis] < t[0])
        break;
      at[axis] = 0;
      pr -= t[0] * t[1];
      px -= t[0] * t[2];
      py -= t[0] * t[3];
      pz -= t[0] * t[4];
    }
  }
}
