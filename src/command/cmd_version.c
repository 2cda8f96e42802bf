#include "command/table/command_table.h"

#include "base/text/json_writer.h"
#include "cli/args/options.h"

#include <stdio.h>

/* Defined by the build; see cmake/command.cmake. */
#ifndef CUSPAN_BUILD_TYPE
#define CUSPAN_BUILD_TYPE "unknown"
#endif
#ifndef CUSPAN_SANITIZERS
#define CUSPAN_SANITIZERS ""
#endif
#ifndef CUSPAN_CUPTI_NEWEST
#define CUSPAN_CUPTI_NEWEST 0
#endif

#define CUPTI_OLDEST "12.0"
#define CUPTI_MAJOR  (CUSPAN_CUPTI_NEWEST / 10000)
#define CUPTI_MINOR  (CUSPAN_CUPTI_NEWEST / 100 % 100)

#if defined(__x86_64__)
#define ARCHITECTURE "x86-64"
#elif defined(__aarch64__)
#define ARCHITECTURE "arm64"
#else
#define ARCHITECTURE "unknown"
#endif

static void print_json(void)
{
    struct json_writer json = JSON_WRITER(stdout);
    char newest[16];
    snprintf(newest, sizeof newest, "%d.%d", CUPTI_MAJOR, CUPTI_MINOR);
    json_write_object(&json, NULL);
    json_write_text(&json, "version", CUSPAN_VERSION);
    json_write_object(&json, "cupti");
    json_write_text(&json, "oldest", CUPTI_OLDEST);
    json_write_text(&json, "newest", newest);
    json_write_object_end(&json);
    json_write_text(&json, "architecture", ARCHITECTURE);
    json_write_text(&json, "compiler", __VERSION__);
    json_write_text(&json, "build_type", CUSPAN_BUILD_TYPE);
    json_write_text(&json, "sanitizers", CUSPAN_SANITIZERS);
    json_write_object_end(&json);
    putchar('\n');
}

static void print_text(void)
{
    printf("cuspan " CUSPAN_VERSION "\n"
           "CUPTI: tables for " CUPTI_OLDEST " to %d.%d; newer versions are read as the newest known\n"
           "built for Linux on " ARCHITECTURE " by " __VERSION__ ", " CUSPAN_BUILD_TYPE "%s" CUSPAN_SANITIZERS
           "\n",
           CUPTI_MAJOR, CUPTI_MINOR, *CUSPAN_SANITIZERS ? ", sanitizers: " : "");
}

int cmd_version(const struct command *command, int argc, char **argv)
{
    struct options options;
    bool is_json = false;
    const struct option_target targets[] = {{OPTION_JSON, .flag = &is_json}, {0}};
    options_init(&options, command, argc, argv);
    if (!options_read(&options, targets, NULL, NULL))
        return options.status;
    if (is_json)
        print_json();
    else
        print_text();
    return EXIT_OK;
}
