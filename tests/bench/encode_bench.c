/* What encoding costs: ns of CPU a span, of kernel spans with ten attributes and of call spans with pointers.
 * The first is the shape that the exporters' benchmark in docs uses: 20 kernels, some 400 bytes a span.
 *
 *   encode_bench [protobuf|json] [MILLIONS OF SPANS]
 */
#include "encode/encoder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const kernels[20][3] = {
    {"ampere_sgemm_128x64_tn",
     "void cutlass::Kernel<ampere_sgemm_128x64_tn>(cutlass::GemmParams<float, float>)", "cublasLtSSSMatmul"},
    {"ampere_sgemm_32x128_nn",
     "void cutlass::Kernel<ampere_sgemm_32x128_nn>(cutlass::GemmParams<float, float>)",
     "cublasSgemmStridedBatched"},
    {"sm90_xmma_gemm_bf16",
     "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_bias", "cublasLtMatmul"},
    {"sm80_xmma_gemm_f16",
     "sm80_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize128x64x32_stage4_warpsize2x2x1_kernel", "cublasGemmEx"},
    {"vectorized_elementwise_kernel",
     "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >",
     "at::native::fill_kernel_cuda"},
    {"unrolled_elementwise_kernel",
     "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>()",
     "at::native::copy_device_to_device"},
    {"reduce_kernel", "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, MeanOps<float> > >",
     "at::native::mean_kernel_cuda"},
    {"elementwise_kernel",
     "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<Add> >",
     "at::native::add_kernel_cuda"},
    {"index_elementwise_kernel",
     "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<Op> >",
     "at::native::index_kernel_cuda"},
    {"layer_norm_kernel",
     "void at::native::vectorized_layer_norm_kernel<float, float>(int, float, float const*)",
     "at::native::LayerNormKernelImpl"},
    {"softmax_warp_forward",
     "void softmax_warp_forward<float, float, float, 10, true, false>(float*, float const*)",
     "at::native::host_softmax"},
    {"flash_fwd_kernel",
     "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, half_t> >",
     "pytorch_flash::mha_fwd"},
    {"flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel",
     "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 8>>",
     "pytorch_flash::mha_bwd"},
    {"bn_fw_tr_1C11_kernel_NCHW",
     "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(float*)",
     "cudnnBatchNormalizationForwardTraining"},
    {"implicit_convolve_sgemm",
     "void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false, false, true>()",
     "cudnnConvolutionForward"},
    {"ncclDevKernel_AllReduce_Sum_f32_RING_LL",
     "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>, int, int)", "ncclAllReduce"},
    {"ncclDevKernel_AllGather_RING_LL",
     "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>, unsigned long, int)",
     "ncclAllGather"},
    {"DeviceRadixSortOnesweepKernel",
     "void cub::DeviceRadixSortOnesweepKernel<cub::Policy900, false, long, long, int, int>()",
     "at::cuda::cub::radix_sort_pairs"},
    {"embedding_backward_feature_kernel",
     "void at::native::embedding_backward_feature_kernel<float, float, long>(long*, float*)",
     "at::native::embedding_dense_backward_cuda"},
    {"triton_poi_fused_add_mul_silu_0",
     "triton_poi_fused_add_mul_silu_0d1d2d3de(in_ptr0, in_ptr1, in_ptr2, out_ptr0)",
     "launch_triton_kernel_wrapper"},
};

static const struct attr_key key_name = ATTR_KEY("gpu.kernel.name");
static const struct attr_key key_function = ATTR_KEY("code.function.name");
static const struct attr_key key_grid_x = ATTR_KEY("gpu.grid.x");
static const struct attr_key key_grid_y = ATTR_KEY("gpu.grid.y");
static const struct attr_key key_grid_z = ATTR_KEY("gpu.grid.z");
static const struct attr_key key_block_x = ATTR_KEY("gpu.block.x");
static const struct attr_key key_block_y = ATTR_KEY("gpu.block.y");
static const struct attr_key key_block_z = ATTR_KEY("gpu.block.z");
static const struct attr_key key_stream = ATTR_KEY("gpu.stream.id");
static const struct attr_key key_correlation = ATTR_KEY("gpu.correlation.id");
static const struct attr_key key_pointer = ATTR_KEY("cuda.arg.devPtr");
static const struct attr_key key_bytes = ATTR_KEY("cuda.arg.count");
static const struct attr_key key_thread = ATTR_KEY("thread.name");
static const struct attr_key key_grid = ATTR_KEY("cuda.grid");

