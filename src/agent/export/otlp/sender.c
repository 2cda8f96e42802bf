#include "agent/export/otlp/sender.h"

#include "base/clock.h"
#include "base/accounting/invariant.h"
#include "base/log/log.h"
#include "base/text/sanitize.h"
#include "agent/export/delivery/last_error.h"
#include "agent/export/otlp/grpc.h"
#include "agent/export/otlp/headers.h"
#include "agent/export/otlp/retry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* An intermittent collector does not repeat a warning more often than this. */
#define WARN_AGAIN_NS (60 * NS_PER_SECOND)

/* Each is logged once. Those before PROBLEM_REJECTED are logged again if they recur after a success. */
enum problem {
    PROBLEM_UNREACHABLE,
    PROBLEM_BUSY,
    PROBLEM_REFUSED,
    PROBLEM_GAVE_UP,
    PROBLEM_REJECTED,
    PROBLEM_ODD_RESPONSE,
    PROBLEM_COUNT
};

struct sender {
    struct output output;
    struct delivery_control *control;
    const struct transport *transport; /* NULL: the module could not be loaded, which was logged */
    _Atomic(struct connection *) connection;
    struct packer packer;
    struct headers headers;

    struct retry retry;
    uint64_t not_before_ns; /* earliest time of the next request, also for the next batch */
    bool server_asked;      /* for this pause, which is longer than ours would be */
    bool hurried;           /* a stop request has already shortened one pause */

    bool warned[PROBLEM_COUNT];
    uint64_t warned_at_ns[PROBLEM_COUNT];

    /* Constant. */
    bool grpc;
    const char *what;           /* "spans", "metrics", "profiles" or "reports of hangs" */
    const char *parts;          /* what a request counts: "spans", "data points", "samples" or "reports" */
    unsigned number;            /* of the output */
    uint64_t timeout_ns;        /* of a request; 0: none */
    uint64_t export_timeout_ns; /* of a batch; 0: none */
    char kept[64];              /* what is kept for retries, for log lines */
    char *module_path;
    struct transport_options options; /* until the connection is created */
    char name[256];                   /* the URL without credentials */
};

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool should_warn(struct sender *sender, enum problem problem)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t warned_at_ns = sender->warned_at_ns[problem];
    if (sender->warned[problem] || (warned_at_ns && now_ns - warned_at_ns < WARN_AGAIN_NS))
        return false;
    sender->warned[problem] = true;
    sender->warned_at_ns[problem] = now_ns;
    return true;
}

static void note_success(struct sender *sender)
{
    bool had_warned = false;
    for (enum problem problem = 0; problem < PROBLEM_REJECTED; problem++) {
        had_warned |= sender->warned[problem];
        sender->warned[problem] = false;
    }
    if (had_warned)
        log_info("delivery to %s works again", sender->name);
}

/* The server's message as ": MESSAGE", without secrets and control characters; "" if there is none. */
static void sanitize_message(struct sender *sender, const char *message, char *to, size_t size)
{
    memcpy(to, ": ", 2);
    if (!*headers_sanitize(&sender->headers, to + 2, size - 2, message))
        *to = '\0';
}

