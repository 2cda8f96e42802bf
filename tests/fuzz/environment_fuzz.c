/* Lines "NAME=VALUE" as the environment of a process: each variable with a value of its own, where
 * config_fuzz gives all of them one. Nothing may crash, leak, or break a line of the report, and without a
 * file of settings a bad variable is a warning or an error that names it, never silence about an unusable
 * result. */
#include "agent/config/config.h"

#include "fuzz.h"

#define VARIABLES_MAX 64

static struct {
    const char *name, *value;
} variables[VARIABLES_MAX];
static size_t count;

static const char *get_variable(const char *name, void *context)
{
    if (strcmp(name, "CUSPAN_CONFIG_FILE") == 0 || strcmp(name, "OTEL_CONFIG_FILE") == 0)
        return NULL; /* config_fuzz tests files */
    for (size_t i = 0; i < count; i++)
        if (strcmp(variables[i].name, name) == 0)
            return variables[i].value;
    return NULL;
}

static void split(char *text)
{
    char *rest = text, *line;
    count = 0;
    while (count < VARIABLES_MAX && (line = strsep(&rest, "\n")) != NULL) {
        char *equals = strchr(line, '=');
        if (!equals)
            continue;
        *equals = '\0';
        variables[count].name = line;
        variables[count++].value = equals + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct settings settings;
    static struct config_report report;
    static FILE *null;
    struct config_input input = {.getenv = get_variable};
    size_t bytes;
    char *text = fuzz_part(&data, &size, &bytes);
    if (!null)
        null = fopen("/dev/null", "w");
    split(text);
    enum status status = config_load(&input, &settings, &report);
    require(status == STATUS_OK || status == STATUS_INVALID, "the status is neither OK nor INVALID");
    require((status == STATUS_INVALID) == (report.errors > 0), "the status and the errors differ");
    require(status != STATUS_OK || settings.output_count > 0 || settings.disabled || report.count > 0 ||
                settings.record_file,
            "no output, and no word about it");
    for (uint32_t i = 0; i < report.count; i++)
        require(!strpbrk(report.messages[i].text, "\n\r\x1b"), "a message is more than a line");
    if (status == STATUS_OK)
        config_print_effective(&settings, null);
    settings_deinit(&settings);
    free(text);
    return 0;
}
