#include "agent/capture/nvtx/nvtx.h"

#include "agent/capture/context/context.h"
#include "agent/capture/context/range.h"
#include "agent/capture/context/steps.h"
#include "agent/abi/nvtx_abi.h"
#include "agent/capture/nvtx/nvtx_names.h"
#include "agent/capture/nvtx/nvtx_payload.h"
#include "base/text/utf8.h"
#include "model/span.h"
#include "model/semconv.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OBJECT_BITS 3 /* bits of enum named_object in a name's key */

/* NVTX's signatures pass domains and strings as handles. */
typedef const struct nvtx_name *domain_handle;
typedef const struct nvtx_event_attributes *event_attributes;

static atomic_bool is_switched_off;
static atomic_bool has_begun;
static _Atomic uint32_t nccl_domain; /* the number of NCCL's domain; 0: not registered */

struct text {
    const char *s;
    uint32_t bytes;
};

static bool is_off(void)
{
    return atomic_load_explicit(&is_switched_off, memory_order_relaxed);
}

static struct text text_of(const char *s)
{
    return (struct text){s ? s : "", s ? (uint32_t)strnlen(s, RANGE_TEXT_BYTES) : 0};
}

/* Converts a wide text to UTF-8: the longest prefix of whole characters that fits. */
static struct text text_of_wide(const wchar_t *wide, char to[RANGE_TEXT_BYTES])
{
    uint32_t bytes = 0;
    while (wide && *wide && bytes <= RANGE_TEXT_BYTES - 4)
        bytes += utf8_put((uint8_t *)to + bytes, (uint32_t)*wide++);
    return (struct text){to, bytes};
}

/* `wide` must outlive the returned text. */
static struct text text_of_message(int32_t type, union nvtx_message message, char wide[RANGE_TEXT_BYTES])
{
    const struct nvtx_name *registered;
    switch (type) {
    case NVTX_MESSAGE_ASCII:
        return text_of(message.ascii);
    case NVTX_MESSAGE_WIDE:
        return text_of_wide(message.unicode, wide);
    case NVTX_MESSAGE_HANDLE:
        registered = nvtx_names_of_handle(NVTX_NAME_STRING, message.registered);
        return registered ? (struct text){registered->text, registered->bytes} : text_of(NULL);
    default:
        return text_of(NULL);
    }
}

/* A range or mark in the form that range.h takes. */
struct event {
    struct range_text text;
    struct range_attr attrs[3 + NVTX_PAYLOAD_ATTRS_MAX + NCCL_CALL_ATTRS_MAX];
    char wide[RANGE_TEXT_BYTES];
    char category[NVTX_NUMBER_BYTES];
    char number[NVTX_NUMBER_BYTES];
    struct nvtx_payload payload;
    struct live_start live; /* only of NCCL's */
};

static struct range_attr *add_attr(struct event *event, const char *key, uint32_t key_bytes,
                                   enum attr_type type)
{
    struct range_attr *attr = &event->attrs[event->text.attr_count++];
    attr->key = key;
    attr->key_bytes = key_bytes;
    attr->type = (uint8_t)type;
    attr->bytes = 0;
    return attr;
}
#define ADD_ATTR(event, key, type) add_attr(event, key, sizeof(key) - 1, type)

static void set_decimal(struct range_attr *attr, char to[NVTX_NUMBER_BYTES], uint64_t value)
{
    attr->type = ATTR_STRING;
    attr->s = nvtx_payload_decimal(to, value);
    attr->bytes = (uint32_t)(to + NVTX_NUMBER_BYTES - attr->s);
}

static uint32_t number_of(domain_handle domain)
{
    if (!domain)
        return NVTX_DOMAIN_DEFAULT;
    domain = nvtx_names_of_handle(NVTX_NAME_DOMAIN, domain);
    return domain ? domain->number : NVTX_DOMAIN_BEYOND;
}

static uint64_t category_key(uint32_t domain, uint32_t category)
{
    return (uint64_t)domain << 32 | category;
}

