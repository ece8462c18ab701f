/* The forward pass of a convolution: padding, 3 x 3 taps of one filter over one sample, and the filter's bias. */

__kernel void pad(__global const float *x, __global float *y, int side)
{
    const int column = get_global_id(0), row = get_global_id(1);
    const int is_inside = row > 0 && row <= side && column > 0 && column <= side;
    y[row * (side + 2) + column] = is_inside ? x[(row - 1) * side + column - 1] : 0.0f;
}

__kernel void conv2d(__global const float *x, __global const float *w, __global float *y, int side)
{
    const int column = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            sum += w[3 * i + j] * x[(row + i) * (side + 2) + column + j];
    y[row * side + column] = sum;
}

__kernel void add(__global float *y, __global const float *bias, int side)
{
    const int column = get_global_id(0), row = get_global_id(1);
    y[row * side + column] += bias[0];
}
