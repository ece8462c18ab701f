// Tensor arguments: a buffer and the index of the first element in it.
#define IN(T, name) __global const T *restrict name##_base, const ulong name##_first
#define OUT(T, name) __global T *restrict name##_base, const ulong name##_first
#define BIND_IN(T, name) __global const T *restrict name = name##_base + name##_first
#define BIND_OUT(T, name) __global T *restrict name = name##_base + name##_first

// The larger and the smaller of two real numbers or vectors; what is not a number stays, which fmax and fmin would drop.
// The inner comparison is one instruction of most processors.
#define LARGER(a, b) ((a) != (a) ? (a) : ((a) > (b) ? (a) : (b)))
#define SMALLER(a, b) ((a) != (a) ? (a) : ((a) < (b) ? (a) : (b)))

// Vectors of V elements of a type, and how they are loaded and stored.
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR(T) JOIN(T, V)
#define LOAD(p) JOIN(vload, V)(0, p)
#define STORE(v, p) JOIN(vstore, V)(v, 0, p)
