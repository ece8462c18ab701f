// Convolutions whose vectors run along the result's pixels, each with its feature's weights.
//
// A work item takes PANEL neighbouring pixels of the result, collects what their windows see into local memory, and multiplies it with
// panels of filters, [panel][tap][channel][ROWS].

// Collects what one tap sees in `count` channels, for the WIDTH pixels whose places in a channel are `places`; -1 is a zero.
//
// Neighbouring pixels see places at a distance of `step`: a vector is blended from one load for each run of them, mostly one.
static inline void collect(
    __global const float *restrict image, int at, const int total, const int area, const int count, const int *places,
    const int step, __local float *restrict to
) {
    const int few = 8;
    int are_all = 1;
    for (int i = 0; i < WIDTH; ++i)
        are_all &= places[i] >= 0;
    const int is_run = are_all && places[WIDTH - 1] - places[0] == step * (WIDTH - 1);
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
    Begin begins[PANEL];
    for (int i = 0; i < PANEL; ++i)
        begins[i] = begin_of(window, min(corner.column + i, pixels - 1));
    for (int k = 0; k < depth; k += depth_part) {
        const int length = min(depth_part, depth - k);
        int tap = k / CHANNELS;
        int channel = k % CHANNELS;
        for (int done = 0; done < length;) {
            const int count = min(CHANNELS - channel, length - done);
            const int x = tap % KERNEL(2);
            const int y = tap / KERNEL(2) % KERNEL(1);
            const int z = tap / (KERNEL(2) * KERNEL(1));
            int places[PANEL];
            for (int i = 0; i < PANEL; ++i)
                places[i] = i < corner.columns ? seen(window, begins[i], z, y, x) : -1;
            for (int j = 0; j < VECTORS; ++j)
                collect(
                    image, first + channel * area, total, area, count, places + j * WIDTH,
                    step, columns + done * PANEL + j * WIDTH
                );
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
