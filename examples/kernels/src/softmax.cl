// Softmax of each row, one work item a row; the largest element is subtracted first so that nothing overflows.

__kernel void softmax(__global const float *in, __global float *out, int columns)
{
    __global const float *from = in + (size_t)get_global_id(0) * columns;
    __global float *to = out + (size_t)get_global_id(0) * columns;
    float most = from[0];
    for (int i = 1; i < columns; i++)
        most = fmax(most, from[i]);
    float sum = 0.0f;
    for (int i = 0; i < columns; i++) {
        const float e = exp(from[i] - most);
        to[i] = e;
        sum += e;
    }
    for (int i = 0; i < columns; i++)
        to[i] /= sum;
}
