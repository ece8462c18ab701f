// The geometry of a convolution as a table of integers, for one, two or three spatial axes.

#define INPUT(axis) window[axis]
#define OUTPUT(axis) window[3 + axis]
#define KERNEL(axis) window[6 + axis]
#define STRIDE(axis) window[9 + axis]
#define PADDING(axis) window[12 + axis]
#define DILATION(axis) window[15 + axis]
#define IS_TRANSPOSED window[18]
// Of one group.
#define CHANNELS window[19]
#define FEATURES window[20]
#define GROUPS window[21]

// Where the windows of result `pixel` begin along an axis, and where what they see lies after `tap` more; -1 if outside.
static inline int begin(__global const int *restrict window, const int axis, const int position) {
    return IS_TRANSPOSED ? position + PADDING(axis) : position * STRIDE(axis) - PADDING(axis);
}

static inline int along(__global const int *restrict window, const int axis, const int begin, const int tap) {
    int at = begin + tap * DILATION(axis);
    if (IS_TRANSPOSED) {
        at = begin - tap * DILATION(axis);
        at = at >= 0 && at % STRIDE(axis) == 0 ? at / STRIDE(axis) : -1;
    }
    return at >= 0 && at < INPUT(axis) ? at : -1;
}

// Where the windows of a result begin.
typedef struct {
    int z;
    int y;
    int x;
} Begin;

static inline Begin begin_of(__global const int *restrict window, const int pixel) {
    const int row = pixel / OUTPUT(2);
    Begin begins;
    begins.z = begin(window, 0, row / OUTPUT(1));
    begins.y = begin(window, 1, row % OUTPUT(1));
    begins.x = begin(window, 2, pixel % OUTPUT(2));
    return begins;
}

// Index within a channel of what a tap of a window sees; -1 if nothing.
static inline int seen(__global const int *restrict window, const Begin begins, const int z, const int y, const int x) {
    const int at_z = along(window, 0, begins.z, z);
    const int at_y = along(window, 1, begins.y, y);
    const int at_x = along(window, 2, begins.x, x);
    return (at_z | at_y | at_x) < 0 ? -1 : (at_z * INPUT(1) + at_y) * INPUT(2) + at_x;
}
