// What edges.json says, as a host program for OpenCL: two queues of one device, and events between them.
//
//     cc -O2 host.c -lOpenCL -o host && ./host image.raw edges.raw 1024 1024
//
// Both files are 32-bit floats, row by row; the sources of the kernels lie in the folder that it runs in.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static void check(cl_int code, const char *doing)
{
    if (code != CL_SUCCESS) {
        fprintf(stderr, "%s: OpenCL error %d\n", doing, code);
        exit(2);
    }
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = malloc(size + 1);
    if (!text || fread(text, 1, size, file) != (size_t)size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(2);
    }
    text[size] = 0;
    fclose(file);
    return text;
}

static cl_kernel build(cl_context context, cl_device_id device, const char *path, const char *function)
{
    cl_int code;
    char *text = read_text(path);
    cl_program program = clCreateProgramWithSource(context, 1, (const char **)&text, NULL, &code);
    check(code, path);
    code = clBuildProgram(program, 1, &device, "", NULL, NULL);
    if (code != CL_SUCCESS) {
        size_t size;
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
        char *log = malloc(size);
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
        fprintf(stderr, "%s:\n%s\n", path, log);
        exit(2);
    }
    cl_kernel kernel = clCreateKernel(program, function, &code);
    check(code, function);
    clReleaseProgram(program);
    free(text);
    return kernel;
}

static cl_command_queue make_queue(cl_context context, cl_device_id device)
{
    cl_int code;
    cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &code);
    check(code, "making a queue");
    return queue;
}

static cl_mem make_buffer(cl_context context, cl_mem_flags flags, size_t bytes)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(context, flags, bytes, NULL, &code);
    check(code, "making a buffer");
    return buffer;
}

static void set_buffer(cl_kernel kernel, cl_uint position, cl_mem buffer)
{
    check(clSetKernelArg(kernel, position, sizeof buffer, &buffer), "setting a buffer");
}

static void set_int(cl_kernel kernel, cl_uint position, cl_int value)
{
    check(clSetKernelArg(kernel, position, sizeof value, &value), "setting a value");
}

static cl_event launch(cl_command_queue queue, cl_kernel kernel, const size_t *global, cl_uint count, const cl_event *after)
{
    cl_event event;
    check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, NULL, count, count ? after : NULL, &event), "launching a kernel");
    return event;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: %s IMAGE EDGES WIDTH HEIGHT\n", argv[0]);
        return 2;
    }
    size_t global[2] = {strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10)};
    size_t pixels = global[0] * global[1], bytes = pixels * sizeof(float);
    float *image = malloc(bytes), *edges = malloc(bytes);
    FILE *file = fopen(argv[1], "rb");
    if (!pixels || !image || !edges || !file || fread(image, sizeof(float), pixels, file) != pixels) {
        fprintf(stderr, "%s: not an image of %s x %s floats\n", argv[1], argv[3], argv[4]);
        return 2;
    }
    fclose(file);

    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    check(clGetPlatformIDs(1, &platform, NULL), "looking for a platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "looking for a device");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    check(code, "making a context");
    cl_command_queue first = make_queue(context, device), second = make_queue(context, device);

    cl_kernel blur = build(context, device, "blur.cl", "blur");
    cl_kernel across = build(context, device, "gradient.cl", "gradient");
    cl_kernel down = build(context, device, "gradient.cl", "gradient");
    cl_kernel magnitude = build(context, device, "magnitude.cl", "magnitude");

    cl_mem source = make_buffer(context, CL_MEM_READ_ONLY, bytes);
    cl_mem smooth = make_buffer(context, CL_MEM_READ_WRITE, bytes);
    cl_mem slope_x = make_buffer(context, CL_MEM_READ_WRITE, bytes);
    cl_mem slope_y = make_buffer(context, CL_MEM_READ_WRITE, bytes);
    cl_mem result = make_buffer(context, CL_MEM_WRITE_ONLY, bytes);

    set_buffer(blur, 0, source);
    set_buffer(blur, 1, smooth);
    set_buffer(across, 0, smooth);
    set_buffer(across, 1, slope_x);
    set_int(across, 2, 1);
    set_int(across, 3, 0);
    set_buffer(down, 0, smooth);
    set_buffer(down, 1, slope_y);
    set_int(down, 2, 0);
    set_int(down, 3, 1);
    set_buffer(magnitude, 0, slope_x);
    set_buffer(magnitude, 1, slope_y);
    set_buffer(magnitude, 2, result);

    cl_event written, read, slopes[2];
    check(clEnqueueWriteBuffer(first, source, CL_FALSE, 0, bytes, image, 0, NULL, &written), "writing the image");
    cl_event smoothed = launch(first, blur, global, 1, &written);
    slopes[0] = launch(first, across, global, 1, &smoothed);
    slopes[1] = launch(second, down, global, 1, &smoothed);
    cl_event done = launch(first, magnitude, global, 2, slopes);
    check(clEnqueueReadBuffer(first, result, CL_FALSE, 0, bytes, edges, 1, &done, &read), "reading the edges");
    check(clFlush(first), "submitting the first queue");
    check(clFlush(second), "submitting the second queue");
    check(clWaitForEvents(1, &read), "waiting for the edges");

    cl_ulong begin, end;
    check(clGetEventProfilingInfo(written, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL), "asking for a time");
    check(clGetEventProfilingInfo(read, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL), "asking for a time");
    printf("device span: %.2f ms\n", (end - begin) / 1e6);

    file = fopen(argv[2], "wb");
    if (!file || fwrite(edges, sizeof(float), pixels, file) != pixels || fclose(file)) {
        perror(argv[2]);
        return 2;
    }
    cl_event events[] = {written, smoothed, slopes[0], slopes[1], done, read};
    for (size_t index = 0; index < sizeof events / sizeof *events; index++)
        clReleaseEvent(events[index]);
    cl_mem buffers[] = {source, smooth, slope_x, slope_y, result};
    for (size_t index = 0; index < sizeof buffers / sizeof *buffers; index++)
        clReleaseMemObject(buffers[index]);
    cl_kernel kernels[] = {blur, across, down, magnitude};
    for (size_t index = 0; index < sizeof kernels / sizeof *kernels; index++)
        clReleaseKernel(kernels[index]);
    clReleaseCommandQueue(first);
    clReleaseCommandQueue(second);
    clReleaseContext(context);
    free(image);
    free(edges);
    return 0;
}