static void begin_event(struct event *event, domain_handle domain)
{
    event->text.name = NULL;
    event->text.name_bytes = 0;
    event->text.domain = number_of(domain);
    event->text.attr_count = event->text.attrs_dropped = 0;
    event->text.attrs = event->attrs;
    if (event->text.domain < NVTX_DOMAIN_FIRST || domain->bytes == 0)
        return;
    struct range_attr *attr = ADD_ATTR(event, SEMCONV_NVTX_DOMAIN, ATTR_STRING);
    attr->s = domain->text;
    attr->bytes = domain->bytes;
}

/* Sets the event's name, or "unnamed", because a span needs a name. */
static void set_name(struct event *event, struct text name)
{
    static const char unnamed[] = "unnamed";
    event->text.name = name.bytes ? name.s : unnamed;
    event->text.name_bytes = name.bytes ? name.bytes : sizeof unnamed - 1;
}

static void add_category(struct event *event, uint32_t category)
{
    const struct nvtx_name *name =
        nvtx_names_get(NVTX_NAME_CATEGORY, category_key(event->text.domain, category));
    struct range_attr *attr = ADD_ATTR(event, SEMCONV_NVTX_CATEGORY, ATTR_STRING);
    if (!name) {
        set_decimal(attr, event->category, category);
        return;
    }
    attr->s = name->text;
    attr->bytes = name->bytes;
}

/* Adds the values of structured payloads. Returns the payload's message for the event, if any. */
static struct text add_structured(struct event *event, const struct nvtx_payload_data *data, size_t count)
{
    struct nvtx_payload *payload = &event->payload;
    nvtx_payload_read(payload, event->text.domain, data, count);
    for (uint32_t i = 0; i < payload->attr_count; i++)
        event->attrs[event->text.attr_count++] = payload->attrs[i];
    event->text.attrs_dropped = payload->left_out;
    return (struct text){payload->message, payload->message_bytes};
}

static void add_payload(struct event *event, event_attributes given)
{
    if (given->payloadType < NVTX_PAYLOAD_U64 || given->payloadType > NVTX_PAYLOAD_F32)
        return;
    struct range_attr *attr = ADD_ATTR(event, SEMCONV_NVTX_PAYLOAD, ATTR_INT);
    switch (given->payloadType) {
    case NVTX_PAYLOAD_U64:
        attr->i = given->payload.llValue;
        if (given->payload.ullValue > INT64_MAX) /* as OpenTelemetry represents values above its integers */
            set_decimal(attr, event->number, given->payload.ullValue);
        break;
    case NVTX_PAYLOAD_I64:
        attr->i = given->payload.llValue;
        break;
    case NVTX_PAYLOAD_U32:
        attr->i = given->payload.uiValue;
        break;
    case NVTX_PAYLOAD_I32:
        attr->i = given->payload.iValue;
        break;
    case NVTX_PAYLOAD_F64:
        attr->type = ATTR_DOUBLE;
        attr->d = given->payload.dValue;
        break;
    default:
        attr->type = ATTR_DOUBLE;
        attr->d = (double)given->payload.fValue;
        break;
    }
}

/* Whether the program's struct is long enough to contain this member. */
#define HAS(given, member)                                                                                   \
    ((given)->size >= offsetof(struct nvtx_event_attributes, member) + sizeof((given)->member))

/* The structured payloads of an event. */
struct payloads {
    const struct nvtx_payload_data *data;
    size_t count;
};

static struct payloads payloads_of(event_attributes given)
{
    bool has_some =
        given && HAS(given, payload) && given->payloadType == NVTX_PAYLOAD_EXT && given->reserved0 > 0;
    if (!has_some)
        return (struct payloads){NULL, 0};
    return (struct payloads){
        (const void *)(uintptr_t)given->payload.ullValue, // NOLINT(performance-no-int-to-ptr)
        (size_t)given->reserved0};
}

static bool is_nccl_domain(uint32_t number)
{
    return number == atomic_load_explicit(&nccl_domain, memory_order_relaxed);
}

static bool is_nccl(const struct event *event)
{
    return is_nccl_domain(event->text.domain);
}

/* Counts collectives of NCCL, whether captured or not. Takes about 50 ns with the lookups. With a live state,
 * both ends of the range take 100 ns more (tests/bench/programs/nvtx_bench.c). */
