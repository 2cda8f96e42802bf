/* Arbitrary bytes as a configuration file, as CUSPAN_SET and as the values of variables, each part behind a
 * 0xff byte. Nothing may crash, leak, take long, or break a line of the report; and what was read can be
 * printed. */
#include "agent/config/config.h"

#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

enum part { PART_FILE, PART_SET, PART_VARIABLES, PART_COUNT };

static char *parts[PART_COUNT];
static char path[32];
static int fd = -1;
static FILE *null;

/* All variables but those that name files have the same value; CUSPAN_SET has its own. */
static const char *get_variable(const char *name, void *context)
{
    bool is_file = context != NULL;
    if (strcmp(name, "CUSPAN_SET") == 0)
        return parts[PART_SET];
    if (strcmp(name, "CUSPAN_CONFIG_FILE") == 0)
        return is_file ? path : NULL;
    return strcmp(name, "OTEL_CONFIG_FILE") == 0 ? NULL : parts[PART_VARIABLES];
}

static void check(enum status status, struct settings *settings, const struct config_report *report)
{
    require(status == STATUS_OK || status == STATUS_INVALID, "the status is neither OK nor INVALID");
    require((status == STATUS_INVALID) == (report->errors > 0), "the status and the errors differ");
    require(report->count <= CONFIG_MESSAGES_MAX, "too many messages");
    for (uint32_t i = 0; i < report->count; i++)
        require(!strpbrk(report->messages[i].text, "\n\r\x1b"), "a message is more than a line");
    if (status == STATUS_OK)
        config_print_effective(settings, null);
    settings_deinit(settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct settings settings;
    static struct config_report report;
    size_t sizes[PART_COUNT];
    if (fd < 0) {
        fd = memfd_create("config", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        null = fopen("/dev/null", "w");
    }
    for (int i = 0; i < PART_COUNT; i++)
        parts[i] = fuzz_part(&data, &size, &sizes[i]);
    require(ftruncate(fd, 0) == 0 &&
                pwrite(fd, parts[PART_FILE], sizes[PART_FILE], 0) == (ssize_t)sizes[PART_FILE],
            "the file can't be written");
    static int is_file = 1;
    struct config_input input = {.getenv = get_variable, .context = &is_file};
    check(config_load(&input, &settings, &report), &settings, &report);
    input.context = NULL;
    check(config_load(&input, &settings, &report), &settings, &report);
    for (int i = 0; i < PART_COUNT; i++)
        free(parts[i]);
    return 0;
}
