#include "analysis/trace/trace_facts.h"

#include "base/text/sanitize.h"
#include "analysis/trace/span_store.h"

#include <stdarg.h>
#include <stdio.h>

void trace_note_add(struct trace_note *note, const char *format, ...)
{
    va_list args;
    if (note->count++)
        return;
    va_start(args, format);
    vsnprintf(note->first, sizeof note->first, format, args);
    va_end(args);
    sanitize_in_place(note->first);
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void say_cut(const struct trace_facts *facts, const char *command)
{
    if (facts->cut.count == 1 && facts->files == 1)
        fprintf(
            stderr,
            "cuspan %s: %s: the end of the file is incomplete and not counted (%s): its writer was killed "
            "or is still writing; %zu span%s before it are counted\n",
            command, facts->cut_file, facts->cut.first, facts->spans, plural(facts->spans));
    else if (facts->cut.count)
        fprintf(stderr,
                "cuspan %s: the ends of %zu of %zu files are incomplete and not counted: their writers were "
                "killed or are still writing; the first one: %s (%s)\n",
                command, facts->cut.count, facts->files, facts->cut_file, facts->cut.first);
}

static void say_note(const struct trace_note *note, const char *command, const char *one, const char *many)
{
    if (note->count == 1)
        fprintf(stderr, "cuspan %s: %s: %s\n", command, one, note->first);
    else if (note->count)
        fprintf(stderr, "cuspan %s: %zu %s: %s\n", command, note->count, many, note->first);
}

static void say_limits(const struct trace_facts *facts, const char *command)
{
    if (facts->has_rest)
        fprintf(stderr, "cuspan %s: there are more than %u traces; the later ones count as one\n", command,
                STORE_TRACES_MAX);
    if (facts->has_other_names)
        fprintf(stderr,
                "cuspan %s: there are too many different names; the later ones count as \"" STORE_OTHER_NAMES
                "\"\n",
                command);
    if (facts->has_other_resources)
        fprintf(stderr,
                "cuspan %s: there are more than %u processes and devices; the later ones count as "
                "\"" STORE_OTHER_RESOURCES "\"\n",
                command, STORE_RESOURCES_MAX);
    if (facts->joins_missed)
        fprintf(stderr,
                "cuspan %s: %zu spans count without their parents, which started too long before them\n",
                command, facts->joins_missed);
}

void trace_facts_print(const struct trace_facts *facts, const char *command)
{
    say_note(&facts->left_out, command, "not read", "files and folders were not read; the first one");
    say_cut(facts, command);
    say_note(&facts->damaged, command, "not read to the end",
             "files were not read to the end; the first one");
    say_note(&facts->documents, command, "skipped", "lines or messages were skipped; the first one");
    say_note(&facts->odd_spans, command, "skipped", "spans were skipped; the first one");
    if (facts->replaced)
        fprintf(stderr, "cuspan %s: %zu character%s not valid Unicode and became U+FFFD\n", command,
                facts->replaced, facts->replaced == 1 ? " was" : "s were");
    if (facts->backwards)
        fprintf(stderr, "cuspan %s: %zu span%s\n", command, facts->backwards,
                facts->backwards == 1 ? " ends before it starts; its duration is 0"
                                      : "s end before they start; their duration is 0");
    say_limits(facts, command);
}