static void note_nccl(struct event *event, const struct nvtx_payload_data *data, size_t count)
{
    struct nccl_values values;
    nvtx_payload_read_nccl(&values, event->text.domain, data, count);
    nccl_note_values(&values);
    event->text.attr_count += nccl_note_call(event->text.name, event->text.name_bytes, &values,
                                             &event->attrs[event->text.attr_count], &event->live);
}

/* Reads an event that is not captured, without the texts that only a captured one needs. */
static void read_uncaptured(struct event *event, domain_handle domain, event_attributes given)
{
    struct text name = {NULL, 0};
    struct payloads payloads = payloads_of(given);
    event->text = (struct range_text){.domain = number_of(domain), .attrs = event->attrs};
    if ((is_nccl(event) || steps_need_names()) && given && HAS(given, message))
        name = text_of_message(given->messageType, given->message, event->wide);
    set_name(event, name);
    if (is_nccl(event))
        note_nccl(event, payloads.data, payloads.count);
}

static void read_event(struct event *event, domain_handle domain, event_attributes given)
{
    struct text name = {NULL, 0};
    struct payloads payloads = payloads_of(given);
    if (!range_is_captured()) {
        read_uncaptured(event, domain, given);
        return;
    }
    begin_event(event, domain);
    if (given && HAS(given, category) && given->category)
        add_category(event, given->category);
    if (given && HAS(given, payload))
        add_payload(event, given);
    if (given && HAS(given, message))
        name = text_of_message(given->messageType, given->message, event->wide);
    if (payloads.count > 0) {
        struct text message = add_structured(event, payloads.data, payloads.count);
        name = message.bytes ? message : name;
    }
    set_name(event, name);
    if (is_nccl(event))
        note_nccl(event, payloads.data, payloads.count);
}

static void read_payload(struct event *event, domain_handle domain, const struct nvtx_payload_data *data,
                         size_t count)
{
    begin_event(event, domain);
    set_name(event, add_structured(event, data, count));
}

/* Opens a range and returns its depth, from 0; NVTX_NOT_TRACKED: it was not opened. */
static int push(const struct event *event)
{
    steps_begin_from_nvtx(event->text.name, event->text.name_bytes);
    uint32_t depth = range_depth(event->text.domain);
    bool nests = range_push(&event->text) != 0 || range_depth(event->text.domain) > depth;
    return nests ? (int)depth : NVTX_NOT_TRACKED;
}

static int pop(uint32_t domain, const struct range_end *end)
{
    uint32_t depth = range_depth(domain);
    range_pop(domain, end);
    return depth > 0 ? (int)depth - 1 : NVTX_NOT_TRACKED;
}

/* The attributes of an event that has only a message. */
#define ONLY_MESSAGE(type, member, text)                                                                     \
    &(struct nvtx_event_attributes)                                                                          \
    {                                                                                                        \
        .size = sizeof(struct nvtx_event_attributes), .messageType = type, .message.member = (text)          \
    }
#define ASCII(text) ONLY_MESSAGE(NVTX_MESSAGE_ASCII, ascii, text)
#define WIDE(text)  ONLY_MESSAGE(NVTX_MESSAGE_WIDE, unicode, text)

static void on_DomainMarkEx(domain_handle domain, event_attributes given)
{
    struct event event;
    if (is_off())
        return;
    read_event(&event, domain, given);
    range_mark(&event.text);
}

static uint64_t on_DomainRangeStartEx(domain_handle domain, event_attributes given)
{
    struct event event;
    if (is_off())
        return 0;
    read_event(&event, domain, given);
    return range_start(&event.text);
}

/* Ends a range, also after NVTX was disabled. */
static void on_RangeEnd(uint64_t id)
{
    range_end(id, NULL);
}

static void on_DomainRangeEnd(domain_handle domain, uint64_t id)
{
    range_end(id, NULL);
}

static int on_DomainRangePushEx(domain_handle domain, event_attributes given)
{
    struct event event;
    if (is_off())
        return NVTX_NOT_TRACKED;
    read_event(&event, domain, given);
    if (live_state_is_on() && is_nccl(&event))
        live_begin_call(&event.live);
    return push(&event);
}

