#include "agent/capture/context/lasting_states.h"

#include "base/hash.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MIN 64 /* first size of a kept text; it grows by factors of two, and old memory stays */

static struct {
    pthread_mutex_t lock;
    uint32_t used, next; /* next: the entry to replace, the oldest */
    struct {
        char *text;
        uint32_t bytes, hash;
    } kept[LASTING_STATES_MAX];
} states = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *find(const char *text, uint32_t hash)
{
    for (uint32_t i = 0; i < states.used; i++)
        if (states.kept[i].hash == hash && strcmp(states.kept[i].text, text) == 0)
            return states.kept[i].text;
    return NULL;
}

static const char *add(const char *text, uint32_t hash)
{
    uint32_t at = states.next % LASTING_STATES_MAX;
    uint32_t length = (uint32_t)strlen(text), bytes = states.kept[at].bytes;
    if (length >= bytes) {
        for (bytes = bytes ? bytes : BYTES_MIN; length >= bytes;)
            bytes *= 2;
        char *made = calloc(1, bytes);
        if (!made)
            return NULL;
        states.kept[at].text = made;
        states.kept[at].bytes = bytes;
    }
    states.next++;
    states.used += states.used < LASTING_STATES_MAX;
    states.kept[at].hash = hash;
    return strncpy(states.kept[at].text, text, bytes - 1);
}

const char *lasting_states_keep(const char *text)
{
    uint32_t hash = (uint32_t)(hash_text(HASH_START, text) >> 16);
    pthread_mutex_lock(&states.lock);
    const char *kept = find(text, hash);
    if (!kept)
        kept = add(text, hash);
    pthread_mutex_unlock(&states.lock);
    return kept;
}

void lasting_states_forked(void)
{
    states.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
