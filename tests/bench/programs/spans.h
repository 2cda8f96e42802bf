/* The spans that the benchmarks of encoding and exporting share. The programs in tests/bench/rivals make the
 * same kernel spans with the same formula; they get the table of kernels from `own_exporter --kernels`. */
#pragma once

#include "model/span.h"

#define BENCH_KERNELS 20
#define BENCH_BLOCK   8192 /* spans of one trace; exporters are flushed after each */

/* Short name, demangled name, the function that launches it. */
static const char *const bench_kernels[BENCH_KERNELS][3] = {
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
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t x = (*state += 0x9e3779b97f4a7c15u);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline void fill_common(struct span *span, uint64_t i, uint64_t *state)
{
    uint64_t trace = i / BENCH_BLOCK, id = random_next(state);
    memcpy(span->trace_id, &trace, 8);
    memcpy(span->trace_id + 8, "tracetr", 8);
    memcpy(span->span_id, &id, 8);
    memcpy(span->parent_span_id, "parents", 8);
    span->flags = 0x301; /* sampled; the parent is known to be remote */
    span->kind = SPAN_KIND_INTERNAL;
    span->start_ns = 1790000000000000000u + i * 5000;
    span->end_ns = span->start_ns + (id & 0xffff);
    span->attr_count = 0;
    span->resource = 0;
}

/* Kernel span `i`: ten attributes, 420 bytes on the wire. It takes two numbers of the generator, whose state
 * starts at 42. */
static inline void fill_kernel(struct span *span, uint64_t i, uint64_t *state)
{
    fill_common(span, i, state);
    uint64_t h = random_next(state), k = h % BENCH_KERNELS;
    span->name = bench_kernels[k][0];
    span->name_len = (uint32_t)strlen(span->name);
    span_attr_string(span, &key_name, bench_kernels[k][1]);
    span_attr_string(span, &key_function, bench_kernels[k][2]);
    span_attr_int(span, &key_grid_x, (int64_t)(1 + (h >> 20 & 1023)));
    span_attr_int(span, &key_grid_y, (int64_t)(1 + (k & 3)));
    span_attr_int(span, &key_grid_z, 1);
    span_attr_int(span, &key_block_x, 128ll << (k & 1));
    span_attr_int(span, &key_block_y, 1);
    span_attr_int(span, &key_block_z, 1);
    span_attr_int(span, &key_stream, (int64_t)(7 + (h >> 60 & 3)));
    span_attr_int(span, &key_correlation, (int64_t)(1000 + i));
}
