/* Live states, reports and JSON of ranks from writers that are not trusted, up to the printed verdict. An
 * input is JSON, or after a zero byte the parts of live states of several ranks. */
#include "analysis/hang/hang_analyze.h"
#include "analysis/hang/hang_read.h"

#include "fuzz.h"

#define RANKS 4

static void add_states(struct hang_model *model, const uint8_t *data, size_t size)
{
    static _Alignas(64) uint8_t memory[LIVE_STATE_BYTES];
    static struct live_view view;
    struct error err;
    for (int32_t rank = 0; rank < RANKS; rank++) {
        memset(memory, 0, sizeof memory);
        live_state_begin(memory, &(struct live_identity){rank, 1, rank, RANKS});
        live_state_forget();
        /* The same for all ranks, except what the input changes: a place and a byte. */
        for (size_t i = 0; i + 4 <= size; i += 4) {
            size_t at = LIVE_COMMUNICATORS_AT + ((size_t)data[i] << 8 | data[i + 1]) % 4096;
            if (data[i + 2] % 8 < 4 || data[i + 2] % RANKS == rank)
                memory[at] = data[i + 3];
        }
        require(live_view_of(memory, memory, sizeof memory, &view, &err) == STATUS_OK,
                "a live state is refused");
        view.has_look = true;
        view.watch = LIVE_STALLED;
        hang_add_live(model, "host", &view);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hang_model model = {0};
    struct hang_verdict verdict;
    struct error err;
    size_t count;
    static FILE *out;
    if (!out)
        out = fopen("/dev/null", "w");
    char *text = malloc(size + 1);
    require(text && out, "out of memory");
    memcpy(text, data, size);
    text[size] = 0;
    if (size && !*data)
        add_states(&model, data + 1, size - 1);
    else if (hang_read_json(&model, text, size, &err) != STATUS_OK)
        require(*err.text, "an error without a text");
    hang_drop_repeated(&model);
    struct hang_model *jobs = hang_split(&model, &count);
    for (size_t i = 0; i < count; i++) {
        struct json_writer json = JSON_WRITER(out);
        hang_analyze(&jobs[i], &verdict);
        require(verdict.kind < HANG_KIND_COUNT && (verdict.kind != HANG_NOTHING || !verdict.is_sure),
                "a wrong verdict");
        hang_print(out, &jobs[i], &verdict, &(struct hang_style){80, i % 2});
        hang_write(&json, &jobs[i], &verdict);
        hang_write_ranks(&json, &jobs[i]);
        hang_verdict_deinit(&verdict);
        hang_deinit(&jobs[i]);
    }
    free(jobs);
    hang_deinit(&model);
    free(text);
    return 0;
}
