/* What lies between here and the server of one output. Each is looked at once, when a check first asks. */
#ifndef CUSPAN_CLI_DOCTOR_COLLECTOR_H
#define CUSPAN_CLI_DOCTOR_COLLECTOR_H

#include "cli/doctor/doctor.h"
#include "cli/doctor/reach.h"

struct collector {
    const struct exporter_settings *exporter;
    char url[512]; /* as it may be shown */
    char host[256], port[8];
    bool is_tls, is_grpc;
    const char *proxy_variable; /* the one that holds for this host; NULL: none */
    char proxy[256];            /* as it may be shown */
    struct reach reach;         /* the server itself, whatever the proxy */
    bool has_answer;            /* it was asked, and the child came back; else `how` */
    struct doctor_answer answer;
    char how[64];
};

/* The next output from *index on that goes over the network; NULL: no more. *index is the one after it. */
const struct collector *collector_next(struct doctor *doctor, size_t *index);

/* Splits a URL or host:port; false where there is no host. `port`: the scheme's where none is given. */
bool collector_split(const char *endpoint, bool has_tls_by_default, struct collector *collector);
/* Whether a list as no_proxy is has the host. */
bool collector_is_exempt(const char *no_proxy, const char *host);

#endif