static void send_request(struct sender *sender, const struct request_body *body, uint64_t give_up_at_ns,
                         struct transport_response *response)
{
    uint8_t prefix[GRPC_PREFIX_BYTES];
    uint64_t bytes = 0;
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t deadline_ns = earlier(give_up_at_ns, delivery_control_stop_at_ns(sender->control));
    if (sender->timeout_ns)
        deadline_ns = earlier(deadline_ns, now_ns + sender->timeout_ns);
    const struct request_kind kind = {
        .grpc = sender->grpc,
        .json = body->format == BATCH_JSON,
        .encoding = body->encoding,
        .timeout_ns = deadline_ns != NEVER_NS && deadline_ns > now_ns ? deadline_ns - now_ns : 0,
    };
    for (size_t i = 1; i <= body->part_count; i++)
        bytes += body->parts[i].iov_len;
    grpc_prefix(prefix, body->encoding != NULL, (uint32_t)bytes);
    body->parts[0] = (struct iovec){.iov_base = prefix, .iov_len = sizeof prefix};
    const struct transport_request request = {
        .headers = headers_for(&sender->headers, &kind),
        .parts = sender->grpc ? body->parts : body->parts + 1,
        .part_count = body->part_count + sender->grpc,
        .bytes = bytes + (sender->grpc ? sizeof prefix : 0),
        .deadline_ns = deadline_ns,
        .aborted = &sender->control->aborted,
    };
    sender->transport->connection_send(sender->connection, &request, response);
    /* The text may contain data from the server, such as fields of its certificate. */
    char error[sizeof response->error];
    memcpy(response->error, headers_sanitize(&sender->headers, error, sizeof error, response->error),
           sizeof error);
}

static void judge(struct sender *sender, const struct request_body *body,
                  const struct transport_response *response, struct verdict *verdict)
{
    *verdict = (struct verdict){.kind = VERDICT_REFUSED};
    switch (response->result) {
    case TRANSPORT_ANSWERED:
        if (sender->grpc)
            verdict_grpc(response, body->encoding, verdict);
        else
            verdict_http(sender->transport, response, body->encoding, verdict);
        break;
    case TRANSPORT_UNREACHABLE:
    case TRANSPORT_ABORTED:
        verdict->kind = VERDICT_RETRY;
        break;
    case TRANSPORT_IMPOSSIBLE:
    case TRANSPORT_TOO_LARGE:
        snprintf(verdict->message, sizeof verdict->message, "%s", response->error);
        break;
    }
}

/* For the attributes of the duration metric, which describe the last request. */
static void note_response(const struct sender *sender, const struct transport_response *response,
                          const struct verdict *verdict, struct delivery *delivery)
{
    static const char *const failures[] = {[TRANSPORT_ANSWERED] = "unreachable", /* no gRPC status */
                                           [TRANSPORT_UNREACHABLE] = "unreachable",
                                           [TRANSPORT_ABORTED] = "deadline",
                                           [TRANSPORT_IMPOSSIBLE] = "refused",
                                           [TRANSPORT_TOO_LARGE] = "refused"};
    bool has_answer = response->result == TRANSPORT_ANSWERED;
    delivery->http_status = has_answer && !sender->grpc ? (int)response->http_status : 0;
    if (verdict->kind == VERDICT_ACCEPTED)
        snprintf(delivery->error, sizeof delivery->error, "%s", verdict->rejected_spans ? "rejected" : "");
    else if (has_answer && verdict->code)
        snprintf(delivery->error, sizeof delivery->error, "%s", verdict->code);
    else if (has_answer && (!sender->grpc || response->http_status != 200))
        snprintf(delivery->error, sizeof delivery->error, "%ld", response->http_status);
    else
        snprintf(delivery->error, sizeof delivery->error, "%s", failures[response->result]);
}

/* The server accepted the request, but its response is unusual. */
static void warn_odd_response(struct sender *sender, const struct transport_response *response,
                              const struct verdict *verdict, const char *message)
{
    char type[sizeof response->content_type];
    if ((!*message && !response->broken_off && !verdict->unreadable) ||
        !should_warn(sender, PROBLEM_ODD_RESPONSE))
        return;
    sanitize_line(type, sizeof type, response->content_type, strlen(response->content_type));
    if (response->broken_off)
        log_warn("%s accepted the %s, but its response is incomplete: %s", sender->name, sender->what,
                 response->error);
    else if (verdict->unreadable)
        log_warn("%s accepted the %s, but its response (%s) is not an OTLP response; if they do not appear, "
                 "check the endpoint",
                 sender->name, sender->what, *type ? type : "no content type");
    else
        log_warn("%s accepted the %s with a warning%s", sender->name, sender->what, message);
}

