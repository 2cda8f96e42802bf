#include "capture/mode.h"

_Atomic uint8_t mode_now;
_Atomic uint64_t mode_on_since;

void mode_wake(uint64_t since)
{
    uint8_t asleep = MODE_ASLEEP;
    atomic_store_explicit(&mode_on_since, since, memory_order_relaxed);
    atomic_compare_exchange_strong(&mode_now, &asleep, MODE_ON);
}

void mode_sleep(void)
{
    uint8_t on = MODE_ON;
    atomic_compare_exchange_strong(&mode_now, &on, MODE_ASLEEP);
}
