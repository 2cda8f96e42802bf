/* The environment variables that make the CUDA driver load our agent into a program, and that pass the
 * options of the command line to the agent. */
#pragma once

#include "base/status.h"
#include "cli/args/options.h"
#include "cli/util/text.h"

/* In PYTHONPATH, it makes Python load what follows training steps. Beside the library. */
#define PYTHON_ARCHIVE  "python.zip"
#define PYTHON_VARIABLE "PYTHONPATH"

struct injection {
    char *library;       /* libcuspan.so; owned */
    const char *config;  /* CUSPAN_CONFIG_FILE, or NULL: unchanged */
    char *config_path;   /* owned; absolute, because the program may change its directory */
    struct text set;     /* lines of CUSPAN_SET */
    char *accounts_file; /* from --set accounts_file=, where the reports are kept; owned */
    char *report_dir;    /* our directory for reports; owned; NULL: none can be written */
    bool has_endpoint, has_file, has_console; /* --endpoint or --protocol, --file, --console */
    const char *file;                         /* of --file, or NULL */
    const char *others;                       /* "share" or "give-way"; NULL: as the settings say */
    char *tool; /* the tool of NVIDIA that runs the program, which is then not traced; owned */
    bool is_quiet;
};

/* Processes an option of launchers (command_table.c), for options_read(). The context is the injection. */
int injection_take_option(void *injection, struct options *options, int option);
/* EXIT_OK, or EXIT_USAGE after an error message if the options set more than one output. */
int injection_check_output(const struct injection *injection, const struct options *options);

/* Adds key=value for the agent; EXIT_USAGE after an error message if the value cannot be passed. */
int injection_set(struct injection *injection, const struct options *options, const char *key,
                  const char *value);
/* The same for a file to write, whose path becomes absolute; also EXIT_USAGE if it cannot be created. */
int injection_set_path(struct injection *injection, const struct options *options, const char *key,
                       const char *path);

/* Finds only the library: named by an option or CUSPAN_LIBRARY, or the one that belongs to this program.
 * NOT_FOUND. */
enum status injection_find_library(struct injection *injection, struct error *err) MUST_CHECK;

/* After NOT_FOUND: no library was named, so this installation lacks its own. */
bool injection_has_no_library(const struct injection *injection);

/* The path of a file in the directory of the library; allocated. */
char *injection_path_beside(const struct injection *injection, const char *name);

/* Checks the settings for the agent (INVALID), finds the library, checks for conflicts, and creates the
 * directory for reports. If there can be none, logs one line and goes on. */
enum status injection_prepare(struct injection *injection, struct error *err) MUST_CHECK;

/* For a running process: checks the settings, finds the library, and adds the variables that pass the
 * settings, as lines "NAME=VALUE". */
enum status injection_prepare_attach(struct injection *injection, struct text *variables,
                                     struct error *err) MUST_CHECK;

/* Loads the settings from the file (NULL: of the environment) as the agent would. `sets_signals`: whether
 * they set on_signal. Not OK: `err` has the first error. */
enum status injection_load_settings(const struct injection *injection, const char *config, bool *sets_signals,
                                    struct error *err) MUST_CHECK;

/* Sets the variables in this process: call it in the child before exec, or before the fork. */
void injection_apply(const struct injection *injection);

/* Whether a list of paths, separated by colons, has this one; the list may be NULL. */
bool injection_list_has(const char *list, const char *path);

/* Removes the reports of a run before the next. */
void injection_clear_reports(const struct injection *injection);

/* Removes the directory for reports. Reports are kept as accounts_file.PID if the user set accounts_file.
 * Safe on a zeroed struct. */
void injection_deinit(struct injection *injection);
