// Matrix products, and convolutions as such, for many narrow lanes: work groups compute tiles of ROWS times COLUMNS elements from local
// memory, DEPTH of the depth at a time, and a work item ROWS_EACH times COLUMNS_EACH of them.
//
// The left element (m, k) lies at `m * left_row + k * left_depth`.
// The right element (k, n) lies at `k * right_depth + n * right_column`, or, with WINDOW, is what the window of pixel n sees: `steps` holds
// channel times area, z, y and x for each k.
// All sizes are powers of two; ROWS_EACH and COLUMNS_EACH are multiples of 4.

#define ITEMS ((ROWS / ROWS_EACH) * (COLUMNS / COLUMNS_EACH))
#define LEFT_LOADS (ROWS * DEPTH / ITEMS)
#define RIGHT_LOADS (COLUMNS * DEPTH / ITEMS)
#define LEFT_PITCH (ROWS + 4)
#define RIGHT_PITCH (COLUMNS + 4)
#define ROW_FOURS (ROWS_EACH / 4)
#define COLUMN_FOURS (COLUMNS_EACH / 4)

// Work items: ITEMS times tiles along columns, tiles along rows, products times `parts` of the depth.
// With one part the result is written at once; with several, each part writes a matrix of its own, products times parts, for `add_parts`.
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void tiled(
    IN(float, left), IN(float, right), OUT(float, out), __global const int *restrict offsets,
    __global const int *restrict window, __global const int4 *restrict steps, const int rows, const int columns,
    const int depth, const int left_row, const int left_depth, const int right_depth, const int right_column,
    const int row_stride, const int column_stride, const int parts, const int part_depth EXTRA_PARAMETERS
) {
    BIND_IN(float, left);
    BIND_IN(float, right);
    BIND_OUT(float, out);
    EXTRA_BINDINGS
    // Two of each: one is read while the next is written.
    __local float4 left_tiles[2 * DEPTH * LEFT_PITCH / 4];
    __local float4 right_tiles[2 * DEPTH * RIGHT_PITCH / 4];
    __local float *left_elements = (__local float *)left_tiles;
    __local float *right_elements = (__local float *)right_tiles;
    const int item = get_local_id(0);
    const int item_column = item % (COLUMNS / COLUMNS_EACH);
    const int item_row = item / (COLUMNS / COLUMNS_EACH);
    const int first_row = get_group_id(1) * ROWS;
    const int first_column = get_group_id(0) * COLUMNS;
    const int product = get_group_id(2) / parts;
    const int part = get_group_id(2) % parts;
    const int start = part * part_depth;
    const int end = min(start + part_depth, depth);
    // Left matrix, right matrix, result, and the first row and column for the tensors of the epilogue.
    __global const float *from_left = left + offsets[5 * product];
    __global const float *from_right = right + offsets[5 * product + 1];

    // Neighbouring items load neighbouring elements, whichever way those lie.
    const int is_left_along_depth = left_depth == 1;
    const int left_m = is_left_along_depth ? item / DEPTH : item % ROWS;
    const int left_k = is_left_along_depth ? item % DEPTH : item / ROWS;
    const int left_m_step = is_left_along_depth ? ITEMS / DEPTH : 0;
    const int left_k_step = is_left_along_depth ? 0 : ITEMS / ROWS;
#ifdef WINDOW
    const int right_n = item % COLUMNS;
    const int right_k = item / COLUMNS;
    const int right_n_step = 0;
    const int right_k_step = ITEMS / COLUMNS;
    const Begin begins = begin_of(window, min(first_column + right_n, columns - 1));
#else
    const int is_right_along_depth = right_depth == 1 && right_column != 1;
    const int right_n = is_right_along_depth ? item / DEPTH : item % COLUMNS;
    const int right_k = is_right_along_depth ? item % DEPTH : item / COLUMNS;
    const int right_n_step = is_right_along_depth ? ITEMS / DEPTH : 0;
    const int right_k_step = is_right_along_depth ? 0 : ITEMS / COLUMNS;
#endif

    float left_next[LEFT_LOADS];
    float right_next[RIGHT_LOADS];
    float sums[ROWS_EACH][COLUMNS_EACH];
    #pragma unroll
    for (int i = 0; i < ROWS_EACH; ++i)
        #pragma unroll
        for (int j = 0; j < COLUMNS_EACH; ++j)
            sums[i][j] = 0.0f;

#ifdef WINDOW
#define FETCH_RIGHT(k, n)                                                                                               \
    const int4 step = k < end ? steps[k] : (int4)(0);                                                                  \
    const int place = k < end && n < columns ? seen(window, begins, step.y, step.z, step.w) : -1;                      \
    right_next[l] = place < 0 ? 0.0f : from_right[step.x + place];
#else
#define FETCH_RIGHT(k, n) right_next[l] = k < end && n < columns ? from_right[k * right_depth + n * right_column] : 0.0f;
#endif
#define FETCH(at)                                                                                                      \
    _Pragma("unroll") for (int l = 0; l < LEFT_LOADS; ++l) {                                                           \
        const int k = (at) + left_k + l * left_k_step;                                                                 \
        const int m = first_row + left_m + l * left_m_step;                                                            \
        left_next[l] = k < end && m < rows ? from_left[m * left_row + k * left_depth] : 0.0f;                          \
    }                                                                                                                  \
    _Pragma("unroll") for (int l = 0; l < RIGHT_LOADS; ++l) {                                                          \
        const int k = (at) + right_k + l * right_k_step;                                                               \
        const int n = first_column + right_n + l * right_n_step;                                                       \
        FETCH_RIGHT(k, n)                                                                                               \
    }

#define PUT(buffer)                                                                                                    \
    _Pragma("unroll") for (int l = 0; l < LEFT_LOADS; ++l)                                                             \
        left_elements[((buffer) * DEPTH + left_k + l * left_k_step) * LEFT_PITCH + left_m + l * left_m_step] =         \
            left_next[l];                                                                                              \
    _Pragma("unroll") for (int l = 0; l < RIGHT_LOADS; ++l)                                                            \
        right_elements[((buffer) * DEPTH + right_k + l * right_k_step) * RIGHT_PITCH + right_n + l * right_n_step] =   \
            right_next[l];

    FETCH(start)
    PUT(0)
    barrier(CLK_LOCAL_MEM_FENCE);
    int buffer = 0;
    for (int base = start; base < end; base += DEPTH) {
        const int is_last = base + DEPTH >= end;
        if (!is_last) {
            FETCH(base + DEPTH)
        }
        __local const float4 *left_tile = left_tiles + buffer * (DEPTH * LEFT_PITCH / 4);
        __local const float4 *right_tile = right_tiles + buffer * (DEPTH * RIGHT_PITCH / 4);
        #pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float a[ROWS_EACH];
            float b[COLUMNS_EACH];
            #pragma unroll
            for (int i = 0; i < ROW_FOURS; ++i) {
                const float4 four = left_tile[k * (LEFT_PITCH / 4) + i * (ROWS / ROWS_EACH) + item_row];
                a[4 * i] = four.x;
                a[4 * i + 1] = four.y;
                a[4 * i + 2] = four.z;
                a[4 * i + 3] = four.w;
            }
            #pragma unroll
            for (int j = 0; j < COLUMN_FOURS; ++j) {
                const float4 four = right_tile[k * (RIGHT_PITCH / 4) + j * (COLUMNS / COLUMNS_EACH) + item_column];
                b[4 * j] = four.x;
                b[4 * j + 1] = four.y;
                b[4 * j + 2] = four.z;
                b[4 * j + 3] = four.w;
            }
            #pragma unroll
            for (int i = 0; i < ROWS_EACH; ++i)
                #pragma unroll
                for (int j = 0; j < COLUMNS_EACH; ++j)
                    sums[i][j] = fma(a[i], b[j], sums[i][j]);
        }
        buffer = 1 - buffer;
        if (!is_last) {
            PUT(buffer)
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    const int row_base = offsets[5 * product + 3];
    const int column_base = offsets[5 * product + 4];
    const ulong written = parts == 1 ? (ulong)offsets[5 * product + 2] : (ulong)get_group_id(2) * rows * columns;
    #pragma unroll
    for (int i = 0; i < ROWS_EACH; ++i) {
        const int m = first_row + i / 4 * (4 * ROWS / ROWS_EACH) + item_row * 4 + i % 4;
        #pragma unroll
        for (int j = 0; j < COLUMNS_EACH; ++j) {
            const int n = first_column + j / 4 * (4 * COLUMNS / COLUMNS_EACH) + item_column * 4 + j % 4;
            if (m < rows && n < columns) {
                if (parts == 1) {
                    const ulong at = written + (ulong)m * row_stride + (ulong)n * column_stride;
                    out[at] = finish_one(sums[i][j], at, row_base + m, column_base + n EXTRA_NAMES);
                } else {
                    out[written + (ulong)m * columns + n] = sums[i][j];
                }
            }
        }
    }
}

// Adds up the parts of products. Work items: elements of a product, products.
__kernel void add_parts(
    IN(float, partial), OUT(float, out), __global const int *restrict offsets, const int rows, const int columns,
    const int row_stride, const int column_stride, const int parts EXTRA_PARAMETERS
) {
    BIND_IN(float, partial);
    BIND_OUT(float, out);
    EXTRA_BINDINGS
    const int element = get_global_id(0);
    const int product = get_global_id(1);
    const int size = rows * columns;
    if (element >= size)
        return;
    __global const float *from = partial + (ulong)product * parts * size + element;
    float sum = 0.0f;
    for (int part = 0; part < parts; ++part)
        sum += from[(ulong)part * size];
    const int m = element / columns;
    const int n = element % columns;
    const ulong at = (ulong)offsets[5 * product + 2] + (ulong)m * row_stride + (ulong)n * column_stride;
    out[at] = finish_one(sum, at, offsets[5 * product + 3] + m, offsets[5 * product + 4] + n EXTRA_NAMES);
}
