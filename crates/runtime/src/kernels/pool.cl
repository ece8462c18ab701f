// Pools over windows.
//
// Images have up to three spatial axes: depth, height and width; absent ones have one element.
// table, an axis: extent of x, extent of r, kernel, stride, dilation, padding before, padding behind.
// MODE: 0 largest, 1 average, 2 norm of order p; T: element type; IS_REAL: whether it is a real one.

#define IN_EXTENT(axis) table[7 * (axis)]
#define OUT_EXTENT(axis) table[7 * (axis) + 1]
#define KERNEL(axis) table[7 * (axis) + 2]
#define STRIDE(axis) table[7 * (axis) + 3]
#define DILATION(axis) table[7 * (axis) + 4]
#define BEFORE(axis) table[7 * (axis) + 5]
#define BEHIND(axis) table[7 * (axis) + 6]

// How many taps of a window count: those inside of the image, or inside of the image and its padding.
static long counted(__global const int *table, const int axis, const int o, const int includes_padding) {
  const int low = includes_padding ? -BEFORE(axis) : 0;
  const int high = includes_padding ? IN_EXTENT(axis) + BEHIND(axis) : IN_EXTENT(axis);
  int taps = 0;
  for (int k = 0; k < KERNEL(axis); ++k) {
    const int i = o * STRIDE(axis) - BEFORE(axis) + k * DILATION(axis);
    taps += i >= low && i < high;
  }
  return taps;
}

// An output an item.
__kernel void pool(IN(T, x_all), OUT(T, r), OUT(long, places), __global const int *restrict table, const int p,
                   const int includes_padding, const int has_places, const int is_column_major) {
  BIND_IN(T, x_all);
  BIND_OUT(T, r);
  BIND_OUT(long, places);
  const int D = IN_EXTENT(0), H = IN_EXTENT(1), W = IN_EXTENT(2);
  const long at = get_global_id(0);
  long rest = at;
  const int ow = rest % OUT_EXTENT(2);
  rest /= OUT_EXTENT(2);
  const int oh = rest % OUT_EXTENT(1);
  rest /= OUT_EXTENT(1);
  const int od = rest % OUT_EXTENT(0);
  const long image = rest / OUT_EXTENT(0);
  __global const T *x = x_all + image * D * H * W;
#if MODE == 0
  T value = LOWEST;
  long place = -1;
#else
  T value = 0;
#endif
  for (int kd = 0; kd < KERNEL(0); ++kd) {
    const int d = od * STRIDE(0) - BEFORE(0) + kd * DILATION(0);
    if (d < 0 || d >= D)
      continue;
    for (int kh = 0; kh < KERNEL(1); ++kh) {
      const int h = oh * STRIDE(1) - BEFORE(1) + kh * DILATION(1);
      if (h < 0 || h >= H)
        continue;
      for (int kw = 0; kw < KERNEL(2); ++kw) {
        const int w = ow * STRIDE(2) - BEFORE(2) + kw * DILATION(2);
        if (w < 0 || w >= W)
          continue;
        const T found = x[((long)d * H + h) * W + w];
#if MODE == 0
#if IS_REAL
        const bool is_better = found > value || (isnan(found) && !isnan(value));
#else
        const bool is_better = found > value;
#endif
        if (place < 0 || is_better) {
          value = found;
          place = is_column_major ? ((long)w * H + h) * D + d : ((long)d * H + h) * W + w;
        }
#elif MODE == 1
        value += found;
#else
        value += p == 1 ? fabs(found) : (p == 2 ? found * found : pow(fabs(found), (T)p));
#endif
      }
    }
  }
#if MODE == 0
  if (has_places)
    places[at] = image * D * H * W + place;
#elif MODE == 1
  const long count = counted(table, 0, od, includes_padding) * counted(table, 1, oh, includes_padding) *
                     counted(table, 2, ow, includes_padding);
  value /= max(count, 1L);
#else
  value = p == 1 ? value : (p == 2 ? sqrt(value) : pow(value, (T)1 / (T)p));
#endif
  r[at] = value;
}

#if defined(V) && MODE != 2

#if MODE == 0
#define NOTHING (-INFINITY)
#define JOINED(a, b) LARGER(a, b)
#else
#define NOTHING 0.0f
#define JOINED(a, b) ((a) + (b))
#endif

#if V == 16
#define EVEN(a, b) (float16)((a).even, (b).even)
#endif

