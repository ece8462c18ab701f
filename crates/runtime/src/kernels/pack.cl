// Matrices, filters and windows as panels.

// Panels of `width` rows of a matrix: [panel][depth][width], with zeros past the last row.
//
// Element (row, t * inner + i) lies at `row * row_stride + t * outer_stride + i * inner_stride`, matrix b of the batch at `offsets[b]`.
// Work items: panels, parts of the depth of `part` each, matrices.
__kernel void pack_panels(
    IN(float, matrix), OUT(float, packed), __global const int *restrict offsets, const int rows, const int depth,
    const int width, const int inner, const int row_stride, const int outer_stride, const int inner_stride,
    const int part
) {
    BIND_IN(float, matrix);
    BIND_OUT(float, packed);
    const int panel = get_global_id(0);
    const int start = get_global_id(1) * part;
    const int batch = get_global_id(2);
    const int end = min(start + part, depth);
    __global const float *source = matrix + offsets[batch] + (long)panel * width * row_stride;
    __global float *target = packed + ((ulong)batch * get_global_size(0) + panel) * depth * width;
    const int filled = min(width, rows - panel * width);
    for (int i = 0; i < width; ++i) {
        if (i >= filled) {
            for (int k = start; k < end; ++k)
                target[(ulong)k * width + i] = 0.0f;
            continue;
        }
        int k = start;
        while (k < end) {
            const int outer = k / inner;
            const int first = k - outer * inner;
            const int count = min(inner - first, end - k);
            __global const float *from = source + (long)i * row_stride + (long)outer * outer_stride + (long)first * inner_stride;
            for (int n = 0; n < count; ++n)
                target[(ulong)(k + n) * width + i] = from[(long)n * inner_stride];
            k += count;
        }
    }
}

// The same where neighbouring rows lie side by side (`row_stride` 1): whole rows of a panel are copied at once.
__kernel void pack_contiguous(
    IN(float, matrix), OUT(float, packed), __global const int *restrict offsets, const int rows, const int depth,
    const int width, const int depth_stride, const int part
) {
    BIND_IN(float, matrix);
    BIND_OUT(float, packed);
    const int panel = get_global_id(0);
    const int start = get_global_id(1) * part;
    const int batch = get_global_id(2);
    const int end = min(start + part, depth);
    __global const float *source = matrix + offsets[batch] + (long)panel * width;
    __global float *target = packed + ((ulong)batch * get_global_size(0) + panel) * depth * width;
    const int filled = min(width, rows - panel * width);
    for (int k = start; k < end; ++k) {
        __global const float *from = source + (long)k * depth_stride;
        __global float *to = target + (ulong)k * width;
        for (int i = 0; i < filled; ++i)
            to[i] = from[i];
        for (int i = filled; i < width; ++i)
            to[i] = 0.0f;
    }
}
