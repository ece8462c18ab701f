// Reductions, places of extremes, and running sums.
//
// T: element type; OP: what is reduced; LOWEST and HIGHEST: the least and the greatest number of T; IS_REAL: whether T is a real type;
// ITEMS: work items that share a row; V: elements of a vector, for single-precision numbers on a CPU.

#define SUM 0
#define MEAN 1
#define MAX 2
#define MIN 3
#define PROD 4
#define L1 5
#define L2 6
#define SUM_SQUARE 7
#define LOG_SUM 8
#define LOG_SUM_EXP 9

#ifdef OP

#if IS_REAL
#define MAGNITUDE(x) fabs(x)
#else
#undef LARGER
#undef SMALLER
#define LARGER(a, b) max(a, b)
#define SMALLER(a, b) min(a, b)
#define MAGNITUDE(x) ((x) < 0 ? -(x) : (x))
#endif

#if OP == MAX
#define INITIAL LOWEST
#define JOINED(a, b) LARGER(a, b)
#define MAPPED(x) (x)
#elif OP == MIN
#define INITIAL HIGHEST
#define JOINED(a, b) SMALLER(a, b)
#define MAPPED(x) (x)
#elif OP == PROD
#define INITIAL 1
#define JOINED(a, b) ((a) * (b))
#define MAPPED(x) (x)
#else
#define INITIAL 0
#define JOINED(a, b) ((a) + (b))
#if OP == L1
#define MAPPED(x) MAGNITUDE(x)
#elif OP == L2 || OP == SUM_SQUARE
#define MAPPED(x) ((x) * (x))
#elif OP == LOG_SUM_EXP
#define MAPPED(x) exp((x) - shift)
#else
#define MAPPED(x) (x)
#endif
#endif

#if OP == MEAN
#define FINISHED(a) ((a) / (T)count)
#elif OP == L2
#if IS_REAL
#define FINISHED(a) sqrt(a)
#else
#define FINISHED(a) (T) sqrt((double)(a))
#endif
#elif OP == LOG_SUM
#if IS_REAL
#define FINISHED(a) log(a)
#else
#define FINISHED(a) (T) log((double)(a))
#endif
#elif OP == LOG_SUM_EXP
#define FINISHED(a) (shift + log(a))
#else
#define FINISHED(a) (a)
#endif

#if ITEMS > 1
// Every item of the group gets what all of them have.
#define SHARED(value, JOIN2)                                                                                           \
  partial[lane] = value;                                                                                               \
  barrier(CLK_LOCAL_MEM_FENCE);                                                                                        \
  for (int half_ = ITEMS / 2; half_ > 0; half_ /= 2) {                                                                 \
    if (lane < half_)                                                                                                  \
      partial[lane] = JOIN2(partial[lane], partial[lane + half_]);                                                     \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                      \
  }                                                                                                                    \
  value = partial[0];                                                                                                  \
  barrier(CLK_LOCAL_MEM_FENCE);
#else
#define SHARED(value, JOIN2)
#endif

// Where the element with a row-major index over some axes lies; the table has an extent and a stride for each.
static long place(long index, __global const long *table, const int axes) {
  long place = 0;
  for (int axis = axes - 1; axis >= 0; --axis) {
    place += index % table[2 * axis] * table[2 * axis + 1];
    index /= table[2 * axis];
  }
  return place;
}

