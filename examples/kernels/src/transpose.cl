// Transpose of a row-major matrix of m rows and n columns, by blocks in local memory so that reads and writes are both contiguous.
//
// Work groups are square; the block has one element more in a row, so that its columns lie in different banks.

__kernel void coalesced_transpose(__global const float *in, __global float *out,
                                  __local float *block, int m, int n)
{
    const int side = get_local_size(0);
    const int x = get_local_id(0);
    const int y = get_local_id(1);
    int column = get_group_id(0) * side + x;
    int row = get_group_id(1) * side + y;
    if (column < n && row < m)
        block[y * (side + 1) + x] = in[row * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    column = get_group_id(1) * side + x;
    row = get_group_id(0) * side + y;
    if (column < m && row < n)
        out[row * m + column] = block[x * (side + 1) + y];
}