/* The functions without a domain, for attributes or only a message. */
#define WITHOUT_DOMAIN(type, call)                                                                           \
    static type on_##call##Ex(event_attributes given)                                                        \
    {                                                                                                        \
        return on_Domain##call##Ex(NULL, given);                                                             \
    }                                                                                                        \
    static type on_##call##A(const char *message)                                                            \
    {                                                                                                        \
        return on_Domain##call##Ex(NULL, ASCII(message));                                                    \
    }                                                                                                        \
    static type on_##call##W(const wchar_t *message)                                                         \
    {                                                                                                        \
        return on_Domain##call##Ex(NULL, WIDE(message));                                                     \
    }
WITHOUT_DOMAIN(void, Mark)
WITHOUT_DOMAIN(uint64_t, RangeStart)
WITHOUT_DOMAIN(int, RangePush)

static int on_DomainRangePop(domain_handle domain)
{
    if (is_off())
        return NVTX_NOT_TRACKED;
    uint32_t number = number_of(domain);
    if (live_state_is_on() && is_nccl_domain(number))
        live_return_from_call();
    return pop(number, NULL);
}

static int on_RangePop(void)
{
    return on_DomainRangePop(NULL);
}

static uint64_t on_PayloadSchemaRegister(domain_handle domain, const struct nvtx_schema_attributes *schema)
{
    return nvtx_payload_register_schema(number_of(domain), schema);
}

static uint64_t on_PayloadEnumRegister(domain_handle domain, const struct nvtx_enum_attributes *given)
{
    return nvtx_payload_register_enum(number_of(domain), given);
}

static void on_MarkPayload(domain_handle domain, const struct nvtx_payload_data *data, size_t count)
{
    struct event event;
    if (is_off())
        return;
    read_payload(&event, domain, data, count);
    range_mark(&event.text);
}

static int on_RangePushPayload(domain_handle domain, const struct nvtx_payload_data *data, size_t count)
{
    struct event event;
    if (is_off())
        return NVTX_NOT_TRACKED;
    read_payload(&event, domain, data, count);
    if (live_state_is_on() && is_nccl(&event))
        live_begin_call(&(struct live_start){.name = event.text.name, .name_bytes = event.text.name_bytes});
    return push(&event);
}

/* Adds the payload given at the end to that of the start. */
static struct range_end end_of(struct nvtx_payload *payload, domain_handle domain,
                               const struct nvtx_payload_data *data, size_t count)
{
    nvtx_payload_read(payload, number_of(domain), data, count);
    return (struct range_end){
        .attrs = payload->attrs, .attr_count = payload->attr_count, .attrs_dropped = payload->left_out};
}

static int on_RangePopPayload(domain_handle domain, const struct nvtx_payload_data *data, size_t count)
{
    struct nvtx_payload payload;
    if (is_off())
        return NVTX_NOT_TRACKED;
    struct range_end end = end_of(&payload, domain, data, count);
    if (is_nccl_domain(number_of(domain))) {
        struct nccl_values values; /* of the communicator that the range has initialized */
        nvtx_payload_read_nccl(&values, number_of(domain), data, count);
        nccl_note_values(&values);
        live_return_from_call();
    }
    return pop(number_of(domain), &end);
}

static uint64_t on_RangeStartPayload(domain_handle domain, const struct nvtx_payload_data *data, size_t count)
{
    struct event event;
    if (is_off())
        return 0;
    read_payload(&event, domain, data, count);
    return range_start(&event.text);
}

static void on_RangeEndPayload(domain_handle domain, uint64_t id, const struct nvtx_payload_data *data,
                               size_t count)
{
    struct nvtx_payload payload;
    struct range_end end = end_of(&payload, domain, data, count);
    range_end(id, &end);
}

static const struct nvtx_name *create_domain(struct text text)
{
    const struct nvtx_name *domain = nvtx_names_register(NVTX_NAME_DOMAIN, text.s, text.bytes);
    if (text.bytes == strlen(NCCL_DOMAIN) && memcmp(text.s, NCCL_DOMAIN, text.bytes) == 0 &&
        domain->number >= NVTX_DOMAIN_FIRST)
        atomic_store_explicit(&nccl_domain, domain->number, memory_order_relaxed);
    return domain;
}

static const struct nvtx_name *on_DomainCreateA(const char *name)
{
    return create_domain(text_of(name));
}

