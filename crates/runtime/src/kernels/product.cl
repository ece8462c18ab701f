// A batch of matrix products of packed panels.
//
// `offsets` has five integers a product: which packed left matrix, which packed right matrix, where the result starts, and which row and
// column of the epilogue's tensors are its first.
// Work items: panels of columns, parts of `part` panels of rows, products.
__kernel void product(
    IN(float, left), IN(float, right), OUT(float, out), __global const int *restrict offsets, const int rows,
    const int columns, const int depth, const int part, const int row_stride, const int column_stride EXTRA_PARAMETERS
) {
    BIND_IN(float, left);
    BIND_IN(float, right);
    BIND_OUT(float, out);
    EXTRA_BINDINGS
    const int panel = get_global_id(0);
    const int batch = get_global_id(2);
    const int panels = (rows + ROWS - 1) / ROWS;
    const int start = get_global_id(1) * part;
    const int end = min(start + part, panels);
    __global const int *restrict offset = offsets + 5 * batch;
    __global const float *from_left = left + (ulong)offset[0] * panels * depth * ROWS;
    __global const float *from_right = right + ((ulong)offset[1] * get_global_size(0) + panel) * depth * PANEL;
    Corner corner;
    corner.row_stride = row_stride;
    corner.column_stride = column_stride;
    corner.columns = columns - panel * PANEL;
    corner.column = offset[4] + panel * PANEL;
    corner.is_first = 1;
    corner.is_last = 1;
    for (int tile = start; tile < end; ++tile) {
        const int row = tile * ROWS;
        corner.row = offset[3] + row;
        corner.rows = min(ROWS, rows - row);
        corner.at = (ulong)offset[2] + (ulong)row * row_stride + (ulong)(panel * PANEL) * column_stride;
        __global const float *restrict panel_of_rows = from_left + (ulong)tile * depth * ROWS;
        if (corner.columns > WIDTH)
            whole_tile(panel_of_rows, from_right, depth, out, corner EXTRA_NAMES);
        else
            narrow_tile(panel_of_rows, from_right, depth, out, corner EXTRA_NAMES);
    }
}
