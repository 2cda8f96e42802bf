/* Linked into agent_host: a program with its own allocator that aborts on foreign pointers. */
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MARK      0x6d6172732d6f776eull
#define PIECE     (64ull << 20)
#define CLASSES   48
#define ALIGNMENT 16

struct head {
    uint64_t mark;
    size_t size; /* of the size class */
    void *begin; /* start of the enclosing chunk */
    struct head *next;
};

static struct head *unused[CLASSES];
static char *at, *end;
static atomic_flag lock = ATOMIC_FLAG_INIT;

static unsigned class_of(size_t size)
{
    unsigned bits = 5;
    while (1ull << bits < size)
        bits++;
    return bits;
}

static void *cut(size_t bytes)
{
    if (bytes > (size_t)(end - at)) {
        size_t piece = bytes > PIECE ? bytes : PIECE;
        at = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
            _exit(99);
        end = at + piece;
    }
    at += bytes;
    return at - bytes;
}

static void *take(size_t size, size_t alignment)
{
    unsigned class = class_of(size);
    while (atomic_flag_test_and_set(&lock)) {
    }
    struct head *head = alignment <= ALIGNMENT ? unused[class] : NULL;
    if (head) {
        unused[class] = head->next;
    } else {
        uintptr_t raw = (uintptr_t)cut((1ull << class) + sizeof *head + alignment);
        uintptr_t data = (raw + sizeof *head + alignment - 1) / alignment * alignment;
        head = (struct head *)data - 1;
        head->size = 1ull << class;
    }
    atomic_flag_clear(&lock);
    head->mark = MARK;
    return memset(head + 1, 0xa5, size);
}

static struct head *head_of(void *pointer)
{
    struct head *head = (struct head *)pointer - 1;
    if (head->mark != MARK) {
        static const char text[] = "host: a pointer of another allocator\n";
        (void)!write(STDOUT_FILENO, text, sizeof text - 1);
        abort();
    }
    return head;
}

void *malloc(size_t size)
{
    return take(size, ALIGNMENT);
}

void *calloc(size_t count, size_t size)
{
    return memset(take(count * size, ALIGNMENT), 0, count * size);
}

void free(void *pointer)
{
    if (!pointer)
        return;
    struct head *head = head_of(pointer);
    while (atomic_flag_test_and_set(&lock)) {
    }
    head->mark = 0;
    head->next = unused[class_of(head->size)];
    unused[class_of(head->size)] = head;
    atomic_flag_clear(&lock);
}

void *realloc(void *old, size_t size)
{
    if (!old)
        return malloc(size);
    struct head *head = head_of(old);
    if (size <= head->size)
        return old;
    void *made = malloc(size);
    memcpy(made, old, head->size);
    free(old);
    return made;
}

void *memalign(size_t alignment, size_t size)
{
    return take(size, alignment < ALIGNMENT ? ALIGNMENT : alignment);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    *out = memalign(alignment, size);
    return 0;
}

size_t malloc_usable_size(void *pointer)
{
    return pointer ? head_of(pointer)->size : 0;
}