static const struct nvtx_name *on_DomainCreateW(const wchar_t *name)
{
    char wide[RANGE_TEXT_BYTES];
    return create_domain(text_of_wide(name, wide));
}

/* Does nothing: ranges on other threads may refer to the domain's name, and creating the domain again returns
 * the same entry. */
static void on_DomainDestroy(domain_handle domain) {}

/* Defines the functions of a call for both types of text, which become `text` for the action. */
#define TEXTS(type, call, parameter, action)                                                                 \
    static type on_##call##A(parameter, const char *given)                                                   \
    {                                                                                                        \
        struct text text = text_of(given);                                                                   \
        action;                                                                                              \
    }                                                                                                        \
    static type on_##call##W(parameter, const wchar_t *given)                                                \
    {                                                                                                        \
        char wide[RANGE_TEXT_BYTES];                                                                         \
        struct text text = text_of_wide(given, wide);                                                        \
        action;                                                                                              \
    }

TEXTS(const struct nvtx_name *, DomainRegisterString, domain_handle domain,
      return nvtx_names_register(NVTX_NAME_STRING, text.s, text.bytes))

static void name_category(domain_handle domain, uint32_t category, struct text name)
{
    if (name.bytes)
        nvtx_names_set(NVTX_NAME_CATEGORY, category_key(number_of(domain), category), name.s, name.bytes);
}

static void on_DomainNameCategoryA(domain_handle domain, uint32_t category, const char *name)
{
    name_category(domain, category, text_of(name));
}

static void on_DomainNameCategoryW(domain_handle domain, uint32_t category, const wchar_t *name)
{
    char wide[RANGE_TEXT_BYTES];
    name_category(domain, category, text_of_wide(name, wide));
}

TEXTS(void, NameCategory, uint32_t category, name_category(NULL, category, text))

static void on_Initialize(const void *reserved) {}

/* Threads and devices may be named before CUDA is initialized; the names are stored until capture starts. */
static void name_object(enum named_object object, uint64_t handle, struct text name)
{
    bool is_early = object == NAMED_THREAD || object == NAMED_DEVICE;
    if (is_off() || !name.bytes)
        return;
    if (is_early && !atomic_load(&has_begun))
        nvtx_names_set(NVTX_NAME_OBJECT, handle << OBJECT_BITS | object, name.s, name.bytes);
    if (atomic_load(&has_begun))
        context_name_object(object, handle, name.s, name.bytes);
}

static void tell(const struct nvtx_name *name)
{
    context_name_object((enum named_object)(name->key & ((1u << OBJECT_BITS) - 1)), name->key >> OBJECT_BITS,
                        name->text, name->bytes);
}

void nvtx_begin(void)
{
    atomic_store(&has_begun, true);
    nvtx_names_visit(NVTX_NAME_OBJECT, tell);
}

TEXTS(void, NameOsThread, uint32_t handle, name_object(NAMED_THREAD, handle, text))
TEXTS(void, NameCuDevice, uint32_t ordinal, name_object(NAMED_DEVICE, ordinal, text)) /* like the runtime's */
TEXTS(void, NameCuContext, uintptr_t handle, name_object(NAMED_CONTEXT, handle, text))
TEXTS(void, NameCuStream, uintptr_t handle, name_object(NAMED_STREAM, handle, text))
TEXTS(void, NameCuEvent, uintptr_t handle, name_object(NAMED_EVENT, handle, text))
TEXTS(void, NameCudaDevice, uint32_t ordinal, name_object(NAMED_DEVICE, ordinal, text))
TEXTS(void, NameCudaStream, uintptr_t handle, name_object(NAMED_STREAM, handle, text))
TEXTS(void, NameCudaEvent, uintptr_t handle, name_object(NAMED_EVENT, handle, text))

