#include "command/table/command_table.h"

#include "agent/operate/doctor/checks.h"
#include "agent/operate/doctor/agent_library.h"
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

static int check_only(const struct options *options, const char *only)
{
    if (!only)
        return EXIT_OK;
    for (size_t i = 0; i < doctor_check_count; i++)
        if (doctor_selects(only, &doctor_checks[i]))
            return EXIT_OK;
    return options_complain(options, "--only %s: no such check (see: cuspan doctor --list)", only);
}

static void list_checks(void)
{
    for (size_t i = 0; i < doctor_check_count; i++) {
        const struct doctor_check *check = &doctor_checks[i];
        printf("%s.%s\t%s\n", check->group, check->name, check->question);
    }
}

/* Loads the settings of an agent and its library; checks report what is wrong with either. */
static void prepare(struct doctor *doctor)
{
    struct config_input input = {.getenv = config_getenv,
                                 .variables = environ,
                                 .path = doctor->injection.config,
                                 .overrides = doctor->injection.set.data};
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

int cmd_doctor(const struct command *command, int argc, char **argv)
{
    struct doctor doctor = {.seconds = SECONDS_DEFAULT};
    struct options options;
    int color = COLOR_AUTO;
    bool is_list = false;
    const struct option_target targets[] = {
        {OPTION_JSON, .flag = &doctor.is_json},
        {OPTION_EXPECT, .text = &doctor.expected},
        {OPTION_ONLY, .text = &doctor.only},
        {OPTION_SECONDS, .number = &doctor.seconds, .min = 1, .max = SECONDS_MAX},
        {OPTION_COLOR, .choice = &color},
        {OPTION_LIST, .flag = &is_list},
        {0}};
    options_init(&options, command, argc, argv);
    int result = EXIT_OK;
    if (!options_read(&options, targets, injection_take_option, &doctor.injection)) {
        result = options.status;
    } else if (is_list && (doctor.only || doctor.expected || doctor.is_json || options.next < argc)) {
        result = options_complain(&options, "--list only lists the checks; leave out what is to be checked");
    } else if (is_list) {
        list_checks();
    } else if ((result = check_only(&options, doctor.only)) == EXIT_OK) {
        doctor.is_colored = terminal_wants_color((enum color_when)color, STDOUT_FILENO);
        doctor.program = options.next < argc ? argv + options.next : NULL;
        prepare(&doctor);
        result = doctor_run(&doctor, doctor_checks, doctor_check_count);
    }
    doctor_deinit(&doctor);
    return result;
}
