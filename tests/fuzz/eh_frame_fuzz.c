/* Arbitrary bytes as a library's unwind tables: two bytes say where the code is and two where the header is.
 * The rule of each of some addresses is found without reading outside the bytes. */
#include "agent/frames/eh_frame.h"

#include "fuzz.h"

static void look_up(const struct eh_frame *tables, uint64_t address)
{
    struct unwind_rule rule, again;
    eh_frame_find_rule(tables, address, &rule);
    require(rule.kind <= UNWIND_DAMAGED, "an unknown kind of rule");
    require(rule.fp <= UNWIND_FP_LOST && rule.return_in <= UNWIND_RETURN_IN_LINK && rule.unused == 0,
            "a rule with unknown parts");
    eh_frame_find_rule(tables, address, &again);
    require(memcmp(&rule, &again, sizeof rule) == 0, "the same address has two rules");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes from = {data, data + size};
    uint64_t code = fuzz_number(&from, 2), header = fuzz_number(&from, 2);
    size_t bytes = (size_t)(from.end - from.at);
    uint8_t *copy = malloc(bytes ? bytes : 1); /* of its own, so that reads beyond it are detected */
    require(copy != NULL, "no memory");
    memcpy(copy, from.at, bytes);
    struct eh_frame tables = {copy + (header < bytes ? header : 0), copy, copy + bytes};
    uint64_t address = (uint64_t)(uintptr_t)copy + code;
    for (uint64_t i = 0; i < 64; i += 7)
        look_up(&tables, address + i);
    look_up(&tables, 0);
    look_up(&tables, UINT64_MAX);
    free(copy);
    return 0;
}
