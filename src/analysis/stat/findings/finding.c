#include "analysis/stat/findings/finding.h"

#include "analysis/code/code_book.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>

const char *evidence_time(char out[EVIDENCE_TIME_BYTES], uint64_t ns)
{
    return text_duration(out, ns, false);
}

bool finding_is_of_time(enum finding_kind kind)
{
    return kind != FINDING_LEAK && kind != FINDING_WRONG_FREE;
}

uint64_t findings_base_ns(const struct findings *findings, const struct finding *finding)
{
    const struct process_survey *process = survey_process_at(findings->survey, finding->process);
    return finding->base_ns ? finding->base_ns : process->end_ns - process->start_ns - process->paused_ns;
}

static bool is_worthwhile(const struct findings *findings, const struct finding *finding)
{
    return !finding_is_of_time(finding->kind) ||
           (finding->saving_ns >= SAVING_NS_MIN &&
            (double)finding->saving_ns >= SAVING_SHARE_MIN * (double)findings_base_ns(findings, finding));
}

/* A place in the program of a tally, with the number of its matches. */
struct tally_place {
    uint32_t tally, place;
    uint64_t count;
};

static int compare_places(const void *a, const void *b)
{
    const struct tally_place *x = a, *y = b;
    if (x->tally != y->tally)
        return x->tally < y->tally ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Returns the places of all tallies, sorted by tally. Several stacks can have one place. The caller frees the
 * list. */
static struct tally_place *find_places(const struct stat *stat, const struct tallies *tallies, size_t *count)
{
    size_t origins = tallies->origin_numbers.count, kept = 0;
    struct tally_place *list = xcalloc(origins + 1, sizeof *list);
    for (size_t i = 0; i < origins; i++) {
        const struct tally_origin *origin = &tallies->origins[i];
        struct code_stack stack = code_book_stack(stat->code, stat, origin->origin);
        if (!stack.label)
            list[kept++] = (struct tally_place){origin->tally, stack.place, origin->count};
    }
    if (kept > 1)
        qsort(list, kept, sizeof *list, compare_places);
    *count = 0;
    for (size_t i = 0; i < kept; i++) {
        if (*count && compare_places(&list[*count - 1], &list[i]) == 0)
            list[*count - 1].count += list[i].count;
        else
            list[(*count)++] = list[i];
    }
    return list;
}

/* Adds the place that most of the matches come from, if any is known. The tally's places are at the start of
 * `places`. */
static void name_place(const struct stat *stat, const struct tally_place *places, size_t count,
                       uint32_t tally, struct finding *finding)
{
    const struct tally_place *most = NULL;
    uint64_t known = 0, all = finding->count;
    for (size_t i = 0; i < count && places[i].tally == tally; i++) {
        known += places[i].count;
        if (!most || places[i].count > most->count)
            most = &places[i];
    }
    if (!most)
        return;
    const struct code_frame *frame = code_book_frame(stat->code, most->place);
    finding->code = code_frame_place(frame);
    char *with =
        known < all ? xasprintf("of %llu with a call stack, ", (unsigned long long)known) : xstrdup("");
    char *evidence =
        xasprintf("%s; %s%llu at %s%s%s%s", finding->evidence, with, (unsigned long long)most->count,
                  finding->code, *frame->name ? " (" : "", frame->name, *frame->name ? ")" : "");
    free(finding->evidence);
    free(with);
    finding->evidence = evidence;
}

void findings_offer(struct findings *findings, enum finding_kind kind, struct tallies *tallies,
                    uint64_t count_min, evidence_fn *evidence, const void *context)
{
    const struct survey *survey = findings->survey;
    size_t place_count;
    struct tally_place *places = find_places(survey->stat, tallies, &place_count);
    size_t place = 0;
    for (size_t i = 0; i < tallies->count; i++) {
        while (place < place_count && places[place].tally < i)
            place++;
        const struct tally *tally = &tallies->items[i];
        if (tally->count < count_min)
            continue;
        struct finding finding = {.kind = kind,
                                  .process = tally->process,
                                  .where = trace_string(survey->stat->trace, tally->first.name),
                                  .count = tally->count,
                                  .saving_ns = tally->saving_ns,
                                  .first_ns = tally->first.start_ns};
        finding.evidence = evidence(survey, tally, &finding, context);
        if (!finding.evidence || !is_worthwhile(findings, &finding)) {
            free(finding.evidence);
            continue;
        }
        name_place(survey->stat, places + place, place_count - place, (uint32_t)i, &finding);
        findings->items =
            xgrow(findings->items, &findings->capacity, findings->count + 1, sizeof *findings->items);
        findings->items[findings->count++] = finding;
    }
    free(places);
    tallies_deinit(tallies);
}
