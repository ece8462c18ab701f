// What the windows of a convolution see as panels of rows, one row a pixel of the result: [image and group][panel][tap][channel][width].
//
// Work items: panels, taps, images times groups.
__kernel void collect_columns(
    IN(float, image), OUT(float, packed), __global const int *restrict window, const int width
) {
    BIND_IN(float, image);
    BIND_OUT(float, packed);
    const int panel = get_global_id(0);
    const int tap = get_global_id(1);
    const int pixels = OUTPUT(0) * OUTPUT(1) * OUTPUT(2);
    const int area = INPUT(0) * INPUT(1) * INPUT(2);
    const int x = tap % KERNEL(2);
    const int y = tap / KERNEL(2) % KERNEL(1);
    const int z = tap / (KERNEL(2) * KERNEL(1));
    __global const float *from = image + (ulong)get_global_id(2) * CHANNELS * area;
    __global float *to = packed
        + (((ulong)get_global_id(2) * get_global_size(0) + panel) * get_global_size(1) + tap) * CHANNELS * width;
    for (int i = 0; i < width; ++i) {
        const int pixel = panel * width + i;
        const int place = pixel < pixels ? seen(window, begin_of(window, pixel), z, y, x) : -1;
        for (int channel = 0; channel < CHANNELS; ++channel)
            to[channel * width + i] = place < 0 ? 0.0f : from[(ulong)channel * area + place];
    }
}
