// Small kernels on vectors, one work item an element.

__kernel void vadd(__global const float *a, __global const float *b, __global float *c, int n)
{
    const int i = get_global_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
}

__kernel void vsin(__global const float *a, __global float *b, int n)
{
    const int i = get_global_id(0);
    if (i < n)
        b[i] = sin(a[i]);
}

// In place.
__kernel void scale(__global float *x, float factor)
{
    x[get_global_id(0)] *= factor;
}

// Sums of neighbouring groups: out[i] is the sum of the elements of group i, added in local memory.
__kernel void group_sums(__global const float *in, __global float *out, __local float *part)
{
    const int item = get_local_id(0);
    part[item] = in[get_global_id(0)];
    for (int half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_size)
            part[item] += part[item + half_size];
    }
    if (item == 0)
        out[get_group_id(0)] = part[0];
}

// Adds the sum of group i / size to element i.
__kernel void add_group(__global float *x, __global const float *sums, uint size)
{
    const int i = get_global_id(0);
    x[i] += sums[i / size];
}