static void accept_batch(struct sender *sender, uint32_t spans, const struct transport_response *response,
                         const struct verdict *verdict, struct delivery *delivery)
{
    char message[300];
    uint32_t rejected = verdict->rejected_spans < spans ? (uint32_t)verdict->rejected_spans : spans;
    sanitize_message(sender, verdict->message, message, sizeof message);
    note_success(sender);
    retry_reset(&sender->retry);
    sender->not_before_ns = 0;
    sender->server_asked = false;
    if (rejected && sender->number == PROFILES_OUTPUT)
        rejected = spans; /* it counts profiles, and the request has samples of one or two */
    if (rejected && should_warn(sender, PROBLEM_REJECTED))
        log_warn("%s rejected %u of %u %s%s", sender->name, rejected, spans, sender->parts, message);
    else if (!rejected)
        warn_odd_response(sender, response, verdict, message);
    delivery->accepted = true;
    delivery->delivered = spans - rejected;
    delivery_lose(delivery, rejected, COUNTER_lost_rejected);
}

static void refuse_batch(struct sender *sender, uint32_t spans, const struct verdict *verdict,
                         struct delivery *delivery)
{
    char message[300];
    const char *hint = verdict->hint;
    if (sender->number == LOGS_OUTPUT && (delivery->http_status == 404 || sender->grpc))
        hint = "the server takes no logs (Jaeger does not); set distribution.cuspan.hang.endpoint to one "
               "that does, "
               "or hang.watch to off";
    sanitize_message(sender, verdict->message, message, sizeof message);
    last_error_note(sender->number, "refused: %s%s", verdict->status, message);
    if (should_warn(sender, PROBLEM_REFUSED))
        log_warn("%s refuses %s, which are lost%s%s%s%s%s", sender->name, sender->what,
                 *verdict->status ? ": " : "", verdict->status, message, hint ? "; " : "", hint ? hint : "");
    delivery_lose(delivery, spans, COUNTER_lost_refused);
}

static void schedule_retry(struct sender *sender, const struct transport_response *response,
                           const struct verdict *verdict, uint64_t give_up_at_ns)
{
    char message[300];
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t stop_at_ns = delivery_control_stop_at_ns(sender->control);
    bool is_over = delivery_control_aborted(sender->control) || now_ns >= stop_at_ns;
    if (response->result == TRANSPORT_ANSWERED) {
        sanitize_message(sender, verdict->message, message, sizeof message);
        last_error_note(sender->number, "not ready: %s%s", verdict->status, message);
        if (!is_over && should_warn(sender, PROBLEM_BUSY))
            log_warn("%s is not ready: %s%s; cuspan keeps %s and retries", sender->name, verdict->status,
                     message, sender->kept);
    } else {
        last_error_note(sender->number, "cannot deliver: %s", response->error);
        /* The last request of a batch may get too little time for an answer. If the server was not ready
         * before, that is no other problem. */
        bool is_cut_off = now_ns >= give_up_at_ns && sender->warned[PROBLEM_BUSY];
        if (stop_at_ns != NEVER_NS)
            last_error_note_at_exit("cannot deliver to %s: %s", sender->name, response->error);
        else if (!is_cut_off && should_warn(sender, PROBLEM_UNREACHABLE))
            log_warn("cannot deliver to %s: %s; cuspan keeps %s and retries", sender->name, response->error,
                     sender->kept);
    }
    sender->not_before_ns = now_ns + retry_pause_ns(&sender->retry, verdict->delay_ns, &sender->server_asked);
}

enum turn { TURN_NOW, TURN_ABORTED, TURN_EXPIRED };

