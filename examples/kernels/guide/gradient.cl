// Sobel's derivative along (dx, dy), which is (1, 0) or (0, 1); pixels outside of the image are the nearest inside.
__kernel void gradient(__global const float *smooth, __global float *slope, int dx, int dy)
{
    const int width = get_global_size(0), height = get_global_size(1);
    const int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int across = -1; across <= 1; across++)
        for (int along = -1; along <= 1; along += 2) {
            const int column = clamp(x + along * dx + across * dy, 0, width - 1);
            const int row = clamp(y + along * dy + across * dx, 0, height - 1);
            const int weight = across == 0 ? 2 : 1;
            sum += along * weight * smooth[row * width + column];
        }
    slope[y * width + x] = sum / 8;
}
