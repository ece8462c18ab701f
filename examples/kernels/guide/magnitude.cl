// The length of the gradient.
__kernel void magnitude(__global const float *horizontal, __global const float *vertical, __global float *edges)
{
    const size_t pixel = get_global_id(1) * get_global_size(0) + get_global_id(0);
    edges[pixel] = sqrt(horizontal[pixel] * horizontal[pixel] + vertical[pixel] * vertical[pixel]);
}
