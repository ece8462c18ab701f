// Softmax, its logarithm, and the largest element as one.
//
// T: element type; MODE: 0 softmax, 1 its logarithm, 2 one for the (first) largest; ITEMS: work items that share a row;
// V: elements of a vector, for single-precision numbers on a CPU.

#if ITEMS > 1
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
#define PLUS(a, b) ((a) + (b))

// Rows of `extent` neighbouring elements.
__kernel void rows(IN(T, x_all), OUT(T, r_all), const long extent, const long count, const long block) {
  BIND_IN(T, x_all);
  BIND_OUT(T, r_all);
#if ITEMS > 1
  __local T partial[ITEMS];
  const int lane = get_local_id(0);
#else
  const int lane = 0;
#endif
  const long from = (long)(get_global_id(0) / ITEMS) * block;
  const long to = min(from + block, count);
  for (long row = from; row < to; ++row) {
    __global const T *restrict x = x_all + row * extent;
    __global T *restrict r = r_all + row * extent;
    T largest = -INFINITY;
    long i = lane;
#ifdef V
    VECTOR(T) top = (VECTOR(T))((T)-INFINITY);
    T lanes[V];
    for (; i + V <= extent; i += V)
      top = fmax(top, LOAD(x + i));
    STORE(top, lanes);
    for (int k = 0; k < V; ++k)
      largest = fmax(largest, lanes[k]);
#endif
    for (; i < extent; i += ITEMS)
      largest = fmax(largest, x[i]);
    SHARED(largest, fmax)
    T sum = 0;
    i = lane;
#ifdef V
    VECTOR(T) some = (VECTOR(T))((T)0);
    for (; i + V <= extent; i += V) {
      const VECTOR(T) e = exp(LOAD(x + i) - largest);
      some += e;
#if MODE == 0
      STORE(e, r + i);
#endif
    }
    STORE(some, lanes);
    for (int k = 0; k < V; ++k)
      sum += lanes[k];
#endif
    for (; i < extent; i += ITEMS) {
      const T e = exp(x[i] - largest);
      sum += e;
#if MODE == 0
      r[i] = e;
#endif
    }
    SHARED(sum, PLUS)
    i = lane;
#if MODE == 0
    const T scale = 1 / sum;
#ifdef V
    for (; i + V <= extent; i += V)
      STORE(LOAD(r + i) * scale, r + i);
#endif
    for (; i < extent; i += ITEMS)
      r[i] *= scale;
#else
    // In this order: beside a large element the logarithm would be rounded away.
    const T shift = log(sum);
#ifdef V
    for (; i + V <= extent; i += V)
      STORE(LOAD(x + i) - largest - shift, r + i);
#endif
    for (; i < extent; i += ITEMS)
      r[i] = x[i] - largest - shift;
#endif
  }
}

// Lines of `extent` elements, `inner` apart.
__kernel void lines(IN(T, x), OUT(T, r), const long extent, const long inner, const long count, const long block) {
  BIND_IN(T, x);
  BIND_OUT(T, r);
  const long from = (long)get_global_id(0) * block;
  const long to = min(from + block, count);
  for (long line = from; line < to; ++line) {
    const long first = line / inner * extent * inner + line % inner;
    T largest = -INFINITY;
    long at = 0;
    for (long i = 0; i < extent; ++i) {
      const T value = x[first + i * inner];
      if (value > largest) {
        largest = value;
        at = i;
      }
    }
#if MODE == 2
    for (long i = 0; i < extent; ++i)
      r[first + i * inner] = i == at;
#else
    T sum = 0;
    for (long i = 0; i < extent; ++i)
      sum += exp(x[first + i * inner] - largest);
#if MODE == 0
    const T scale = 1 / sum;
    for (long i = 0; i < extent; ++i)
      r[first + i * inner] = exp(x[first + i * inner] - largest) * scale;
#else
    const T shift = log(sum);
    for (long i = 0; i < extent; ++i)
      r[first + i * inner] = x[first + i * inner] - largest - shift;
#endif
#endif
  }
}
