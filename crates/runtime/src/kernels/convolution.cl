// Convolutions whose vectors run along the result's pixels, each with its feature's weights.
//
// A work item takes PANEL neighbouring pixels of the result, collects what their windows see into local memory, and multiplies it with
// panels of filters, [panel][tap][channel][ROWS].

__constant int LANES[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// `along` of `kernels/window.cl` for a vector of windows; `is_seen` becomes 0 where one is outside.
static inline MASK along_all(
    __global const int *restrict window, const int axis, const MASK begins, const int tap, MASK *is_seen
) {
    MASK at = begins + tap * DILATION(axis);
    if (IS_TRANSPOSED) {
        const MASK distance = begins - tap * DILATION(axis);
        at = STRIDE(axis) == 1 ? distance : distance / STRIDE(axis);
        *is_seen &= (distance >= 0) & (at * STRIDE(axis) == distance);
    }
    *is_seen &= (at >= 0) & (at < INPUT(axis));
    return at;
}

// Collects what one tap sees in `count` channels, for the WIDTH pixels whose places in a channel are `seen`; -1 is a zero.
//
// Neighbouring pixels see places at a distance of `step`: a vector is blended from one load for each run of them, mostly one.
static inline void collect(
    __global const float *restrict image, int at, const int total, const int area, const int count, const MASK seen,
    const int step, __local float *restrict to
) {
    const int few = 8;
    int places[WIDTH];
    VSTORE(seen, 0, places);
    const int is_run = all((seen >= 0) & (seen == places[0] + VLOAD(0, LANES) * step));
    if (is_run && step == 1) {
        for (int i = 0; i < count; ++i, at += area, to += PANEL)
            VSTORE(VLOAD(0, image + at + places[0]), 0, to);
        return;
    }
    if (is_run && step == 2) {
        for (int i = 0; i < count; ++i, at += area, to += PANEL) {
            const VEC low = VLOAD(0, image + at + places[0]);
            const VEC high = VLOAD(0, image + at + places[0] + WIDTH - 1);
            VSTORE((VEC)(low.even, high.odd), 0, to);
        }
        return;
    }
    int bases[WIDTH];
    int masks[WIDTH * WIDTH];
    int runs = 0;
    int lowest = 0;
    int highest = 0;
    const int is_regular = (step == 1 || step == 2) && count >= few;
    for (int i = 0; is_regular && i < WIDTH; ++i) {
        if (places[i] < 0)
            continue;
        const int base = places[i] - i * step;
        if (runs == 0 || base != bases[runs - 1]) {
            lowest = runs == 0 ? base : min(lowest, base);
            highest = runs == 0 ? base : max(highest, base);
            bases[runs] = base;
            for (int j = 0; j < WIDTH; ++j)
                masks[runs * WIDTH + j] = 0;
            ++runs;
        }
        masks[(runs - 1) * WIDTH + i] = -1;
    }
    const int last = highest + step * (WIDTH - 1);
    for (int i = 0; i < count; ++i, at += area, to += PANEL) {
        if (is_regular && at + lowest >= 0 && at + last < total) {
            VEC all = (VEC)(0.0f);
            if (step == 1) {
                for (int run = 0; run < runs; ++run)
                    all = select(all, VLOAD(0, image + at + bases[run]), VLOAD(run, masks));
            } else {
                for (int run = 0; run < runs; ++run) {
                    const VEC low = VLOAD(0, image + at + bases[run]);
                    const VEC high = VLOAD(0, image + at + bases[run] + WIDTH - 1);
                    all = select(all, (VEC)(low.even, high.odd), VLOAD(run, masks));
                }
            }
            VSTORE(all, 0, to);
        } else {
            for (int j = 0; j < WIDTH; ++j)
                to[j] = places[j] < 0 ? 0.0f : image[at + places[j]];
        }
    }
}

// Work items: panels of pixels, parts of `part` panels of features, images times groups.
__kernel void convolution(
    IN(float, image), IN(float, filter), OUT(float, out), __global const int *restrict window,
    __local float *restrict columns, const int total, const int depth_part, const int part EXTRA_PARAMETERS
) {
    BIND_IN(float, image);
    BIND_IN(float, filter);
    BIND_OUT(float, out);
    EXTRA_BINDINGS
    const int group = get_global_id(2) % GROUPS;
    const int pixels = OUTPUT(0) * OUTPUT(1) * OUTPUT(2);
    const int taps = KERNEL(0) * KERNEL(1) * KERNEL(2);
    const int area = INPUT(0) * INPUT(1) * INPUT(2);
    const int depth = CHANNELS * taps;
    const int panels = (FEATURES + ROWS - 1) / ROWS;
    const int start = get_global_id(1) * part;
    const int end = min(start + part, panels);
    // The image number times groups plus the group is the number of the first channel over the channels of a group.
    const int first = get_global_id(2) * CHANNELS * area;
    const ulong result = (ulong)get_global_id(2) * FEATURES * pixels;
    __global const float *weights = filter + (ulong)group * panels * depth * ROWS;
    const int step = IS_TRANSPOSED && STRIDE(2) > 1 ? 0 : STRIDE(2);
    Corner corner;
    corner.row_stride = pixels;
    corner.column_stride = 1;
    corner.column = get_global_id(0) * PANEL;
    corner.columns = pixels - corner.column;
    MASK begins_z[VECTORS];
    MASK begins_y[VECTORS];
    MASK begins_x[VECTORS];
    for (int j = 0; j < VECTORS; ++j) {
        int z[WIDTH];
        int y[WIDTH];
        int x[WIDTH];
        for (int i = 0; i < WIDTH; ++i) {
            const Begin begins = begin_of(window, min(corner.column + j * WIDTH + i, pixels - 1));
            z[i] = begins.z;
            y[i] = begins.y;
            x[i] = begins.x;
        }
        begins_z[j] = VLOAD(0, z);
        begins_y[j] = VLOAD(0, y);
        begins_x[j] = VLOAD(0, x);
    }
    for (int k = 0; k < depth; k += depth_part) {
        const int length = min(depth_part, depth - k);
        int tap = k / CHANNELS;
        int channel = k % CHANNELS;
        for (int done = 0; done < length;) {
            const int count = min(CHANNELS - channel, length - done);
            const int x = tap % KERNEL(2);
            const int y = tap / KERNEL(2) % KERNEL(1);
            const int z = tap / (KERNEL(2) * KERNEL(1));
            for (int j = 0; j < VECTORS; ++j) {
                MASK is_seen = VLOAD(0, LANES) < corner.columns - j * WIDTH;
                const MASK at_z = along_all(window, 0, begins_z[j], z, &is_seen);
                const MASK at_y = along_all(window, 1, begins_y[j], y, &is_seen);
                const MASK at_x = along_all(window, 2, begins_x[j], x, &is_seen);
                const MASK places = (at_z * INPUT(1) + at_y) * INPUT(2) + at_x;
                collect(
                    image, first + channel * area, total, area, count, select((MASK)(-1), places, is_seen), step,
                    columns + done * PANEL + j * WIDTH
                );
            }
            done += count;
            channel = 0;
            ++tap;
        }
        corner.is_first = k == 0;
        corner.is_last = k + length == depth;
        for (int tile = start; tile < end; ++tile) {
            const int row = tile * ROWS;
            corner.row = group * FEATURES + row;
            corner.rows = min(ROWS, FEATURES - row);
            corner.at = result + (ulong)row * pixels + corner.column;
            __global const float *restrict rows = weights + ((ulong)tile * depth + k) * ROWS;
            if (corner.columns > WIDTH)
                whole_tile(rows, columns, length, out, corner EXTRA_NAMES);
            else
                narrow_tile(rows, columns, length, out, corner EXTRA_NAMES);
        }
    }
}
