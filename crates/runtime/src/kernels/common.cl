// Tensor arguments: a buffer and the index of the first element in it.
#define IN(T, name) __global const T *restrict name##_base, const ulong name##_first
#define OUT(T, name) __global T *restrict name##_base, const ulong name##_first
#define BIND_IN(T, name) __global const T *restrict name = name##_base + name##_first
#define BIND_OUT(T, name) __global T *restrict name = name##_base + name##_first