// A group an output, or a block of them: `turns` times `inner` elements each.
__kernel void reduce_rows(IN(T, x), OUT(T, r), __global const long *restrict table, const int kept, const int reduced,
                          const long inner, const long stride, const long turns, const long outputs,
                          const long block) {
  BIND_IN(T, x);
  BIND_OUT(T, r);
#if ITEMS > 1
  __local T partial[ITEMS];
  const int lane = get_local_id(0);
#else
  const int lane = 0;
#endif
  const long count = inner * turns;
  const long from = (long)(get_global_id(0) / ITEMS) * block;
  const long to = min(from + block, outputs);
  for (long o = from; o < to; ++o) {
    const long base = place(o, table, kept);
#if OP == LOG_SUM_EXP
    T shift = LOWEST;
    for (long turn = 0; turn < turns; ++turn) {
      __global const T *row = x + base + place(turn, table + 2 * kept, reduced);
      for (long i = lane; i < inner; i += ITEMS)
        shift = LARGER(shift, row[i * stride]);
    }
    SHARED(shift, LARGER)
    if (isinf(shift))
      shift = 0;
#endif
    T all = INITIAL;
    for (long turn = 0; turn < turns; ++turn) {
      __global const T *row = x + base + place(turn, table + 2 * kept, reduced);
      long i = lane;
#ifdef V
      if (stride == 1 && inner >= V) {
        VECTOR(T) some = (VECTOR(T))((T)INITIAL);
        for (; i + V <= inner; i += V)
          some = JOINED(some, MAPPED(LOAD(row + i)));
        T lanes[V];
        STORE(some, lanes);
        // By halves, so that no lane waits for all before it.
        for (int half_ = V / 2; half_ > 0; half_ /= 2)
          for (int k = 0; k < half_; ++k)
            lanes[k] = JOINED(lanes[k], lanes[k + half_]);
        all = JOINED(all, lanes[0]);
      }
#endif
      for (; i < inner; i += ITEMS)
        all = JOINED(all, MAPPED(row[i * stride]));
    }
    SHARED(all, JOINED)
    if (lane == 0)
      r[o] = FINISHED(all);
  }
}

#ifdef V
// An item a block of neighbouring outputs, whose elements are neighbours too: `width` of them lie together.
__kernel void reduce_columns(IN(T, x), OUT(T, r), __global const long *restrict table, const int kept,
                             const int reduced, const long width, const long count, const long block) {
  BIND_IN(T, x);
  BIND_OUT(T, r);
  const long row = get_global_id(1);
  const long from = (long)get_global_id(0) * block;
  const long to = min(from + block, width);
  __global const T *base = x + place(row, table, kept);
  __global T *out = r + row * width;
  long c = from;
  for (; c + V <= to; c += V) {
#if OP == LOG_SUM_EXP
    VECTOR(T) shift = (VECTOR(T))((T)LOWEST);
    for (long i = 0; i < count; ++i)
      shift = LARGER(shift, LOAD(base + c + place(i, table + 2 * kept, reduced)));
    shift = isinf(shift) ? (VECTOR(T))((T)0) : shift;
#endif
    VECTOR(T) all = (VECTOR(T))((T)INITIAL);
    for (long i = 0; i < count; ++i)
      all = JOINED(all, MAPPED(LOAD(base + c + place(i, table + 2 * kept, reduced))));
    STORE(FINISHED(all), out + c);
  }
  for (; c < to; ++c) {
#if OP == LOG_SUM_EXP
    T shift = LOWEST;
    for (long i = 0; i < count; ++i)
      shift = LARGER(shift, base[c + place(i, table + 2 * kept, reduced)]);
    if (isinf(shift))
      shift = 0;
#endif
    T all = INITIAL;
    for (long i = 0; i < count; ++i)
      all = JOINED(all, MAPPED(base[c + place(i, table + 2 * kept, reduced)]));
    out[c] = FINISHED(all);
  }
}
#endif

#else

// The index of the largest or smallest element of lines of `extent`, `inner` apart.
__kernel void extreme(IN(T, x), OUT(long, r), const long extent, const long inner, const int is_largest,
                      const int is_last) {
  BIND_IN(T, x);
  BIND_OUT(long, r);
  const long line = get_global_id(0);
  __global const T *p = x + line / inner * extent * inner + line % inner;
  T best = p[0];
  long at = 0;
  for (long i = 1; i < extent; ++i) {
    const T value = p[i * inner];
    const bool is_better = is_largest ? value > best : value < best;
    if (is_better || (is_last && value == best)) {
      best = value;
      at = i;
    }
  }
  r[line] = at;
}

// Sums of lines of `extent`, `inner` apart, up to each element.
__kernel void running_sum(IN(T, x), OUT(T, r), const long extent, const long inner, const int is_exclusive,
                          const int is_reverse) {
  BIND_IN(T, x);
  BIND_OUT(T, r);
  const long line = get_global_id(0);
  const long first = line / inner * extent * inner + line % inner;
  T sum = 0;
  for (long step = 0; step < extent; ++step) {
    const long at = first + (is_reverse ? extent - 1 - step : step) * inner;
    const T value = x[at];
    r[at] = is_exclusive ? sum : sum + value;
    sum += value;
  }
}

#endif