/* Names a resource. A pthread's kernel ID is known only for the calling thread. */
static void name_resource(const struct nvtx_resource_attributes *given, struct text name)
{
    uint64_t handle = given->identifier.ullValue;
    switch (given->identifierType) {
    case NVTX_RESOURCE_THREAD:
        name_object(NAMED_THREAD, handle, name);
        break;
    case NVTX_RESOURCE_PTHREAD:
        if (pthread_equal((pthread_t)handle, pthread_self()))
            name_object(NAMED_THREAD, (uint64_t)syscall(SYS_gettid), name);
        break;
    case NVTX_RESOURCE_CU_DEVICE:
    case NVTX_RESOURCE_CUDA_DEVICE:
        name_object(NAMED_DEVICE, (uint32_t)handle, name);
        break;
    case NVTX_RESOURCE_CU_CONTEXT:
        name_object(NAMED_CONTEXT, handle, name);
        break;
    case NVTX_RESOURCE_CU_STREAM:
    case NVTX_RESOURCE_CUDA_STREAM:
        name_object(NAMED_STREAM, handle, name);
        break;
    case NVTX_RESOURCE_CU_EVENT:
    case NVTX_RESOURCE_CUDA_EVENT:
        name_object(NAMED_EVENT, handle, name);
        break;
    default:
        break;
    }
}

/* Names a resource and returns its handle. The program can only destroy it, so all resources share one. */
static const void *on_DomainResourceCreate(domain_handle domain, const struct nvtx_resource_attributes *given)
{
    static const char resource;
    char wide[RANGE_TEXT_BYTES];
    if (given && given->size >= sizeof *given)
        name_resource(given, text_of_message(given->messageType, given->message, wide));
    return &resource;
}

static void on_DomainResourceDestroy(const void *resource) {}

#define ENTRY(name) [NVTX_CALL_##name] = (nvtx_function *)on_##name,
static nvtx_function *const core[] = {NVTX_CORE_CALLS(ENTRY)};
static nvtx_function *const core2[] = {NVTX_CORE2_CALLS(ENTRY)};
static nvtx_function *const cuda[] = {NVTX_CUDA_CALLS(ENTRY)};
static nvtx_function *const cudart[] = {NVTX_CUDART_CALLS(ENTRY)};
#undef ENTRY

/* Installs our functions in a module's table. A table shorter than ours, from an older NVTX, gets the
 * functions that fit. */
static bool fill(const struct nvtx_callbacks_table *callbacks, enum nvtx_module module,
                 nvtx_function *const ours[], unsigned int count)
{
    nvtx_function ***table = NULL;
    unsigned int size = 0;
    if (!callbacks->GetModuleFunctionTable(module, &table, &size) || !table)
        return false;
    for (unsigned int i = 1; i < size && i < count; i++)
        if (table[i])
            *table[i] = ours[i];
    return true;
}
#define FILL(callbacks, module, ours) fill(callbacks, module, ours, sizeof(ours) / sizeof *(ours))

bool nvtx_attach(const void *(*export_table)(uint32_t id))
{
    const struct nvtx_callbacks_table *callbacks = export_table ? export_table(NVTX_TABLE_CALLBACKS) : NULL;
    if (is_off() || !callbacks || callbacks->struct_size < sizeof *callbacks ||
        !callbacks->GetModuleFunctionTable || !FILL(callbacks, NVTX_MODULE_CORE, core))
        return false;
    FILL(callbacks, NVTX_MODULE_CORE2, core2);
    FILL(callbacks, NVTX_MODULE_CUDA, cuda);
    FILL(callbacks, NVTX_MODULE_CUDART, cudart);
    const struct nvtx_version_table *version = export_table(NVTX_TABLE_VERSION_INFO);
    if (version && version->struct_size >= sizeof *version && version->SetInjectionNvtxVersion)
        version->SetInjectionNvtxVersion(NVTX_ABI_VERSION);
    return true;
}

bool nvtx_attach_extension(const struct nvtx_ext_module *module)
{
#define SLOT(name) [NVTX_SLOT_##name] = (nvtx_function *)on_##name,
    static nvtx_function *const ours[] = {NVTX_PAYLOAD_CALLS(SLOT)};
#undef SLOT
    if (is_off() || !module || module->structSize < sizeof *module || !module->segments ||
        module->moduleId != NVTX_EXT_MODULE_PAYLOAD || module->segmentsCount == 0)
        return false;
    for (size_t i = 0; i < module->segments->slotCount && i < NVTX_PAYLOAD_SLOTS; i++)
        module->segments->functionSlots[i] = (intptr_t)ours[i];
    return true;
}

void nvtx_switch(bool is_wanted)
{
    atomic_store(&is_switched_off, !is_wanted);
}
