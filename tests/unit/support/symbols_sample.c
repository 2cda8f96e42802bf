/* Functions for the test of symbols: each returns an address in its own code. */
#include <stdint.h>

#define HERE(name)                                                                                           \
    {                                                                                                        \
        uint64_t address;                                                                                    \
        AT(address);                                                                                         \
        return address;                                                                                      \
    }
#ifdef LONG_FUNCTIONS
#define MORE ".rept 100\n\tnop\n\t.endr"
#else
#define MORE
#endif
#if defined(__aarch64__)
#define AT(address) __asm__ volatile("adr %0, .+4\n\tnop\n\t" MORE : "=r"(address))
#else
#define AT(address) __asm__ volatile("lea 0(%%rip), %0\n\tnop\n\t" MORE : "=r"(address))
#endif
#define EXPORTED __attribute__((visibility("default"), noinline))

EXPORTED uint64_t sample_exported(void);
EXPORTED uint64_t sample_static(void);
EXPORTED uint64_t sample_weak(void);
EXPORTED uint64_t sample_node(void);
EXPORTED uint64_t sample_unnamed(void);

EXPORTED uint64_t sample_exported(void) HERE()

    static __attribute__((noinline, used)) uint64_t hidden_one(void) HERE()

        EXPORTED uint64_t sample_static(void)
{
    uint64_t address = hidden_one();
    __asm__ volatile("" : : : "memory");
    return address;
}

/* A second name of lower rank at the same address. */
uint64_t sample_weak_other(void) __attribute__((weak, alias("sample_weak"), visibility("default")));
EXPORTED uint64_t sample_weak(void) HERE()

    /* torch::autograd::generated::MmBackward0::apply(int) */
    EXPORTED uint64_t _ZN5torch8autograd9generated11MmBackward05applyEi(int unused);
EXPORTED uint64_t _ZN5torch8autograd9generated11MmBackward05applyEi(int unused) HERE()

    EXPORTED uint64_t sample_node(void)
{
    uint64_t address = _ZN5torch8autograd9generated11MmBackward05applyEi(0);
    __asm__ volatile("" : : : "memory");
    return address;
}

/* Its symbol has no size, so nothing shows where it ends. */
uint64_t without_size(void);
#if defined(__aarch64__)
__asm__(".text\n.type without_size, %function\nwithout_size:\nadr x0, .+4\nnop\nret\n");
#else
__asm__(".text\n.type without_size, @function\nwithout_size:\nlea 0(%rip), %rax\nnop\nret\n");
#endif
__attribute__((visibility("hidden"))) uint64_t without_size(void);

EXPORTED uint64_t sample_unnamed(void)
{
    uint64_t address = without_size();
    __asm__ volatile("" : : : "memory");
    return address;
}
