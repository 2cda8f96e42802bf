#include "agent/replay/state/faults.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t numbers[FAULT_COUNT];

static const struct {
    const char *name;
    uint64_t number;
} faults[FAULT_COUNT] = {
#define FAULT_ENTRY(id, name, number, text) {name, number},
    FAULTS(FAULT_ENTRY)
#undef FAULT_ENTRY
};

static enum status parse_one(const char *word, size_t length, struct error *err)
{
    size_t name_length = strcspn(word, "=,");
    for (size_t i = 0; i < FAULT_COUNT; i++) {
        if (strlen(faults[i].name) != name_length || memcmp(faults[i].name, word, name_length) != 0)
            continue;
        char *end = NULL;
        numbers[i] = name_length < length ? strtoull(word + name_length + 1, &end, 10) : faults[i].number;
        if (numbers[i] == 0 || (end && end != word + length))
            return error_set(err, STATUS_INVALID, "CUSPAN_REPLAY_FAIL: \"%.*s\" needs a number of at least 1",
                             (int)length, word);
        return STATUS_OK;
    }
    return error_set(
        err, STATUS_INVALID,
        "CUSPAN_REPLAY_FAIL: unknown fault \"%.*s\"; src/agent/replay/state/faults.h lists all faults",
        (int)name_length, word);
}

enum status faults_parse(const char *list, struct error *err)
{
    enum status status = STATUS_OK;
    memset(numbers, 0, sizeof numbers);
    while (status == STATUS_OK && list && *list) {
        size_t length = strcspn(list, ",");
        if (length > 0)
            status = parse_one(list, length, err);
        list += length + (list[length] == ',');
    }
    return status;
}

#define CALLS_MAX 10000

static _Atomic uint64_t calls;
static const char *called[CALLS_MAX];

bool fault_call(const char *function)
{
    uint64_t number = atomic_fetch_add(&calls, 1) + 1;
    if (number <= CALLS_MAX)
        called[number - 1] = function;
    return numbers[FAULT_CALL] == number;
}

__attribute__((destructor)) static void name_calls(void)
{
    const char *path = getenv("CUSPAN_REPLAY_CALLS");
    FILE *file = path ? fopen(path, "we") : NULL;
    for (size_t i = 0; file && i < CALLS_MAX && called[i]; i++)
        fprintf(file, "%s\n", called[i]);
    if (file)
        fclose(file);
}

uint64_t fault(enum fault id)
{
    return numbers[id];
}
