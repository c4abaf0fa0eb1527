/* SPDX-License-Identifier: MIT */
#include "view/tree/currency.h"

#include <stdatomic.h>

#include "base/clock.h"

void currency_note_event(struct currency *currency)
{
	uint64_t none = 0;

	atomic_compare_exchange_strong(&currency->arrived_ns, &none, clock_monotonic_ns());
}

/* Sets taken_ns first, so that currency_lag_ns() finds the event in one of the fields. An event
 * that arrives in between is taken as well, and is younger. */
void currency_take_events(struct currency *currency)
{
	uint64_t arrived_ns = atomic_load(&currency->arrived_ns);

	if (arrived_ns && !atomic_load(&currency->taken_ns))
		atomic_store(&currency->taken_ns, arrived_ns);
	atomic_store(&currency->arrived_ns, 0);
}

void currency_note_applied(struct currency *currency)
{
	atomic_store(&currency->taken_ns, 0);
}

uint64_t currency_lag_ns(const struct currency *currency)
{
	uint64_t arrived_ns = atomic_load(&currency->arrived_ns);
	uint64_t taken_ns = atomic_load(&currency->taken_ns);
	uint64_t oldest_ns = taken_ns ? taken_ns : arrived_ns;
	uint64_t now_ns = clock_monotonic_ns();

	return oldest_ns && oldest_ns < now_ns ? now_ns - oldest_ns : 0;
}