// A row of outputs at a time: first down the window into a padded line, then along it. ROW: what the line holds at most.
__kernel void pool_rows(IN(float, x_all), OUT(float, r), __global const int *restrict table, const int includes_padding,
                        const long rows, const long block) {
  BIND_IN(float, x_all);
  BIND_OUT(float, r);
  const int D = IN_EXTENT(0), H = IN_EXTENT(1), W = IN_EXTENT(2), width = OUT_EXTENT(2);
  const int before = BEFORE(2), stride = STRIDE(2), dilation = DILATION(2), kernel_width = KERNEL(2);
  float line[ROW + 4 * V];
#if MODE == 1
  // One over the taps that count along the row.
  float shares[ROW + V];
  for (int o = 0; o < width; ++o)
    shares[o] = 1.0f / max((float)counted(table, 2, o, includes_padding), 1.0f);
#endif
  // Rows are read in whole vectors where something of the tensor follows; what is read too much is taken out of the line again.
  const int whole = (W + V - 1) / V * V;
  const long total = rows / OUT_EXTENT(1) / OUT_EXTENT(0) * D * H * W;
  const int line_end = (width + V) * stride + (kernel_width - 1) * dilation + V;
  const long from = (long)get_global_id(0) * block;
  const long to = min(from + block, rows);
  for (int i = 0; i < before; ++i)
    line[i] = NOTHING;
  for (int i = before + W; i < min(line_end, ROW + 4 * V); ++i)
    line[i] = NOTHING;
  for (long row = from; row < to; ++row) {
    const int oh = row % OUT_EXTENT(1);
    const int od = row / OUT_EXTENT(1) % OUT_EXTENT(0);
    const long image = row / OUT_EXTENT(1) / OUT_EXTENT(0);
    __global const float *x = x_all + image * D * H * W;
    bool is_first = true;
    for (int kd = 0; kd < KERNEL(0); ++kd) {
      const int d = od * STRIDE(0) - BEFORE(0) + kd * DILATION(0);
      if (d < 0 || d >= D)
        continue;
      for (int kh = 0; kh < KERNEL(1); ++kh) {
        const int h = oh * STRIDE(1) - BEFORE(1) + kh * DILATION(1);
        if (h < 0 || h >= H)
          continue;
        __global const float *source = x + ((long)d * H + h) * W;
        const int end = source - x_all + whole <= total ? whole : W / V * V;
        int i = 0;
        if (is_first) {
          for (; i < end; i += V)
            STORE(LOAD(source + i), line + before + i);
          for (; i < W; ++i)
            line[before + i] = source[i];
        } else {
          for (; i < end; i += V)
            STORE(JOINED(LOAD(line + before + i), LOAD(source + i)), line + before + i);
          for (; i < W; ++i)
            line[before + i] = JOINED(line[before + i], source[i]);
        }
        is_first = false;
      }
    }
    if (is_first)
      for (int i = 0; i < W; ++i)
        line[before + i] = NOTHING;
    STORE((VECTOR(float))(NOTHING), line + before + W);
#if MODE == 1
    const long area = counted(table, 0, od, includes_padding) * counted(table, 1, oh, includes_padding);
    const float share = 1.0f / max((float)area, 1.0f);
#endif
    __global float *out = r + row * width;
    for (int o = 0; o < width; o += V) {
      VECTOR(float) value = (VECTOR(float))(NOTHING);
      if (stride == 1) {
        for (int k = 0; k < kernel_width; ++k)
          value = JOINED(value, LOAD(line + o + k * dilation));
      } else if (stride == 2) {
        for (int k = 0; k < kernel_width; ++k) {
          const float *at = line + 2 * o + k * dilation;
          value = JOINED(value, EVEN(LOAD(at), LOAD(at + V)));
        }
      } else {
        float lanes[V];
        for (int j = 0; j < V; ++j) {
          lanes[j] = NOTHING;
          for (int k = 0; k < kernel_width; ++k)
            lanes[j] = JOINED(lanes[j], line[(o + j) * stride + k * dilation]);
        }
        value = LOAD(lanes);
      }
#if MODE == 1
      value *= LOAD(shares + o) * share;
#endif
      if (o + V <= width) {
        STORE(value, out + o);
      } else {
        float lanes[V];
        STORE(value, lanes);
        for (int j = 0; o + j < width; ++j)
          out[o + j] = lanes[j];
      }
    }
  }
}

#endif
