#include "agent/replay/play/replay_params.h"

#include "agent/abi/params.h"

#include <string.h>

static uint8_t *pointed_at(struct params *params, uint16_t offset)
{
    for (uint32_t i = 0; i < params->pointed_count; i++) {
        if (params->pointed[i].offset == offset)
            return params->pointed[i].bytes;
    }
    uint8_t *bytes = params->pointed[params->pointed_count].bytes;
    params->pointed[params->pointed_count++].offset = offset;
    memset(bytes, PARAMS_UNSET, PARAMS_POINTED_BYTES);
    memcpy(params->bytes + offset, &bytes, sizeof bytes);
    return bytes;
}

/* Address of the parameter's value; NULL if it does not fit. */
static uint8_t *place_of(struct params *params, const struct param_source *source)
{
    if (!(source->how & PARAM_DEREF))
        return source->offset + source->size <= PARAMS_STRUCT_BYTES ? params->bytes + source->offset : NULL;
    if (source->offset + sizeof(void *) > PARAMS_STRUCT_BYTES ||
        source->member + source->size > PARAMS_POINTED_BYTES)
        return NULL;
    return pointed_at(params, source->offset) + source->member;
}

static void put_text(struct params *params, uint8_t *place, const uint64_t *value)
{
    char *text = params->texts + params->text_bytes;
    memcpy(text, value + 1, value[0]);
    text[value[0]] = '\0';
    params->text_bytes += (uint32_t)value[0] + 1;
    memcpy(place, &text, sizeof text);
}

static void put_value(struct params *params, uint8_t *place, const struct param_source *source,
                      const uint64_t *value)
{
    if (source->how & PARAM_TEXT) {
        put_text(params, place, value);
    } else if (source->how & PARAM_REAL && source->size == 4) {
        double real;
        memcpy(&real, value, sizeof real);
        float single = (float)real;
        memcpy(place, &single, sizeof single);
    } else {
        memcpy(place, value, source->size); /* both supported machines are little-endian */
    }
}

/* The recorded call failed and set nothing, but its caller passed a pointer. */
static void put_unset(struct params *params, const struct param_source *source,
                      const struct call_record *call)
{
    if (source->how & PARAM_OUT && call->result != 0)
        (void)place_of(params, source);
}

void replay_params_build(struct params *params, const struct call_record *call, int is_exit)
{
    const struct call_info *info = call_info(call->head.domain, call->head.cbid);
    const uint64_t *value = call->values;
    memset(params->bytes, 0, sizeof params->bytes);
    params->pointed_count = 0;
    params->text_bytes = 0;
    for (unsigned i = 0; info && i < info->param_count && i < CALL_PARAMS_MAX; i++) {
        const struct param_source *source = &param_sources[info->param + i];
        if (!(call->present >> i & 1)) {
            put_unset(params, source, call);
            continue;
        }
        uint8_t *place = place_of(params, source);
        bool is_set = is_exit || !(source->how & PARAM_OUT);
        if (place && is_set)
            put_value(params, place, source, value);
        value += call_param_words(&call_params[info->param + i], value);
    }
}
