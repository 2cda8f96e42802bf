#include "agent/core/outputs/log_output.h"

#include "agent/encode/log_encoder.h"
#include "base/buffers/chunk.h"
#include "base/files.h"
#include "base/log/log.h"
#include "model/metrics/metrics.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define CHUNKS        4 /* of 64 KiB: records that wait or are being sent */
#define QUEUE_REPORTS 16

enum { MAIN, BESIDE_SPOOL };

static struct {
    pthread_mutex_t lock;
    const struct settings *settings; /* NULL: closed */
    bool has_started, is_file;
    char module_path[600];
    char path[4200]; /* of the file beside the spool */
    struct chunk_pool *pool;
    struct exporter *exporters[LOG_EXPORTERS_MAX];
    struct log_encoder encoders[LOG_EXPORTERS_MAX];
} logs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_json(const struct exporter_settings *exporter)
{
    return !exporter_is_otlp(exporter) ||
           (exporter->kind == EXPORTER_OTLP_HTTP && exporter->encoding == ENCODING_JSON);
}

void log_output_open(const struct settings *settings, const char *module_path)
{
    if (!settings->hang.is_watched || !settings->hang.has_output)
        return;
    const struct exporter_settings *exporter = &settings->hang.output.exporter;
    pthread_mutex_lock(&logs.lock);
    logs.settings = settings;
    logs.has_started = false;
    logs.is_file = !exporter_is_otlp(exporter);
    snprintf(logs.module_path, sizeof logs.module_path, "%s", module_path);
    for (int i = 0; i < LOG_EXPORTERS_MAX; i++)
        log_encoder_init(&logs.encoders[i], i == BESIDE_SPOOL || is_json(exporter), NULL, METER_NAME,
                         CUSPAN_VERSION);
    pthread_mutex_unlock(&logs.lock);
}

void log_output_set_resource(const struct resource *resource)
{
    pthread_mutex_lock(&logs.lock);
    for (int i = 0; logs.settings && i < LOG_EXPORTERS_MAX; i++)
        log_encoder_set_resource(&logs.encoders[i], resource);
    pthread_mutex_unlock(&logs.lock);
}

static enum status start_beside_spool(const struct output_environment *environment)
{
    const char *folder = logs.settings->spool.directory;
    if (!folder || logs.is_file)
        return STATUS_OK;
    snprintf(logs.path, sizeof logs.path, "%s/hang-%d-%08x.jsonl", folder, (int)getpid(), files_random());
    struct output_settings file = {.signal = SIGNAL_LOGS,
                                   .queue_spans_max = QUEUE_REPORTS,
                                   .exporter = {.kind = EXPORTER_FILE, .endpoint = logs.path}};
    return exporter_create(&file, environment, &logs.exporters[BESIDE_SPOOL]);
}

/* With the lock held. An exporter that cannot be started stays NULL, and its records are counted as lost. */
static void start(void)
{
    const struct output_environment environment = {.module_path = logs.module_path, .output = LOGS_OUTPUT};
    logs.has_started = true;
    enum status status = chunk_pool_create(CHUNKS, &logs.pool);
    if (status == STATUS_OK)
        status = exporter_create(&logs.settings->hang.output, &environment, &logs.exporters[MAIN]);
    if (status == STATUS_OK)
        status = start_beside_spool(&environment);
    if (status != STATUS_OK)
        log_warn("cannot start the output for reports of hangs (%s); they are lost", status_text(status));
    for (int i = 0; i < LOG_EXPORTERS_MAX; i++)
        logs.encoders[i].pool = logs.pool;
}

static void send(int number, const struct log_record *record)
{
    counter_add(COUNTER_hang_reports_made, 1);
    struct batch *batch = logs.exporters[number] ? log_encoder_make(&logs.encoders[number], record) : NULL;
    if (batch)
        exporter_submit(logs.exporters[number], batch);
    else
        counter_output_lost(LOGS_OUTPUT, COUNTER_lost_queue_full, 1);
}

bool log_output_send(const struct log_record *brief, const struct log_record *full)
{
    pthread_mutex_lock(&logs.lock);
    bool is_open = logs.settings != NULL;
    if (is_open && !logs.has_started)
        start();
    if (is_open)
        send(MAIN, logs.is_file ? full : brief);
    if (is_open && !logs.is_file && logs.settings->spool.directory)
        send(BESIDE_SPOOL, full);
    pthread_mutex_unlock(&logs.lock);
    return is_open;
}

void log_output_close(struct exporter *exporters[LOG_EXPORTERS_MAX])
{
    pthread_mutex_lock(&logs.lock);
    for (int i = 0; i < LOG_EXPORTERS_MAX; i++) {
        exporters[i] = logs.exporters[i];
        logs.exporters[i] = NULL;
    }
    logs.settings = NULL;
    pthread_mutex_unlock(&logs.lock);
}

void log_output_free(void)
{
    chunk_pool_destroy(logs.pool);
    logs.pool = NULL;
}
