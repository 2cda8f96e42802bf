#include "cli/args/command_table.h"

#include "cli/doctor/checks.h"
#include "cli/doctor/checks/check_library.h"
#include "cli/util/xalloc.h"
#include "cli/args/options.h"
#include "cli/util/terminal.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECONDS_DEFAULT 30
#define SECONDS_MAX     86400

static int check_only(const struct options *options)
{
    for (size_t i = 0; i < doctor_check_count; i++)
        if (doctor_selects(options->value, &doctor_checks[i]))
            return EXIT_OK;
    return options_complain(options, "--only %s: no such check (see: cuspan doctor --list)", options->value);
}

static void list_checks(void)
{
    for (size_t i = 0; i < doctor_check_count; i++) {
        const struct doctor_check *check = &doctor_checks[i];
        printf("%s.%s\t%s\n", check->group, check->name, check->question);
    }
}

static int take_option(struct doctor *doctor, const struct options *options, int option)
{
    static const char colors[] = "auto always never";
    long seconds;
    int color;
    switch (option) {
    case OPTION_ENDPOINT:
        return injection_set(&doctor->injection, options, "endpoint", options->value);
    case OPTION_PROTOCOL:
        if (options_word(options, "protocol", "http/protobuf http/json grpc") < 0)
            return EXIT_USAGE;
        return injection_set(&doctor->injection, options, "protocol", options->value);
    case OPTION_FILE:
        return injection_set_path(&doctor->injection, options, "output_file", options->value);
    case OPTION_JSON:
        doctor->is_json = true;
        return EXIT_OK;
    case OPTION_EXPECT:
        doctor->expected = options->value;
        return EXIT_OK;
    case OPTION_ONLY:
        doctor->only = options->value;
        return check_only(options);
    case OPTION_SECONDS:
        if (!options_number(options, "seconds", 1, SECONDS_MAX, &seconds))
            return EXIT_USAGE;
        doctor->seconds = (unsigned)seconds;
        return EXIT_OK;
    case OPTION_COLOR:
        color = options_word(options, "color", colors);
        doctor->is_colored = color >= 0 && terminal_wants_color((enum color_when)color, STDOUT_FILENO);
        return color < 0 ? EXIT_USAGE : EXIT_OK;
    default:
        return injection_take_option(&doctor->injection, options, option);
    }
}

/* The settings an agent would use, and the library that knows more; checks report what is wrong with either.
 */
static void prepare(struct doctor *doctor)
{
    struct config_input input = {
        .getenv = config_getenv, .path = doctor->injection.config, .overrides = doctor->injection.set.data};
    struct error err = {""};
    const char *root = getenv("CUSPAN_DOCTOR_ROOT");
    doctor->root = root ? root : "";
    doctor->is_utf8 = text_locale_is_utf8();
    doctor->report = xcalloc(1, sizeof *doctor->report);
    doctor->config_status = config_load(&input, &doctor->settings, doctor->report);
    doctor->has_settings = doctor->config_status == STATUS_OK;
    if (injection_find_library(&doctor->injection, &err) != STATUS_OK)
        snprintf(doctor->api_error, sizeof doctor->api_error, "%s", err.text);
    library_open(doctor);
}

int cmd_doctor(int argc, char **argv)
{
    struct doctor doctor = {.seconds = SECONDS_DEFAULT,
                            .is_colored = terminal_wants_color(COLOR_AUTO, STDOUT_FILENO)};
    struct options options;
    int option, result = EXIT_OK;
    options_init(&options, "doctor", argc, argv);
    while (result == EXIT_OK && (option = options_next(&options)) != OPTION_END) {
        if (option == OPTION_WRONG || option == OPTION_HELP || option == OPTION_LIST) {
            if (option == OPTION_LIST)
                list_checks();
            doctor_deinit(&doctor);
            return option == OPTION_LIST ? EXIT_OK : options_exit_status(option);
        }
        result = take_option(&doctor, &options, option);
    }
    if (result == EXIT_OK) {
        doctor.program = options.next < argc ? argv + options.next : NULL;
        prepare(&doctor);
        result = doctor_run(&doctor);
    }
    doctor_deinit(&doctor);
    return result;
}
