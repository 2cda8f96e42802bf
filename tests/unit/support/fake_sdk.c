/* An SDK that publishes its threads' contexts (OTEP 4947), as a library that is loaded late with RTLD_LOCAL.
 * */
#include <stdint.h>

struct record {
    uint8_t trace_id[16], span_id[8], valid, flags;
    uint16_t attrs_bytes;
};

__attribute__((visibility("default"))) __thread struct record *otel_thread_ctx_v1;

__attribute__((visibility("default"))) void fake_sdk_publish(struct record *record);

void fake_sdk_publish(struct record *record)
{
    otel_thread_ctx_v1 = record;
}
