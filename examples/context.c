/* The CUDA work of a request as children of the request's span, in a service in C with cuspan.h.
 *
 *   nvcc -Iinclude -o context examples/context.c
 *   cuspan run ./context 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
 *
 * prints PASS, as it does without cuspan. In the trace 0af7..., below its span b7ad6b7169203331:
 *   answer           a range with request.bytes 4194304 and the event "uploaded"
 *     cudaMemcpy     2 calls, each with its copy below it
 *     cudaMemset     1 call, with its fill below it
 * cudaMalloc and cudaFree belong to no request: they stay below the session span. */
#include <cuspan/cuspan.h>

#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

#define BYTES (4 << 20)

static unsigned char host[BYTES];

/* Handles one request. `header` came with it; outgoing requests get one from cuspan_current(). */
static int answer(void *device, const char *header)
{
    cuspan_context context, own;
    char traceparent[56];
    cuspan_parse(header, NULL, &context);
    uint64_t token = cuspan_attach(&context);

    cuspan_attribute size = cuspan_int("request.bytes", BYTES);
    uint64_t range = cuspan_range("answer", &size, 1);
    int failed = cudaMemcpy(device, host, BYTES, cudaMemcpyHostToDevice) != cudaSuccess;
    cuspan_mark("uploaded", NULL, 0);
    failed |= cudaMemset(device, 7, BYTES) != cudaSuccess;
    failed |= cudaMemcpy(host, device, BYTES, cudaMemcpyDeviceToHost) != cudaSuccess;

    if (cuspan_current(&own)) {
        cuspan_format(&own, traceparent);
        printf("traceparent: %s\n", traceparent);
    }
    cuspan_end_with(range, failed ? CUSPAN_ERROR : CUSPAN_UNSET, failed ? "a copy failed" : NULL, NULL, 0);
    cuspan_detach(token);
    return failed;
}

int main(int argc, char **argv)
{
    void *device = NULL;
    memset(host, 1, sizeof host);
    if (cudaMalloc(&device, BYTES) != cudaSuccess) {
        fprintf(stderr, "no memory on a GPU: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    int failed = answer(device, argc > 1 ? argv[1] : NULL) || host[0] != 7 || host[BYTES - 1] != 7;
    cudaFree(device);
    puts(failed ? "FAIL" : "PASS");
    return failed;
}
