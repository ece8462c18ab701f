// Convolutions with one channel a group: a channel is copied into local memory with its padding, and vectors run along the lines.
//
// Work items: results of an image, images. A line in local memory has `pitch` elements, enough for whole vectors.
__kernel void depthwise(
    IN(float, image), IN(float, filter), OUT(float, out), __global const int *restrict window,
    __local float *restrict padded, const int depth, const int height, const int pitch, const int slack EXTRA_PARAMETERS
) {
    BIND_IN(float, image);
    BIND_IN(float, filter);
    BIND_OUT(float, out);
    EXTRA_BINDINGS
    const int feature = get_global_id(0);
    const int number = get_global_id(1);
    const int area = INPUT(0) * INPUT(1) * INPUT(2);
    const int taps = KERNEL(0) * KERNEL(1) * KERNEL(2);
    __global const float *from = image + ((ulong)number * GROUPS + feature / FEATURES) * area;
    __global const float *weights = filter + feature * taps;
    for (int i = 0; i < depth * height * pitch + slack; ++i)
        padded[i] = 0.0f;
    for (int z = 0; z < INPUT(0) && z + PADDING(0) < depth; ++z)
        for (int y = 0; y < INPUT(1) && y + PADDING(1) < height; ++y) {
            __local float *line = padded + ((z + PADDING(0)) * height + y + PADDING(1)) * pitch + PADDING(2);
            const int width = min(INPUT(2), pitch - PADDING(2));
            for (int x = 0; x < width; ++x)
                line[x] = from[(z * INPUT(1) + y) * INPUT(2) + x];
        }
    const int row = feature;
    const int column = 0;
    const ulong result = ((ulong)number * get_global_size(0) + feature) * OUTPUT(0) * OUTPUT(1) * OUTPUT(2);
    for (int line = 0; line < OUTPUT(0) * OUTPUT(1); ++line) {
        const int top = (line / OUTPUT(1) * STRIDE(0) * height + line % OUTPUT(1) * STRIDE(1)) * pitch;
        for (int x = 0; x < OUTPUT(2); x += WIDTH) {
            VEC sum = (VEC)(0.0f);
            __local const float *corner = padded + top + x * STRIDE(2);
            int tap = 0;
            for (int i = 0; i < KERNEL(0); ++i)
                for (int j = 0; j < KERNEL(1); ++j) {
                    __local const float *at = corner + (i * DILATION(0) * height + j * DILATION(1)) * pitch;
                    for (int k = 0; k < KERNEL(2); ++k, ++tap, at += DILATION(2)) {
                        VEC seen;
                        if (STRIDE(2) == 1) {
                            seen = VLOAD(0, at);
                        } else if (STRIDE(2) == 2) {
                            const VEC low = VLOAD(0, at);
                            const VEC high = VLOAD(0, at + WIDTH - 1);
                            seen = (VEC)(low.even, high.odd);
                        } else {
                            float gathered[WIDTH];
                            for (int lane = 0; lane < WIDTH; ++lane)
                                gathered[lane] = at[lane * STRIDE(2)];
                            seen = VLOAD(0, gathered);
                        }
                        sum = fma((VEC)(weights[tap]), seen, sum);
                    }
                }
            const ulong first = result + (ulong)line * OUTPUT(2) + x;
            if (x + WIDTH <= OUTPUT(2)) {
                VSTORE(finish(sum, first, row, column EXTRA_NAMES), 0, out + first);
            } else {
                float lanes[WIDTH];
                VSTORE(sum, 0, lanes);
                for (int lane = 0; x + lane < OUTPUT(2); ++lane)
                    out[first + lane] = finish_one(lanes[lane], first + lane, row, column EXTRA_NAMES);
            }
        }
    }
}
