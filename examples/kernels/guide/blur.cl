// Binomial smoothing over 3 × 3 pixels; those outside of the image are the nearest inside.
__kernel void blur(__global const float *image, __global float *smooth)
{
    const int width = get_global_size(0), height = get_global_size(1);
    const int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            const int column = clamp(x + dx, 0, width - 1), row = clamp(y + dy, 0, height - 1);
            const int weight = (dx == 0 ? 2 : 1) * (dy == 0 ? 2 : 1);
            sum += weight * image[row * width + column];
        }
    smooth[y * width + x] = sum / 16;
}
