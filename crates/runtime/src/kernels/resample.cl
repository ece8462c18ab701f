// One axis resampled: every element is a weighted sum of `taps` elements of its line.
//
// table, an output: the indices of its taps; weights: as many, and one more that is added.
__kernel void resample(IN(float, x), OUT(float, r), __global const int *restrict table,
                       __global const float *restrict weights, const int taps, const long extent, const long out_extent,
                       const long inner, const long count, const long block) {
  BIND_IN(float, x);
  BIND_OUT(float, r);
  const long from = (long)get_global_id(0) * block;
  const long to = min(from + block, count);
  for (long line = from; line < to; ++line) {
    const long o = line % out_extent;
    __global const float *source = x + line / out_extent * extent * inner;
    __global float *out = r + line * inner;
    __global const int *at = table + o * taps;
    __global const float *weight = weights + o * (taps + 1);
    long i = 0;
#ifdef V
    for (; i + V <= inner; i += V) {
      VECTOR(float) sum = (VECTOR(float))(weight[taps]);
      for (int t = 0; t < taps; ++t)
        sum += LOAD(source + at[t] * inner + i) * weight[t];
      STORE(sum, out + i);
    }
#endif
    for (; i < inner; ++i) {
      float sum = weight[taps];
      for (int t = 0; t < taps; ++t)
        sum += source[at[t] * inner + i] * weight[t];
      out[i] = sum;
    }
  }
}
