#include "agent/capture/sleep/mode.h"

_Atomic uint8_t mode_now;
_Atomic uint64_t mode_on_since;

void mode_set_on_since(uint64_t since)
{
    atomic_store(&mode_on_since, since);
}

void mode_on(void)
{
    atomic_store(&mode_now, MODE_ON);
}

uint8_t mode_off(void)
{
    return atomic_exchange(&mode_now, MODE_OFF);
}

static void change(uint8_t from, uint8_t to)
{
    atomic_compare_exchange_strong(&mode_now, &from, to);
}

void mode_wake(uint64_t since)
{
    atomic_store_explicit(&mode_on_since, since, memory_order_relaxed);
    change(MODE_ASLEEP, MODE_ON);
}

void mode_sleep(void)
{
    change(MODE_ON, MODE_ASLEEP);
    change(MODE_ENDING, MODE_ASLEEP);
}

void mode_end(void)
{
    change(MODE_ON, MODE_ENDING);
}

void mode_resume(void)
{
    change(MODE_ENDING, MODE_ON);
}

bool mode_is_ending(void)
{
    return atomic_load(&mode_now) == MODE_ENDING;
}
