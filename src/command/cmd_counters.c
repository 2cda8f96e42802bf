/* cuspan counters: lists what the machine's GPUs can count. The agent's library queries CUPTI as an agent
 * would. */
#include "command/table/command_table.h"

#include "agent/operate/agents/agents.h"
#include "agent/operate/run/injection.h"
#include "cli/util/xalloc.h"
#include "cli/args/options.h"
#include "cli/util/text.h"
#include "model/entries/doctor_entry.h"
#include "model/gpu_counter_names.h"

#include <cjson/cJSON.h>
#include <dlfcn.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_COLUMNS 48

struct gpu {
    struct doctor_chip chip;
    size_t passes;
    cJSON *metrics; /* list of objects, as --json prints them */
};

struct counters {
    struct injection injection;
    struct doctor_counters ask;
    struct option_list patterns;
    struct pattern_list planned;
    bool is_json;
    size_t gpu_count, gpu_capacity, planned_capacity;
    struct gpu *gpus;
};

/* --- what is told --- */

static void on_chip(void *context, const struct doctor_chip *chip)
{
    struct counters *counters = context;
    *XADD(counters->gpus, counters->gpu_count, counters->gpu_capacity) =
        (struct gpu){.chip = *chip, .metrics = cJSON_CreateArray()};
}

static cJSON *json_of_rollups(const char *rollups)
{
    cJSON *list = cJSON_CreateArray();
    char *copy = xstrdup(rollups), *rest = NULL;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        cJSON_AddItemToArray(list, cJSON_CreateString(word));
    free(copy);
    return list;
}

static void on_metric(void *context, const struct doctor_metric *metric)
{
    struct counters *counters = context;
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "name", metric->name);
    cJSON_AddStringToObject(item, "description", metric->description);
    cJSON_AddStringToObject(item, "hardware", metric->hardware);
    cJSON_AddStringToObject(item, "unit", metric->unit);
    cJSON_AddItemToObject(item, "rollups", json_of_rollups(metric->rollups));
    cJSON_AddItemToArray(counters->gpus[counters->gpu_count - 1].metrics, item);
}

static void on_plan(void *context, size_t passes)
{
    struct counters *counters = context;
    counters->gpus[counters->gpu_count - 1].passes = passes;
}

static void counters_deinit(struct counters *counters)
{
    for (size_t i = 0; i < counters->gpu_count; i++)
        cJSON_Delete(counters->gpus[i].metrics);
    for (size_t i = 0; i < counters->planned.count; i++)
        free(counters->planned.patterns[i]);
    free(counters->planned.patterns);
    free(counters->patterns.items);
    free(counters->gpus);
    injection_deinit(&counters->injection);
}

/* --- what is shown --- */

static bool has_metric(const struct gpu *gpu, const char *metric)
{
    size_t base = strcspn(metric, ".");
    const cJSON *item;
    cJSON_ArrayForEach(item, gpu->metrics)
    {
        const char *name = agents_text(item, "name");
        if (strcmp(name, metric) == 0 || (strlen(name) == base && strncmp(name, metric, base) == 0))
            return true;
    }
    return false;
}

/* The metric behind a plain name; NULL: this chip has none. */
static const char *behind(const struct gpu *gpu, const struct gpu_counter_name *plain)
{
    for (const char *const *metric = plain->metrics; *metric; metric++)
        if (has_metric(gpu, *metric))
            return *metric;
    return NULL;
}

static bool is_asked(const struct counters *counters, const cJSON *metric)
{
    for (size_t i = 0; i < counters->patterns.count; i++)
        if (fnmatch(counters->patterns.items[i], agents_text(metric, "name"), 0) == 0)
            return true;
    return false;
}

static void print_plain(const struct gpu *gpu)
{
    for (size_t i = 0; i < gpu_counter_name_count; i++) {
        const struct gpu_counter_name *plain = &gpu_counter_names[i];
        const char *metric = behind(gpu, plain);
        printf("  %-20s %-3s %-46s %s\n", plain->name, plain->unit, plain->description,
               metric ? metric : "(not on this chip)");
    }
}

static void print_metrics(const struct counters *counters, const struct gpu *gpu)
{
    size_t shown = 0;
    const cJSON *metric;
    cJSON_ArrayForEach(metric, gpu->metrics)
    {
        const char *unit = agents_text(metric, "unit");
        if (!is_asked(counters, metric))
            continue;
        shown++;
        printf("  %-*s %s%s%s%s\n", NAME_COLUMNS, agents_text(metric, "name"),
               agents_text(metric, "description"), *unit ? " [" : "", unit, *unit ? "]" : "");
    }
    if (shown == 0)
        printf("  none of its %d metrics matches\n", cJSON_GetArraySize(gpu->metrics));
}

