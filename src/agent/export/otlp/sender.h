/* The output for a collector, over OTLP/HTTP or OTLP/gRPC: compresses and sends batches, evaluates responses,
 * and retries. */
#pragma once

#include "agent/export/delivery/delivery_control.h"
#include "agent/export/delivery/output.h"
#include "agent/export/delivery/request_body.h"
#include "agent/export/otlp/verdict.h"
#include "model/settings/settings.h"

/* Copies what it needs of both. NO_MEMORY only. */
enum status sender_create(const struct output_settings *settings,
                          const struct output_environment *environment, struct delivery_control *control,
                          struct output **output) MUST_CHECK;

/* Like the output's deliver. With `for_ever`, ignores export_timeout and retries until the body is accepted
 * or refused, or the control stops it (reason lost_deadline). Reason lost_unreachable: this sender can never
 * send it. One thread at a time. */
void sender_deliver_body(struct output *output, const struct request_body *body, bool for_ever,
                         struct delivery *delivery);

/* One request whatever the answer is, with texts that may be shown. False: the output could not be opened. */
bool sender_ask(struct output *output, const struct request_body *body, struct transport_response *response,
                struct verdict *verdict);
