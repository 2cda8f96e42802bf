#include "analysis/code/kernel_lines.h"

#include "support/test.h"

#include <stdbool.h>
#include <stdlib.h>

static void assert_name(const char *symbol, const char *wanted)
{
    char *name = kernel_lines_name(symbol);
    assert_string_equal(name, wanted);
    free(name);
}

static void test_names(void **state)
{
    assert_name("plain", "plain");
    assert_name("_Z5solvePdi", "solve");
    assert_name("_ZL5solvePdi", "solve");
    assert_name("_Z4gemmIfEvPKT_", "gemm");
    assert_name("_ZN2ns4gemmIfLi32EEEvPKT_PS1_", "ns::gemm");
    assert_name("_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_4copyERNS_18TensorIteratorBaseEENKUlvE_"
                "clEvEUlfE_EEviT_",
                "at::native::unrolled_elementwise_kernel");
    assert_name("_ZN33_GLOBAL__N__b02bf628_4_k_cu_plain6hiddenEPi", "(anonymous namespace)::hidden");
    assert_name("_ZN2at12_GLOBAL__N_14gemmEv", "at::(anonymous namespace)::gemm");
    assert_name("_ZNSt4sortIfEEvv", "std::sort");
    assert_name("_ZN2ns4longIfEE", "ns::long");
}

static void test_damaged_names(void **state)
{
    assert_name("", "");
    assert_name("_", "_");
    assert_name("_Z", "_Z");
    assert_name("_ZN", "_ZN");
    assert_name("_ZN0E", "_ZN0E");
    assert_name("_Z99short", "_Z99short");
    assert_name("_Z99999999999999999999999x", "_Z99999999999999999999999x");
    assert_name("_ZN2ns99short", "ns");
    assert_name("_ZL", "_ZL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_damaged_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