static void print_gpu(const struct counters *counters, const struct gpu *gpu)
{
    printf("GPU %d: %s (%s)\n", gpu->chip.device, gpu->chip.gpu, gpu->chip.chip);
    if (counters->planned.count > 0) {
        printf("  %zu metrics in %zu %s%s\n", counters->planned.count, gpu->passes,
               gpu->passes == 1 ? "pass" : "passes",
               gpu->passes == 1           ? ""
               : counters->ask.of_samples ? ": a sample has one pass; name fewer metrics"
                                          : ": kernels would have to be replayed (counters.replay: kernel)");
    } else if (counters->patterns.count > 0) {
        print_metrics(counters, gpu);
    } else {
        print_plain(gpu);
        printf("  and %d metrics by the chip's own names: cuspan counters 'dram*' lists some, '*' all\n",
               cJSON_GetArraySize(gpu->metrics));
    }
}

static void add_metrics(const struct counters *counters, const struct gpu *gpu, cJSON *object)
{
    cJSON *plain = cJSON_AddObjectToObject(object, "plain"),
          *metrics = cJSON_AddArrayToObject(object, "metrics"), *metric;
    for (size_t i = 0; i < gpu_counter_name_count; i++) {
        const char *name = behind(gpu, &gpu_counter_names[i]);
        if (name)
            cJSON_AddStringToObject(plain, gpu_counter_names[i].name, name);
    }
    cJSON_ArrayForEach(metric, gpu->metrics)
    {
        if (counters->patterns.count == 0 || is_asked(counters, metric))
            cJSON_AddItemReferenceToArray(metrics, metric);
    }
}

static void print_json(const struct counters *counters)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < counters->gpu_count; i++) {
        const struct gpu *gpu = &counters->gpus[i];
        cJSON *object = cJSON_CreateObject();
        cJSON_AddNumberToObject(object, "device", gpu->chip.device);
        cJSON_AddStringToObject(object, "gpu", gpu->chip.gpu);
        cJSON_AddStringToObject(object, "chip", gpu->chip.chip);
        if (counters->planned.count > 0)
            cJSON_AddNumberToObject(object, "passes", (double)gpu->passes);
        else
            add_metrics(counters, gpu, object);
        cJSON_AddItemToArray(list, object);
    }
    char *text = cJSON_PrintUnformatted(list);
    puts(text ? text : "[]");
    cJSON_free(text);
    cJSON_Delete(list);
}

/* --- asking --- */

/* NULL: err says why. */
static const struct doctor_api *find_api(struct counters *counters, struct error *err)
{
    if (injection_find_library(&counters->injection, err) != STATUS_OK)
        return NULL;
    const char *path = counters->injection.library;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    doctor_api_fn *give = NULL;
    if (library)
        *(void **)&give = dlsym(library, DOCTOR_API_SYMBOL);
    const struct doctor_api *api = give ? give() : NULL;
    if (api && strcmp(api->version, CUSPAN_VERSION) == 0 && api->settings_bytes == sizeof(struct settings))
        return api;
    (void)error_set(err, STATUS_UNSUPPORTED, "%.400s is not an agent of this version", path);
    return NULL;
}

static void take_planned(struct counters *counters, const char *names)
{
    char *copy = xstrdup(names), *rest = NULL;
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        *XADD(counters->planned.patterns, counters->planned.count, counters->planned_capacity) =
            xstrdup(name);
    }
    free(copy);
}

static int take_option(void *context, struct options *options, int option)
{
    struct counters *counters = context;
    long device;
    switch (option) {
    case OPTION_DEVICE:
        if (!options_number(options, 0, 1023, &device))
            return EXIT_USAGE;
        counters->ask.device = (int)device;
        return EXIT_OK;
    case OPTION_PASSES:
        take_planned(counters, options->value);
        return EXIT_OK;
    default:
        return injection_take_option(&counters->injection, options, option);
    }
}

static int run_counters(struct counters *counters)
{
    struct error err = {""};
    counters->ask.metrics = &counters->planned;
    counters->ask.context = counters;
    counters->ask.on_chip = on_chip;
    counters->ask.on_metric = on_metric;
    counters->ask.on_plan = on_plan;
    const struct doctor_api *api = find_api(counters, &err);
    enum status status = api ? api->list_counters(&counters->ask, &err) : STATUS_UNSUPPORTED;
    if (status == STATUS_OK && counters->is_json)
        print_json(counters);
    for (size_t i = 0; i < counters->gpu_count && status == STATUS_OK && !counters->is_json; i++)
        print_gpu(counters, &counters->gpus[i]);
    if (status != STATUS_OK)
        fprintf(stderr, "cuspan counters: %s\n", err.text);
    return status == STATUS_OK ? EXIT_OK : EXIT_FAILED;
}

int cmd_counters(const struct command *command, int argc, char **argv)
{
    struct counters counters = {.ask.device = -1};
    struct options options;
    const struct option_target targets[] = {{OPTION_OPERAND, .list = &counters.patterns},
                                            {OPTION_SAMPLING, .flag = &counters.ask.of_samples},
                                            {OPTION_CUPTI, .text = &counters.ask.library},
                                            {OPTION_JSON, .flag = &counters.is_json},
                                            {0}};
    options_init(&options, command, argc, argv);
    int result;
    if (!options_read(&options, targets, take_option, &counters))
        result = options.status;
    else if (counters.planned.count > 0 && counters.patterns.count > 0)
        result = options_complain(&options, "--passes and patterns exclude each other");
    else
        result = run_counters(&counters);
    counters_deinit(&counters);
    return result;
}