static enum turn wait_for_turn(struct sender *sender, uint64_t give_up_at_ns)
{
    for (;;) {
        uint64_t now_ns = clock_monotonic_ns();
        uint64_t stop_at_ns = delivery_control_stop_at_ns(sender->control);
        if (stop_at_ns != NEVER_NS && !sender->hurried && !sender->server_asked) {
            /* The process is exiting: try at once, then with short pauses. */
            sender->hurried = true;
            sender->not_before_ns = now_ns;
            retry_reset(&sender->retry);
        }
        if (delivery_control_aborted(sender->control) || now_ns >= stop_at_ns ||
            (stop_at_ns != NEVER_NS && sender->not_before_ns >= stop_at_ns))
            return TURN_ABORTED;
        if (now_ns >= give_up_at_ns)
            return TURN_EXPIRED;
        if (now_ns >= sender->not_before_ns)
            return TURN_NOW;
        delivery_control_sleep(sender->control, earlier(sender->not_before_ns, give_up_at_ns), stop_at_ns);
    }
}

static void give_up(struct sender *sender, const struct request_body *body, enum turn turn,
                    struct delivery *delivery)
{
    delivery_lose(delivery, body->spans,
                  turn == TURN_ABORTED ? COUNTER_lost_deadline : COUNTER_lost_unreachable);
    bool is_reported_at_exit = last_error_at_exit() != NULL;
    if (turn == TURN_EXPIRED && !body->is_kept && !is_reported_at_exit &&
        should_warn(sender, PROBLEM_GAVE_UP))
        log_warn("%s for %s are lost: no request was accepted for %u ms (%s); check that the collector is "
                 "running",
                 sender->what, sender->name, (unsigned)(sender->export_timeout_ns / NS_PER_MS),
                 sender->number == METRICS_OUTPUT ? "timeout" : "export_timeout");
}

/* One request. False: retry. */
static bool try_once(struct sender *sender, const struct request_body *body, uint64_t give_up_at_ns,
                     struct delivery *delivery)
{
    struct transport_response response;
    struct verdict verdict;
    send_request(sender, body, give_up_at_ns, &response);
    delivery->resent += response.repeated;
    delivery->bytes_sent += response.bytes_sent;
    judge(sender, body, &response, &verdict);
    note_response(sender, &response, &verdict, delivery);
    if (verdict.kind == VERDICT_RETRY)
        schedule_retry(sender, &response, &verdict, give_up_at_ns);
    else if (verdict.kind == VERDICT_ACCEPTED)
        accept_batch(sender, body->spans, &response, &verdict, delivery);
    else
        refuse_batch(sender, body->spans, &verdict, delivery);
    return verdict.kind != VERDICT_RETRY;
}

void sender_deliver_body(struct output *output, const struct request_body *body, bool for_ever,
                         struct delivery *delivery)
{
    struct sender *sender = (struct sender *)output;
    uint64_t give_up_at_ns = NEVER_NS;
    if (!for_ever && sender->export_timeout_ns)
        give_up_at_ns = clock_monotonic_ns() + sender->export_timeout_ns;
    if (!sender->connection || (sender->grpc && body->format == BATCH_JSON)) {
        delivery_lose(delivery, body->spans, COUNTER_lost_unreachable);
        return;
    }
    enum turn turn = wait_for_turn(sender, give_up_at_ns);
    for (; turn == TURN_NOW; turn = wait_for_turn(sender, give_up_at_ns)) {
        if (delivery->began_ns)
            delivery->resent++;
        else
            delivery->began_ns = clock_monotonic_ns();
        if (try_once(sender, body, give_up_at_ns, delivery))
            return;
        if (body->is_kept && delivery_control_stop_at_ns(sender->control) != NEVER_NS) {
            turn = TURN_ABORTED; /* exit does not wait for it */
            break;
        }
    }
    give_up(sender, body, turn, delivery);
}

bool sender_ask(struct output *output, const struct request_body *body, struct transport_response *response,
                struct verdict *verdict)
{
    struct sender *sender = (struct sender *)output;
    char message[sizeof verdict->message];
    if (!sender->connection)
        return false;
    send_request(sender, body, NEVER_NS, response);
    judge(sender, body, response, verdict);
    headers_sanitize(&sender->headers, message, sizeof message, verdict->message);
    memcpy(verdict->message, message, sizeof message);
    return true;
}

