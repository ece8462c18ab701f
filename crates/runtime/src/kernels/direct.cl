// Convolutions with an element of the result a work item, for groups too small to be products.
//
// Work items: pixels, features of all groups, images. Weight (feature, channel, tap) lies at [feature][channel][tap].
__kernel void direct(
    IN(float, image), IN(float, filter), OUT(float, out), __global const int *restrict window EXTRA_PARAMETERS
) {
    BIND_IN(float, image);
    BIND_IN(float, filter);
    BIND_OUT(float, out);
    EXTRA_BINDINGS
    const int pixels = OUTPUT(0) * OUTPUT(1) * OUTPUT(2);
    const int column = get_global_id(0);
    if (column >= pixels)
        return;
    const int row = get_global_id(1);
    const int area = INPUT(0) * INPUT(1) * INPUT(2);
    const int taps = KERNEL(0) * KERNEL(1) * KERNEL(2);
    const Begin begins = begin_of(window, column);
    __global const float *from = image + ((ulong)get_global_id(2) * GROUPS + row / FEATURES) * CHANNELS * area;
    __global const float *weights = filter + (ulong)row * CHANNELS * taps;
    float sum = 0.0f;
    for (int z = 0, tap = 0; z < KERNEL(0); ++z)
        for (int y = 0; y < KERNEL(1); ++y)
            for (int x = 0; x < KERNEL(2); ++x, ++tap) {
                const int place = seen(window, begins, z, y, x);
                if (place < 0)
                    continue;
                for (int channel = 0; channel < CHANNELS; ++channel)
                    sum = fma(weights[channel * taps + tap], from[(ulong)channel * area + place], sum);
            }
    const ulong at = ((ulong)get_global_id(2) * get_global_size(1) + row) * pixels + column;
    out[at] = finish_one(sum, at, row, 0 EXTRA_NAMES);
}
