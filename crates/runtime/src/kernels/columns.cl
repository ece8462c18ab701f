// What the windows of a convolution see as panels of rows, one row a pixel of the result: [image and group][panel][tap][channel][width].
//
// Work items: panels, taps times parts of `part` channels, images times groups.
__kernel void collect_columns(
    IN(float, image), OUT(float, packed), __global const int *restrict window, const int width, const int part
) {
    BIND_IN(float, image);
    BIND_OUT(float, packed);
    const int most = 32;
    const int panel = get_global_id(0);
    const int parts = (CHANNELS + part - 1) / part;
    const int tap = get_global_id(1) / parts;
    const int start = get_global_id(1) % parts * part;
    const int end = min(start + part, CHANNELS);
    const int pixels = OUTPUT(0) * OUTPUT(1) * OUTPUT(2);
    const int area = INPUT(0) * INPUT(1) * INPUT(2);
    const int taps = KERNEL(0) * KERNEL(1) * KERNEL(2);
    const int x = tap % KERNEL(2);
    const int y = tap / KERNEL(2) % KERNEL(1);
    const int z = tap / (KERNEL(2) * KERNEL(1));
    __global const float *from = image + (ulong)get_global_id(2) * CHANNELS * area;
    __global float *to =
        packed + (((ulong)get_global_id(2) * get_global_size(0) + panel) * taps + tap) * CHANNELS * width;
    for (int base = 0; base < width; base += most) {
        int places[32];
        const int count = min(most, width - base);
        for (int i = 0; i < count; ++i) {
            const int pixel = panel * width + base + i;
            places[i] = pixel < pixels ? seen(window, begin_of(window, pixel), z, y, x) : -1;
        }
        for (int channel = start; channel < end; ++channel) {
            __global const float *plane = from + (ulong)channel * area;
            for (int i = 0; i < count; ++i)
                to[channel * width + base + i] = places[i] < 0 ? 0.0f : plane[places[i]];
        }
    }
}
