#include "base/limits.h"
#include "agent/correlate/names/demangle.h"
#include "agent/correlate/names/kernel_names.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA (1024 * 1024)

static void expect_short(const char *full, const char *want)
{
    char text[4096];
    size_t length = demangle_shorten(full, text);
    if (strcmp(text, want) != 0)
        fail_msg("'%s'\n  gives '%s'\n  not   '%s'", full, text, want);
    assert_int_equal(length, strlen(want));
}

static void expect_name(const char *mangled, const char *want)
{
    struct kernel_names *names;
    assert_int_equal(kernel_names_create(ARENA, &names), STATUS_OK);
    const struct kernel_name *name = kernel_names_resolve(names, mangled);
    if (strcmp(name->text, want) != 0)
        fail_msg("'%s', in full '%s'\n  gives '%s'\n  not   '%s'", mangled, name->full, name->text, want);
    assert_int_equal(name->text_len, strlen(name->text));
    assert_int_equal(name->full_len, strlen(name->full));
    free(names);
}

static void test_mangled_kernels(void **state)
{
    expect_name("_Z9vectorAddPKfS0_Pfi", "vectorAdd");
    expect_name("_ZN2ns1S2stEv", "ns::S::st");
    expect_name("_ZN2ns4kernImEEvPT_", "ns::kern");
    expect_name("_Z10const_foldi", "const_fold");
    expect_name("_Z12constant_padIfEvT_", "constant_pad");
    expect_name("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEENS0_"
                "5ArrayIPcLi3EEEEEviT0_T1_",
                "at::native::vectorized_elementwise_kernel");
    expect_name("_ZN2at6native12_GLOBAL__N_110anon_plainEPi",
                "at::native::(anonymous namespace)::anon_plain");
    expect_name("_ZN2at6native12_GLOBAL__N_119CatArrayBatchedCopyIfLi2EEEvPT_",
                "at::native::(anonymous namespace)::CatArrayBatchedCopy");
    expect_name("_ZN2at6native12_GLOBAL__N_18unrolledIZNS1_23direct_copy_kernel_cudaERiEUlfiE_EEviT_",
                "at::native::(anonymous namespace)::unrolled");
    expect_name("_ZN3cub7CUB_20018DeviceReduceKernelIiLb1EdEEvPT1_", "cub::CUB_200::DeviceReduceKernel");
    expect_name("_ZN7cutlass7Kernel2INS_4gemm4GemmILi128ELi256ELb1EEEEEvNT_6ParamsE", "cutlass::Kernel2");
    expect_name("_Z2fnIPFviEEvT_", "fn");
    expect_name("_Z2fnIFiiEEvT_", "fn");
    expect_name("_Z2fnIZNK2Op3runEiEUliE_EvT_", "fn");
    expect_name("_ZZN12_GLOBAL__N_13runEvENKUliE_clEi",
                "(anonymous namespace)::run::{lambda(int)#1}::operator()");
}

static void test_names_without_mangling(void **state)
{
    expect_name("triton_poi_fused_add_relu_0", "triton_poi_fused_add_relu_0");
    expect_name("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32_warpgroupsize1x1x1_execute_segment_"
                "k_off_kernel__5x_cublas",
                "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32_warpgroupsize1x1x1_execute_segment_"
                "k_off_kernel__5x_cublas");
    expect_name("", "");
    expect_name("_Znot_mangled_at_all", "_Znot_mangled_at_all");
    expect_name("_Z", "_Z");
    expect_name("odd<name>(in C)", "odd<name>(in C)");
}

