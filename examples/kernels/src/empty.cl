// Does nothing: it stands for the copy of a buffer that several kernels read.

__kernel void empty(__global float *x)
{
}
