// Matrix product in row-major order: C (m x n) = A (m x p) * B (p x n); m, n and p are multiples of TS.
//
// A work group of TS/WPT by TS work items makes a tile of TS by TS, each item WPT elements of one column.
// Items are numbered along the rows of the tile, so that neighbours read and write neighbours.

#ifndef TS
#define TS 16
#endif
#ifndef WPT
#define WPT 1
#endif
#define STEP (TS / WPT)

__kernel void FFC_sans_bias(__global const float *a, __global const float *b, __global float *c,
                            int m, int n, int p)
{
    __local float tile_a[TS][TS];
    __local float tile_b[TS][TS];
    const int item = get_local_id(1) * STEP + get_local_id(0);
    const int column = item % TS;
    const int row = item / TS;
    const int first_row = get_group_id(0) * TS;
    const int first_column = get_group_id(1) * TS;
    float sums[WPT];
    for (int w = 0; w < WPT; w++)
        sums[w] = 0.0f;
    for (int first = 0; first < p; first += TS) {
        for (int w = 0; w < WPT; w++) {
            const int at = row + w * STEP;
            tile_a[at][column] = a[(first_row + at) * p + first + column];
            tile_b[at][column] = b[(first + at) * n + first_column + column];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TS; k++)
            for (int w = 0; w < WPT; w++)
                sums[w] += tile_a[row + w * STEP][k] * tile_b[k][column];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int w = 0; w < WPT; w++)
        c[(first_row + row + w * STEP) * n + first_column + column] = sums[w];
}
