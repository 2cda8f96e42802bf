#include "agent/export/otlp/transport.h"

#include "base/process/variables.h"
#include "agent/export/otlp/grpc.h"

#include <dlfcn.h>

static char *copy(const char *text, bool *has_memory)
{
    char *made = text ? strdup(text) : NULL;
    *has_memory &= made || !text;
    return made;
}

enum status transport_options_init(struct transport_options *options,
                                   const struct exporter_settings *exporter, enum signal signal)
{
    bool is_grpc = exporter->kind == EXPORTER_OTLP_GRPC, has_memory = true;
    const char *path = signal == SIGNAL_METRICS ? GRPC_METRICS_PATH
                       : signal == SIGNAL_LOGS  ? GRPC_LOGS_PATH
                                                : GRPC_TRACES_PATH;
    *options = (struct transport_options){
        .url = is_grpc ? grpc_url(exporter->endpoint, exporter->insecure, path) : strdup(exporter->endpoint),
        .ca_file = copy(exporter->ca_file, &has_memory),
        .client_certificate_file = copy(exporter->client_certificate_file, &has_memory),
        .client_key_file = copy(exporter->client_key_file, &has_memory),
        .verify = exporter->verify,
        .http2 = is_grpc,
    };
    if (options->url && has_memory)
        return STATUS_OK;
    transport_options_free(options);
    return STATUS_NO_MEMORY;
}

enum status transport_load(const char *path, const struct transport **transport, struct error *err)
{
    /* LOCAL, so that the host does not bind to the module's symbols. Not DEEPBIND, which would bypass the
     * host's malloc. */
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        const char *reason = dlerror();
        return error_set(err, STATUS_NOT_FOUND,
                         "cannot load %s (%s); spans are lost; reinstall cuspan, or put the file next to "
                         "libcuspan.so",
                         path, reason ? reason : "unknown reason");
    }
    const struct transport *(*get)(const char *(*variable)(const char *name));
    *(void **)&get = dlsym(module, TRANSPORT_SYMBOL);
    const struct transport *found = get ? get(variables_get) : NULL;
    if (!found || found->version != TRANSPORT_VERSION)
        return error_set(
            err, STATUS_UNSUPPORTED,
            "cannot use %s (its version differs from libcuspan.so); spans are lost; reinstall cuspan", path);
    *transport = found;
    return STATUS_OK;
}