/* As c++filt prints them: kernels of PyTorch, CUTLASS, CUB, Thrust and NCCL. */
static void test_demangled_names(void **state)
{
    expect_short("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
                 "std::array<char*, 1ul> "
                 ">(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
                 "at::native::vectorized_elementwise_kernel");
    expect_short(
        "void "
        "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)"
        "::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, "
        "std::array<char*, "
        "2ul>, 4, TrivialOffsetCalculator<1, unsigned int> >(int, at::native::direct_copy_kernel_cuda("
        "at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() "
        "const::{lambda(float)#1}, std::array<char*, 2ul>)",
        "at::native::unrolled_elementwise_kernel");
    expect_short("void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, "
                 "false>(float*, float "
                 "const*, int, int, int, bool const*, int, bool)",
                 "(anonymous namespace)::softmax_warp_forward");
    expect_short("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x256_16x3_tn_align4>("
                 "cutlass_80_tensorop_s1688gemm_128x256_16x3_tn_align4::Params)",
                 "cutlass::Kernel2");
    expect_short("void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<unsigned long, long, "
                 "unsigned long "
                 "long>::Policy900, false, unsigned long, long, unsigned long long, int, int, "
                 "cub::detail::identity_decomposer_t>(int*, int*)",
                 "cub::DeviceRadixSortOnesweepKernel");
    expect_short(
        "void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<"
        "thrust::cuda_cub::__tabulate::functor<float*, thrust::system::detail::generic::detail::"
        "compute_sequence_value<float, void>, long>, long>, long>(long)",
        "thrust::cuda_cub::core::_kernel_agent");
    expect_short("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                 "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    expect_short("kernel(int (*)(float), void (&)[3])", "kernel");
}

static void test_templates_with_operators_in_them(void **state)
{
    expect_short("std::enable_if<((sizeof (int))>(2)), void>::type sized<int>(int)", "sized");
    expect_short("std::enable_if<((3)<(4))&&(((sizeof (int))>((3)>>(1)))), void>::type sized2<int, 3>(int, "
                 "int (&) [3])",
                 "sized2");
    expect_short("std::enable_if<((1)<<(4))>=(3), void>::type a::sized3<int>(int)", "a::sized3");
    expect_short("decltype ({parm#1}->x) arrow<X>(X*)", "arrow");
    expect_short("void fn<int (int)>(int (int))", "fn");
    expect_short("void fn<void (*)(int)>(void (*)(int))", "fn");
    expect_short("void val<&X::operator()<3> >(int)", "val");
}

static void test_operators(void **state)
{
    expect_short("void Op::operator()<3>(int)", "Op::operator()");
    expect_short("Op::operator()(int) const", "Op::operator()");
    expect_short("void Op::operator<< <int>(int)", "Op::operator<<");
    expect_short("Op::operator<(Op const&) const", "Op::operator<");
    expect_short("Op::operator->() const", "Op::operator->");
    expect_short("Op::operator bool()", "Op::operator bool");
    expect_short("void my_operator<int>(int)", "my_operator");
    expect_short("void operators<int>(int)", "operators");
}

static void test_what_stands_inside_a_function(void **state)
{
    expect_short("f(int)::inner(float)", "f::inner");
    expect_short("f(int)::{lambda(int, float)#1}::operator()(int, float) const",
                 "f::{lambda(int, float)#1}::operator()");
    expect_short("void B::m<int>(int) const volatile::{lambda(double)#1}::operator()(double) const",
                 "B::m::{lambda(double)#1}::operator()");
    expect_short("f(int) [clone .part.0]", "f");
    expect_short("int const* ns::f(int)", "ns::f");
}

static void test_what_nobody_understands_stays_whole(void **state)
{
    expect_short("", "");
    expect_short("(int)", "(int)");
    expect_short("<int>", "<int>");
    expect_short("a<b", "a");
    expect_short("f(int", "f");
    expect_short("a>b", "a>b");
}

/* Any text, truncated anywhere, stays within its bound. */
static void test_cut_names_do_no_harm(void **state)
{
    static const char full[] =
        "void std::enable_if<((3)<(4))&&(((sizeof (int))>((3)>>(1)))), a::operator<< <int> >::type "
        "n::(anonymous namespace)::sized2<int, 3>(int) const::{lambda(int)#1}::operator()<2>(int, "
        "int (&) [3]) const [clone .x]";
    for (size_t begin = 0; begin < sizeof full; begin++) {
        for (size_t length = 0; begin + length < sizeof full; length++) {
            char *cut = strndup(full + begin, length), *to = malloc(length + 1);
            size_t got = demangle_shorten(cut, to);
            assert_true(got <= length);
            assert_int_equal(strlen(to), got);
            free(cut);
            free(to);
        }
    }
}

static void test_deep_nesting(void **state)
{
    char full[4096] = "void deep";
    for (int i = 0; i < 300; i++)
        strcat(full, "<a");
    for (int i = 0; i < 300; i++)
        strcat(full, " >");
    strcat(full, "(int)");
    expect_short(full, "deep");
}

/* --- the cache
 * ----------------------------------------------------------------------------------------------------- */

static void test_a_name_is_resolved_once(void **state)
{
    struct kernel_names *names;
    assert_int_equal(kernel_names_create(ARENA, &names), STATUS_OK);
    static const char mangled[] = "_ZN2ns4kernImEEvPT_";
    const struct kernel_name *first = kernel_names_resolve(names, mangled);
    const char *text = first->text;
    assert_string_equal(first->full, "void ns::kern<unsigned long>(unsigned long*)");
    assert_ptr_equal(kernel_names_resolve(names, mangled), first);
    assert_ptr_equal(kernel_names_resolve(names, mangled)->text, text);
    free(names);
}

static void test_an_address_used_again_is_noticed(void **state)
{
    struct kernel_names *names;
    char mangled[32] = "_Z3oldi";
    assert_int_equal(kernel_names_create(ARENA, &names), STATUS_OK);
    assert_string_equal(kernel_names_resolve(names, mangled)->text, "old");
    assert_string_equal(kernel_names_resolve(names, "other")->text, "other");
    strcpy(mangled, "_Z3newi");
    assert_string_equal(kernel_names_resolve(names, mangled)->text, "old"); /* not within a round */
    kernel_names_begin_round(names);
    assert_string_equal(kernel_names_resolve(names, mangled)->text, "new");
    assert_string_equal(kernel_names_resolve(names, mangled)->text, "new");
    assert_string_equal(kernel_names_resolve(names, "other")->text, "other");
    free(names);
}

static void test_a_full_cache_fills_again(void **state)
{
    enum { NAMES = 60000, BYTES = 24 };
    struct kernel_names *names;
    char *mangled = calloc(NAMES, BYTES);
    assert_int_equal(kernel_names_create(4 * ARENA, &names), STATUS_OK);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < NAMES; i++) {
            char want[16];
            snprintf(want, sizeof want, "kernel%05u", (unsigned)i % 100000u);
            snprintf(mangled + i * BYTES, BYTES, "_Z11%si", want);
            assert_string_equal(kernel_names_resolve(names, mangled + i * BYTES)->text, want);
        }
    }
    free(mangled);
    free(names);
}

