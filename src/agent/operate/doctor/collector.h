/* The connection to the server of one output, probed when a check first needs it. */
#pragma once

#include "agent/operate/doctor/doctor.h"
#include "agent/operate/doctor/reach.h"

struct collector {
    const struct exporter_settings *exporter;
    char url[512]; /* sanitized */
    char host[256], port[8];
    bool is_tls, is_grpc;
    const char *proxy_variable; /* the variable that applies to this host; NULL: none */
    char proxy[256];            /* sanitized */
    struct reach reach;         /* the server itself, without the proxy */
    bool has_answer;            /* the probe in the child process completed; else failure */
    struct doctor_answer answer;
    char failure[64];
};

/* The next network output from *index on, or NULL. Advances *index. */
const struct collector *collector_next(struct doctor *doctor, size_t *index);

/* Splits a URL or host:port; false without a host. `port` defaults to the scheme's. */
bool collector_split(const char *endpoint, bool has_tls_by_default, struct collector *collector);
/* Whether a no_proxy list contains the host. */
bool collector_is_exempt(const char *no_proxy, const char *host);
