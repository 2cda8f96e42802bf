#include "cli/stat/findings/finding.h"

#include "cli/util/text.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>

struct tally *tallies_at(struct tallies *tallies, uint64_t key, uint32_t process,
                         const struct trace_span *span)
{
    size_t known = tallies->count;
    uint32_t number = stat_number(&tallies->numbers, int_map_mix(int_map_mix(key) + process));
    if (number == known) {
        tallies->items = xgrow(tallies->items, &tallies->capacity, known + 1, sizeof *tallies->items);
        tallies->items[tallies->count++] = (struct tally){.process = process, .first = *span};
    }
    return &tallies->items[number];
}

void tallies_deinit(struct tallies *tallies)
{
    free(tallies->items);
    int_map_deinit(&tallies->numbers);
    *tallies = (struct tallies){0};
}

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
    const struct process_survey *process = &findings->survey->processes[finding->process];
    return finding->base_ns ? finding->base_ns : process->end_ns - process->start_ns;
}

static bool is_worthwhile(const struct findings *findings, const struct finding *finding)
{
    return !finding_is_of_time(finding->kind) ||
           (finding->saving_ns >= SAVING_NS_MIN &&
            (double)finding->saving_ns >= SAVING_SHARE_MIN * (double)findings_base_ns(findings, finding));
}

void findings_offer(struct findings *findings, enum finding_kind kind, struct tallies *tallies,
                    uint64_t count_min, evidence_fn *evidence, const void *context)
{
    const struct survey *survey = findings->survey;
    for (size_t i = 0; i < tallies->count; i++) {
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
        findings->items =
            xgrow(findings->items, &findings->capacity, findings->count + 1, sizeof *findings->items);
        findings->items[findings->count++] = finding;
    }
    tallies_deinit(tallies);
}