static void test_a_full_arena_is_emptied(void **state)
{
    struct kernel_names *names;
    char mangled[64][512];
    assert_int_equal(kernel_names_create(16 * 1024, &names), STATUS_OK);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 64; i++) {
            char want[401];
            memset(want, 'a' + i % 26, 400);
            want[400] = 0;
            snprintf(mangled[i], sizeof mangled[i], "_Z400%si", want);
            assert_string_equal(kernel_names_resolve(names, mangled[i])->text, want);
        }
    }
    free(names);
}

static void test_a_name_larger_than_the_arena_stays_mangled(void **state)
{
    struct kernel_names *names;
    char mangled[2048];
    assert_int_equal(kernel_names_create(1024, &names), STATUS_OK);
    memset(mangled, 'x', sizeof mangled);
    memcpy(mangled, "_Z1900", 6);
    mangled[6 + 1900] = 'i';
    mangled[6 + 1901] = 0;
    const struct kernel_name *name = kernel_names_resolve(names, mangled);
    assert_string_equal(name->text, mangled);
    assert_int_equal(name->text_len, strlen(mangled));
    assert_string_equal(kernel_names_resolve(names, "_Z5smalli")->text, "small");
    assert_string_equal(kernel_names_resolve(names, mangled)->full, mangled);
    free(names);
}

static const char *numbered(char *to, const char *word, unsigned number)
{
    char text[40];
    snprintf(text, sizeof text, "%s%u", word, number);
    sprintf(to, "_Z%zu%si", strlen(text), text);
    return to;
}

/* Names that occur in each round keep their number, so they are never filled in again, while a hundred
 * thousand others occur once. */
static void test_names_that_come_again_stay(void **state)
{
    enum { FREQUENT = 1000, ROUNDS = 400, ONCE_A_ROUND = 250, BYTES = 48 };
    struct kernel_names *names;
    char *frequent = calloc(FREQUENT, BYTES), *once = calloc(ROUNDS * ONCE_A_ROUND, BYTES), want[40];
    uint64_t numbers[FREQUENT];
    assert_int_equal(kernel_names_create(4 * ARENA, &names), STATUS_OK);
    for (unsigned round = 0; round < ROUNDS; round++) {
        kernel_names_begin_round(names);
        for (unsigned i = 0; i < FREQUENT; i++) {
            char *at = frequent + (size_t)i * BYTES;
            const struct kernel_name *name =
                kernel_names_resolve(names, round ? at : numbered(at, "often", i));
            if (round == 0)
                numbers[i] = name->number;
            assert_int_equal(name->number, numbers[i]);
        }
        for (unsigned i = 0; i < ONCE_A_ROUND; i++) {
            unsigned number = round * ONCE_A_ROUND + i;
            snprintf(want, sizeof want, "once%u", number);
            assert_string_equal(
                kernel_names_resolve(names, numbered(once + (size_t)number * BYTES, "once", number))->text,
                want);
        }
    }
    free(frequent);
    free(once);
    free(names);
}

