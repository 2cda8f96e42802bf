#include "agent/replay/play/replay_modules.h"

#include "agent/abi/cupti_abi.h"
#include "agent/replay/state/faults.h"
#include "agent/replay/state/replay_state.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define MODULES_MAX   1024
#define LAUNCHES_KEPT 65536
#define PAGE_BYTES    4096

struct module {
    uint32_t launch; /* its correlation ID; 0: none */
    bool is_over;    /* the call of the launch has returned, so that the program may unload the module */
    /* Pages, so that reading them later is an error or finds another name: the driver's, and CUPTI's. */
    char *symbol, *name;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct module modules[LAUNCHES_KEPT]; /* by launch */
static uint32_t loaded[MODULES_MAX];         /* launches, the oldest first */
static unsigned loaded_count;

static char *make_name(uint32_t launch)
{
    char *name = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (name == MAP_FAILED)
        return NULL;
    snprintf(name, PAGE_BYTES, "jit_kernel_%u", launch);
    return name;
}

static struct module *module_of(uint32_t launch)
{
    struct module *module = &modules[launch % LAUNCHES_KEPT];
    return launch && module->launch == launch ? module : NULL;
}

static void unload_oldest_locked(void (*unload)(uint32_t module_id))
{
    for (unsigned i = 0; i < loaded_count; i++) {
        struct module *module = module_of(loaded[i]);
        if (module && !module->is_over)
            continue;
        memmove(&loaded[i], &loaded[i + 1], (--loaded_count - i) * sizeof *loaded);
        if (!module)
            return;
        unload(module->launch);
        munmap(module->symbol, PAGE_BYTES);
        if (replay.version < CUPTI_VERSION_KEEPS_NAMES)
            munmap(module->name, PAGE_BYTES);
        return;
    }
}

static const char *load_locked(uint32_t launch, void (*unload)(uint32_t module_id))
{
    if (loaded_count >= fault(FAULT_MODULES) || loaded_count == MODULES_MAX)
        unload_oldest_locked(unload);
    if (loaded_count < MODULES_MAX)
        loaded[loaded_count++] = launch;
    modules[launch % LAUNCHES_KEPT] =
        (struct module){.launch = launch, .symbol = make_name(launch), .name = make_name(launch)};
    return modules[launch % LAUNCHES_KEPT].symbol;
}

const char *replay_modules_symbol(const struct item *item, void (*unload)(uint32_t module_id))
{
    if (!item->symbol || !fault(FAULT_MODULES))
        return item->symbol;
    uint32_t launch = replay_correlation(item->call->correlation_id);
    pthread_mutex_lock(&lock);
    const struct module *known = module_of(launch);
    const char *symbol = known ? known->symbol : load_locked(launch, unload);
    pthread_mutex_unlock(&lock);
    return symbol;
}

void replay_modules_end(const struct item *item)
{
    if (!item->symbol || !fault(FAULT_MODULES) || item->type != ITEM_EXIT || item->depth)
        return;
    pthread_mutex_lock(&lock);
    struct module *module = module_of(replay_correlation(item->call->correlation_id));
    if (module)
        module->is_over = true;
    pthread_mutex_unlock(&lock);
}

const char *replay_modules_name(const struct activity_record *record)
{
    if (!record->name || !fault(FAULT_MODULES))
        return record->name;
    pthread_mutex_lock(&lock);
    const struct module *known = module_of(replay_correlation(record->correlation_id));
    const char *name = known ? known->name : record->name;
    pthread_mutex_unlock(&lock);
    return name;
}