static void sender_deliver(struct output *output, struct batch *batch, struct delivery *delivery)
{
    struct sender *sender = (struct sender *)output;
    struct request_body body;
    if (sender->connection && packer_pack(&sender->packer, batch, &body))
        sender_deliver_body(output, &body, false, delivery);
    else
        delivery_lose(delivery, batch->spans, COUNTER_lost_unreachable);
}

static void sender_open(struct output *output)
{
    struct sender *sender = (struct sender *)output;
    struct error err;
    if (transport_load(sender->module_path, &sender->transport, &err) != STATUS_OK) {
        log_error("%s", err.text);
        return;
    }
    struct connection *connection = NULL;
    if (sender->transport->connection_create(&sender->options, &connection) != STATUS_OK)
        log_error("cannot connect to %s (out of memory); its %s are lost", sender->name, sender->what);
    sender->connection = connection;
}

static void sender_wake(struct output *output)
{
    struct sender *sender = (struct sender *)output;
    struct connection *connection = sender->connection;
    if (connection)
        sender->transport->connection_wake(connection);
}

static void sender_destroy(struct output *output)
{
    struct sender *sender = (struct sender *)output;
    if (sender->connection)
        sender->transport->connection_destroy(sender->connection);
    packer_deinit(&sender->packer);
    headers_deinit(&sender->headers);
    transport_options_free(&sender->options);
    free(sender->module_path);
    free(sender);
}

static enum status copy_settings(struct sender *sender, const struct output_settings *settings,
                                 const struct output_environment *environment)
{
    const struct exporter_settings *wanted = &settings->exporter;
    sender->grpc = wanted->kind == EXPORTER_OTLP_GRPC;
    sender->timeout_ns = wanted->timeout_ms * NS_PER_MS;
    sender->export_timeout_ns = settings->export_timeout_ms * NS_PER_MS;
    static const char *const signals[] = {"spans", "metrics", "profiles", "reports of hangs"};
    static const char *const parts[] = {"spans", "data points", "samples", "reports"};
    sender->what = signals[settings->signal];
    sender->parts = parts[settings->signal];
    if (settings->signal != SIGNAL_TRACES)
        snprintf(sender->kept, sizeof sender->kept, "%s", sender->what);
    else if (settings->spool_directory)
        snprintf(sender->kept, sizeof sender->kept, "up to %llu MiB of spans",
                 (unsigned long long)(settings->spool_bytes_max >> 20));
    else if (settings->queue_spans_max)
        snprintf(sender->kept, sizeof sender->kept, "up to %u spans", settings->queue_spans_max);
    else
        snprintf(sender->kept, sizeof sender->kept, "the spans"); /* `cuspan send`: they are on disk */
    sanitize_url(sender->name, sizeof sender->name, wanted->endpoint);
    if (environment->module_path && !(sender->module_path = strdup(environment->module_path)))
        return STATUS_NO_MEMORY;
    enum status status = transport_options_init(&sender->options, wanted, settings->signal);
    if (status == STATUS_OK)
        status = packer_init(&sender->packer, wanted->compression);
    if (status != STATUS_OK)
        return status;
    return headers_init(&sender->headers, wanted, environment->user_agent_prefix);
}

enum status sender_create(const struct output_settings *settings,
                          const struct output_environment *environment, struct delivery_control *control,
                          struct output **output)
{
    struct sender *sender = calloc(1, sizeof *sender);
    if (!sender)
        return STATUS_NO_MEMORY;
    sender->output = (struct output){
        .open = sender_open, .deliver = sender_deliver, .wake = sender_wake, .destroy = sender_destroy};
    sender->control = control;
    sender->number = environment->output;
    retry_init(&sender->retry, environment->retry_initial_ms,
               clock_read_ns(CLOCK_REALTIME) ^ (uint64_t)getpid() << 40 ^ (uint64_t)(uintptr_t)sender);
    enum status status = copy_settings(sender, settings, environment);
    if (status != STATUS_OK) {
        sender_destroy(&sender->output);
        return status;
    }
    *output = &sender->output;
    return STATUS_OK;
}