/* A program that uses more names in turn than the cache holds: with eviction by age, none would ever be
 * found. */
static void test_of_too_many_names_in_turn_some_are_found(void **state)
{
    enum { NAMES = 32000, ROUNDS = 8, BYTES = 24 };
    struct kernel_names *names;
    char *mangled = calloc(NAMES, BYTES);
    static uint64_t numbers[NAMES];
    unsigned found = 0;
    assert_int_equal(kernel_names_create(8 * ARENA, &names), STATUS_OK);
    for (unsigned round = 0; round < ROUNDS; round++) {
        kernel_names_begin_round(names);
        for (unsigned i = 0; i < NAMES; i++) {
            uint64_t number =
                kernel_names_resolve(names, numbered(mangled + (size_t)i * BYTES, "k", i))->number;
            found += round == ROUNDS - 1 && number == numbers[i];
            numbers[i] = number;
        }
    }
    assert_in_range(found, NAMES / 4, NAMES);
    free(mangled);
    free(names);
}

static void test_modules_that_come_and_go(void **state)
{
    struct kernel_names *names;
    char mangled[48], want[40];
    assert_int_equal(kernel_names_create(16 * 1024, &names), STATUS_OK);
    for (unsigned i = 0; i < 20000; i++) {
        kernel_names_begin_round(names);
        snprintf(want, sizeof want, "module%u", i);
        assert_string_equal(kernel_names_resolve(names, numbered(mangled, "module", i))->text, want);
        assert_string_equal(kernel_names_resolve(names, "_Z4stayi")->text, "stay");
    }
    free(names);
}

static void test_a_name_of_a_megabyte_is_cut(void **state)
{
    enum { BYTES = 1024 * 1024 };
    struct kernel_names *names;
    char *plain = malloc(BYTES + 1), *mangled = malloc(BYTES + 1);
    assert_int_equal(kernel_names_create(ARENA, &names), STATUS_OK);
    memset(plain, 'p', BYTES);
    memset(mangled, 'm', BYTES);
    memcpy(mangled, "_Z1000000", 9);
    plain[BYTES] = mangled[BYTES] = 0;
    for (int round = 0; round < 3; round++) {
        kernel_names_begin_round(names);
        const struct kernel_name *name = kernel_names_resolve(names, plain);
        assert_int_equal(name->text_len, SPAN_STRING_MAX);
        assert_int_equal(strlen(name->text), SPAN_STRING_MAX);
        assert_true(name->number > 0);
        assert_int_equal(kernel_names_resolve(names, mangled)->full_len, SPAN_STRING_MAX);
        assert_string_equal(kernel_names_resolve(names, "_Z5smalli")->text, "small");
    }
    free(plain);
    free(mangled);
    free(names);
}

/* Each B<S, S> doubles its expansion: expanded, this name has 2 to the power of 30 parts. */
static void test_a_name_that_stands_for_a_billion(void **state)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char mangled[512] = "_Z1fI1AIiE1BIS1_S1_E";
    for (int i = 0; i < 29; i++) {
        char c = digits[i + 3], part[16];
        snprintf(part, sizeof part, "S2_IS%c_S%c_E", c, c);
        strcat(mangled, part);
    }
    strcat(mangled, "Evv");
    struct kernel_names *names;
    assert_int_equal(kernel_names_create(ARENA, &names), STATUS_OK);
    const struct kernel_name *name = kernel_names_resolve(names, mangled);
    assert_int_equal(name->full_len, SPAN_STRING_MAX - 1);
    assert_string_equal(name->text, "f");
    free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mangled_kernels),
        cmocka_unit_test(test_names_without_mangling),
        cmocka_unit_test(test_demangled_names),
        cmocka_unit_test(test_templates_with_operators_in_them),
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_what_stands_inside_a_function),
        cmocka_unit_test(test_what_nobody_understands_stays_whole),
        cmocka_unit_test(test_cut_names_do_no_harm),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_a_name_is_resolved_once),
        cmocka_unit_test(test_an_address_used_again_is_noticed),
        cmocka_unit_test(test_a_full_cache_fills_again),
        cmocka_unit_test(test_a_full_arena_is_emptied),
        cmocka_unit_test(test_a_name_larger_than_the_arena_stays_mangled),
        cmocka_unit_test(test_names_that_come_again_stay),
        cmocka_unit_test(test_of_too_many_names_in_turn_some_are_found),
        cmocka_unit_test(test_modules_that_come_and_go),
        cmocka_unit_test(test_a_name_of_a_megabyte_is_cut),
        cmocka_unit_test(test_a_name_that_stands_for_a_billion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
