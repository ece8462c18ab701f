// Rows of `extent` elements with mean and variance taken out, then scaled and shifted.
//
// Which scale belongs to element `i` of row `row`: (row % groups) * group_step + (i / plane) * plane_step.
// IS_RMS: the mean stays; ITEMS: work items that share a row; V: elements of a vector on a CPU.

#if ITEMS > 1
#define SUMMED(value)                                                                                                  \
  partial[lane] = value;                                                                                               \
  barrier(CLK_LOCAL_MEM_FENCE);                                                                                        \
  for (int half_ = ITEMS / 2; half_ > 0; half_ /= 2) {                                                                 \
    if (lane < half_)                                                                                                  \
      partial[lane] += partial[lane + half_];                                                                          \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                      \
  }                                                                                                                    \
  value = partial[0];                                                                                                  \
  barrier(CLK_LOCAL_MEM_FENCE);
#else
#define SUMMED(value)
#endif

__kernel void normalize_rows(IN(float, x_all), IN(float, scales), IN(float, shifts), OUT(float, r_all), OUT(float, means),
                             OUT(float, inverses), const long extent, const long count, const long block, const long groups,
                        const long group_step, const long plane, const long plane_step, const int has,
                        const float epsilon) {
  BIND_IN(float, x_all);
  BIND_IN(float, scales);
  BIND_IN(float, shifts);
  BIND_OUT(float, r_all);
  BIND_OUT(float, means);
  BIND_OUT(float, inverses);
#if ITEMS > 1
  __local float partial[ITEMS];
  const int lane = get_local_id(0);
#else
  const int lane = 0;
#endif
  const bool has_scale = has & 1, has_shift = has & 2, has_mean = has & 4, has_inverse = has & 8;
  const long from = (long)(get_global_id(0) / ITEMS) * block;
  const long to = min(from + block, count);
  for (long row = from; row < to; ++row) {
    __global const float *restrict x = x_all + row * extent;
    __global float *restrict r = r_all + row * extent;
    long i;
    float mean = 0;
#ifdef V
    float lanes[V];
#endif
#if !IS_RMS
    i = lane;
#ifdef V
    VECTOR(float) some = (VECTOR(float))(0.0f);
    for (; i + V <= extent; i += V)
      some += LOAD(x + i);
    STORE(some, lanes);
    for (int k = 0; k < V; ++k)
      mean += lanes[k];
#endif
    for (; i < extent; i += ITEMS)
      mean += x[i];
    SUMMED(mean)
    mean /= extent;
#endif
    float variance = 0;
    i = lane;
#ifdef V
    VECTOR(float) squares = (VECTOR(float))(0.0f);
    for (; i + V <= extent; i += V) {
      const VECTOR(float) d = LOAD(x + i) - mean;
      squares += d * d;
    }
    STORE(squares, lanes);
    for (int k = 0; k < V; ++k)
      variance += lanes[k];
#endif
    for (; i < extent; i += ITEMS) {
      const float d = x[i] - mean;
      variance += d * d;
    }
    SUMMED(variance)
    const float inverse = 1.0f / sqrt(variance / extent + epsilon);
    const long group = row % groups * group_step;
    i = lane;
#ifdef V
    if (plane == 1) {
      for (; i + V <= extent; i += V) {
        VECTOR(float) y = (LOAD(x + i) - mean) * inverse;
        if (has_scale)
          y *= plane_step ? LOAD(scales + group + i) : (VECTOR(float))(scales[group]);
        if (has_shift)
          y += plane_step ? LOAD(shifts + group + i) : (VECTOR(float))(shifts[group]);
        STORE(y, r + i);
      }
    } else {
      for (long p = 0; p < extent / plane; ++p) {
        const long at = group + p * plane_step;
        const float factor = has_scale ? inverse * scales[at] : inverse;
        const float shift = has_shift ? shifts[at] : 0.0f;
        const long end = (p + 1) * plane;
        i = p * plane;
        for (; i + V <= end; i += V)
          STORE((LOAD(x + i) - mean) * factor + shift, r + i);
        for (; i < end; ++i)
          r[i] = (x[i] - mean) * factor + shift;
      }
    }
#endif
    for (; i < extent; i += ITEMS) {
      const long at = group + i / plane * plane_step;
      float y = (x[i] - mean) * inverse;
      if (has_scale)
        y *= scales[at];
      if (has_shift)
        y += shifts[at];
      r[i] = y;
    }
    if (lane == 0 && has_mean)
      means[row] = mean;
    if (lane == 0 && has_inverse)
      inverses[row] = inverse;
  }
}

// Lines of `extent` elements, `inner` apart, over their norm of order 1 or 2.
__kernel void unit(IN(float, x), OUT(float, r), const long extent, const long inner, const int order) {
  BIND_IN(float, x);
  BIND_OUT(float, r);
  const long line = get_global_id(0);
  const long first = line / inner * extent * inner + line % inner;
  float norm = 0;
  for (long i = 0; i < extent; ++i) {
    const float value = x[first + i * inner];
    norm += order == 1 ? fabs(value) : value * value;
  }
  if (order == 2)
    norm = sqrt(norm);
  for (long i = 0; i < extent; ++i)
    r[first + i * inner] = norm == 0 ? 0 : x[first + i * inner] / norm;
}

// x / (bias + alpha / size · Σ x²)^beta, the sum over the `size` channels around.
__kernel void across_channels(IN(float, x), OUT(float, r), const long channels, const long plane, const long block,
                              const int before, const int after, const float scale, const float beta,
                              const float bias) {
  BIND_IN(float, x);
  BIND_OUT(float, r);
  const long image = get_global_id(1) / channels, channel = get_global_id(1) % channels;
  const long first = max(channel - before, 0L), last = min(channel + after, channels - 1);
  const long from = (long)get_global_id(0) * block;
  const long to = min(from + block, plane);
  x += image * channels * plane;
  r += image * channels * plane;
  long i = from;
#ifdef V
  for (; i + V <= to; i += V) {
    VECTOR(float) sum = (VECTOR(float))(0.0f);
    for (long c = first; c <= last; ++c) {
      const VECTOR(float) value = LOAD(x + c * plane + i);
      sum += value * value;
    }
    STORE(LOAD(x + channel * plane + i) * exp(-beta * log(bias + scale * sum)), r + channel * plane + i);
  }
#endif
  for (; i < to; ++i) {
    float sum = 0;
    for (long c = first; c <= last; ++c) {
      const float value = x[c * plane + i];
      sum += value * value;
    }
    r[channel * plane + i] = x[channel * plane + i] * exp(-beta * log(bias + scale * sum));
  }
}
