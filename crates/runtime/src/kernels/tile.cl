// A tile of a matrix product in registers: packed rows times packed columns.
//
// A panel of rows is [depth][ROWS], a panel of columns [depth][VECTORS * WIDTH]; both are filled with zeros past the ends of their matrices.
// COLUMN_SPACE says in which memory panels of columns lie, and EPILOGUE what happens to an element before it is written: statements that
// change `x`, with `y` to use and SAME, ROW, COLUMN and ONE to read the tensors e0, e1, … (EXTRAS of them).

#define GLUE2(a, b) a##b
#define GLUE(a, b) GLUE2(a, b)
#define VEC GLUE(float, WIDTH)
#define MASK GLUE(int, WIDTH)
#define VLOAD GLUE(vload, WIDTH)
#define VSTORE GLUE(vstore, WIDTH)
#define PANEL (VECTORS * WIDTH)

#ifndef EPILOGUE
#define EPILOGUE
#endif
#ifndef EXTRAS
#define EXTRAS 0
#endif

#if EXTRAS == 0
#define EXTRA_PARAMETERS
#define EXTRA_BINDINGS
#define EXTRA_NAMES
#define EXTRA_POINTERS
#elif EXTRAS == 1
#define EXTRA_PARAMETERS , IN(float, e0)
#define EXTRA_BINDINGS BIND_IN(float, e0);
#define EXTRA_NAMES , e0
#define EXTRA_POINTERS , __global const float *e0
#elif EXTRAS == 2
#define EXTRA_PARAMETERS , IN(float, e0), IN(float, e1)
#define EXTRA_BINDINGS BIND_IN(float, e0); BIND_IN(float, e1);
#define EXTRA_NAMES , e0, e1
#define EXTRA_POINTERS , __global const float *e0, __global const float *e1
#elif EXTRAS == 3
#define EXTRA_PARAMETERS , IN(float, e0), IN(float, e1), IN(float, e2)
#define EXTRA_BINDINGS BIND_IN(float, e0); BIND_IN(float, e1); BIND_IN(float, e2);
#define EXTRA_NAMES , e0, e1, e2
#define EXTRA_POINTERS , __global const float *e0, __global const float *e1, __global const float *e2
#else
#define EXTRA_PARAMETERS , IN(float, e0), IN(float, e1), IN(float, e2), IN(float, e3)
#define EXTRA_BINDINGS BIND_IN(float, e0); BIND_IN(float, e1); BIND_IN(float, e2); BIND_IN(float, e3);
#define EXTRA_NAMES , e0, e1, e2, e3
#define EXTRA_POINTERS , __global const float *e0, __global const float *e1, __global const float *e2, __global const float *e3
#endif

#define SAME(e) e[at]
#define ROW(e) e[row]
#define COLUMN(e) e[column]
#define ONE(e) e[0]
static inline float finish_one(float x, const ulong at, const int row, const int column EXTRA_POINTERS) {
    float y = 0.0f;
    EPILOGUE
    return x;
}
#undef SAME
#undef ROW
#undef COLUMN
#undef ONE

#ifdef COLUMN_SPACE

#define SAME(e) VLOAD(0, e + at)
#define ROW(e) (VEC)(e[row])
#define COLUMN(e) VLOAD(0, e + column)
#define ONE(e) (VEC)(e[0])
static inline VEC finish(VEC x, const ulong at, const int row, const int column EXTRA_POINTERS) {
    VEC y = (VEC)(0.0f);
    EPILOGUE
    return x;
}

// Where a tile is written: element (i, j) lies at `at + i * row_stride + j * column_stride`.
typedef struct {
    ulong at;
    int row_stride;
    int column_stride;
    // How much of the tile exists.
    int rows;
    int columns;
    // Indices of its first row and column for the tensors of the epilogue.
    int row;
    int column;
    // Whether this is the first and the last part of the depth: parts between them are added up in the result.
    int is_first;
    int is_last;
} Corner;

// A tile with COUNT vectors of columns, no more than the panel has.
#define TILE(NAME, COUNT)                                                                                              \
    static inline void NAME(                                                                                           \
        __global const float *restrict rows, COLUMN_SPACE const float *restrict columns, const int depth,              \
        __global float *restrict out, const Corner corner EXTRA_POINTERS                                               \
    ) {                                                                                                                \
        VEC sums[ROWS][COUNT];                                                                                         \
        _Pragma("unroll") for (int i = 0; i < ROWS; ++i) _Pragma("unroll") for (int j = 0; j < COUNT; ++j)             \
            sums[i][j] = (VEC)(0.0f);                                                                                  \
        for (int k = 0; k < depth; ++k) {                                                                              \
            VEC right[COUNT];                                                                                          \
            _Pragma("unroll") for (int j = 0; j < COUNT; ++j) right[j] = VLOAD(j, columns);                            \
            _Pragma("unroll") for (int i = 0; i < ROWS; ++i) {                                                         \
                const VEC left = (VEC)(rows[i]);                                                                       \
                _Pragma("unroll") for (int j = 0; j < COUNT; ++j) sums[i][j] = fma(left, right[j], sums[i][j]);        \
            }                                                                                                          \
            rows += ROWS;                                                                                              \
            columns += PANEL;                                                                                          \
        }                                                                                                              \
        if (corner.column_stride == 1 && corner.rows == ROWS && corner.columns >= COUNT * WIDTH) {                     \
            _Pragma("unroll") for (int i = 0; i < ROWS; ++i) _Pragma("unroll") for (int j = 0; j < COUNT; ++j) {       \
                const ulong at = corner.at + (ulong)(i * corner.row_stride + j * WIDTH);                               \
                VEC x = sums[i][j];                                                                                    \
                if (!corner.is_first)                                                                                  \
                    x += VLOAD(0, out + at);                                                                           \
                if (corner.is_last)                                                                                    \
                    x = finish(x, at, corner.row + i, corner.column + j * WIDTH EXTRA_NAMES);                          \
                VSTORE(x, 0, out + at);                                                                                \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        float spilled[ROWS * COUNT * WIDTH];                                                                           \
        _Pragma("unroll") for (int i = 0; i < ROWS; ++i) _Pragma("unroll") for (int j = 0; j < COUNT; ++j)             \
            VSTORE(sums[i][j], i * COUNT + j, spilled);                                                                \
        const int width = min(corner.columns, COUNT * WIDTH);                                                          \
        for (int i = 0; i < corner.rows; ++i)                                                                          \
            for (int j = 0; j < width; ++j) {                                                                          \
                const ulong at = corner.at + (ulong)i * corner.row_stride + (ulong)j * corner.column_stride;           \
                float x = spilled[i * COUNT * WIDTH + j];                                                              \
                if (!corner.is_first)                                                                                  \
                    x += out[at];                                                                                      \
                if (corner.is_last)                                                                                    \
                    x = finish_one(x, at, corner.row + i, corner.column + j EXTRA_NAMES);                              \
                out[at] = x;                                                                                           \
            }                                                                                                          \
    }

TILE(whole_tile, VECTORS)
TILE(narrow_tile, 1)

#undef SAME
#undef ROW
#undef COLUMN
#undef ONE

#endif