static uint64_t random_next(uint64_t *state)
{
    uint64_t x = (*state += 0x9e3779b97f4a7c15u);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void fill_common(struct span *span, uint64_t i, uint64_t *state)
{
    uint64_t trace = i / 8192, id = random_next(state);
    memcpy(span->trace_id, &trace, 8);
    memcpy(span->trace_id + 8, "tracetr", 8);
    memcpy(span->span_id, &id, 8);
    memcpy(span->parent_span_id, "parents", 8);
    span->flags = 0x101;
    span->kind = SPAN_KIND_INTERNAL;
    span->start_ns = 1790000000000000000u + i * 5000;
    span->end_ns = span->start_ns + (id & 0xffff);
    span->attr_count = 0;
    span->resource = 0;
}

/* Ten attributes, as lab spans have them. */
static void fill_kernel(struct span *span, uint64_t i, uint64_t *state)
{
    fill_common(span, i, state);
    uint64_t h = random_next(state), k = h % 20;
    span->name = kernels[k][0];
    span->name_len = (uint32_t)strlen(span->name);
    span_attr_string(span, &key_name, kernels[k][1]);
    span_attr_string(span, &key_function, kernels[k][2]);
    span_attr_int(span, &key_grid_x, (int64_t)(1 + (h >> 20 & 1023)));
    span_attr_int(span, &key_grid_y, (int64_t)(1 + (k & 3)));
    span_attr_int(span, &key_grid_z, 1);
    span_attr_int(span, &key_block_x, 128ll << (k & 1));
    span_attr_int(span, &key_block_y, 1);
    span_attr_int(span, &key_block_z, 1);
    span_attr_int(span, &key_stream, (int64_t)(7 + (h >> 60 & 3)));
    span_attr_int(span, &key_correlation, (int64_t)(1000 + i));
}

/* A call with six attributes, two of them addresses. */
static void fill_call(struct span *span, uint64_t i, uint64_t *state)
{
    fill_common(span, i, state);
    uint64_t h = random_next(state);
    span->name = "cudaMemcpyAsync";
    span->name_len = 15;
    span_attr_string(span, &key_thread, "python3");
    span_attr_pointer(span, &key_pointer, 0x7f0000000000u | (h & 0xffffff00));
    span_attr_pointer(span, &key_pointer, 0x7f0000000000u | (h >> 32 & 0xffffff00));
    span_attr_int(span, &key_bytes, (int64_t)(h & 0xffffff));
    span_attr_int(span, &key_correlation, (int64_t)(1000 + i));
    span_attr_dim3(span, &key_grid, (uint32_t)(h & 1023), 1 + (h >> 60), 1);
}

struct result {
    double ns; /* per span */
    double bytes;
    uint64_t checksum; /* keeps the compiler honest */
};

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void finish(struct encoder *encoder, struct result *result)
{
    struct batch *batch = encoder_seal(encoder);
    if (!batch)
        return;
    result->bytes += (double)batch->bytes;
    result->checksum += batch->chunks->data[batch->chunks->begin];
    batch_release(batch);
}

/* The spans are made before the clock starts; `count` of them are encoded `rounds` times. */
static struct result measure(struct encoder *encoder, const struct span *spans, size_t count, size_t rounds)
{
    struct result result = {0};
    double start = now_ns();
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++) {
            if (encoder_add(encoder, &spans[i]) == STATUS_OK)
                continue;
            finish(encoder, &result);
            if (encoder_add(encoder, &spans[i]) != STATUS_OK)
                abort();
        }
    }
    finish(encoder, &result);
    result.ns = (now_ns() - start) / (double)(rounds * count);
    result.bytes /= (double)(rounds * count);
    return result;
}

static void report(const char *what, struct encoder *encoder, const struct span *spans, size_t count,
                   size_t rounds)
{
    struct result best = measure(encoder, spans, count, 1);
    for (int i = 0; i < 5; i++) {
        struct result result = measure(encoder, spans, count, rounds);
        if (result.ns < best.ns)
            best = result;
    }
    printf("%-8s %7.1f ns a span, %6.1f bytes\n", what, best.ns, best.bytes);
}

int main(int argc, char **argv)
{
    enum { COUNT = 512 };
    bool json = argc > 1 && strcmp(argv[1], "json") == 0;
    size_t rounds = (size_t)(argc > 2 ? atof(argv[2]) * 1e6 / COUNT : 2000);
    struct chunk_pool *pool;
    struct encoder *encoder;
    static struct span spans[COUNT];
    if (chunk_pool_create(256, &pool) != STATUS_OK)
        return 1;
    struct encoder_options options = {json ? BATCH_JSON : BATCH_PROTOBUF,
                                      pool,
                                      "cuspan",
                                      CUSPAN_VERSION,
                                      ENCODER_SCHEMA_URL,
                                      UINT32_MAX,
                                      128,
                                      128,
                                      128,
                                      8192,
                                      4 << 20};
    if (encoder_create(&options, &encoder) != STATUS_OK)
        return 1;
    uint64_t state = 42;
    for (size_t i = 0; i < COUNT; i++)
        fill_kernel(&spans[i], i, &state);
    report("kernels", encoder, spans, COUNT, rounds);
    for (size_t i = 0; i < COUNT; i++)
        fill_call(&spans[i], i, &state);
    report("calls", encoder, spans, COUNT, rounds);
    for (size_t i = 0; i < COUNT; i++)
        i % 2 ? fill_call(&spans[i], i, &state) : fill_kernel(&spans[i], i, &state);
    report("mixed", encoder, spans, COUNT, rounds);
    encoder_destroy(encoder);
    chunk_pool_destroy(pool);
    return 0;
}
