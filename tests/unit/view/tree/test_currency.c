/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "unit_test.h"
#include "view/tree/view.h"

/* Waits until the clock of the events has moved. */
static void pass_time(void)
{
	uint64_t began_ns = clock_monotonic_ns();

	while (clock_monotonic_ns() == began_ns)
		;
}

static void test_event_has_an_age_until_it_is_applied(void **state)
{
	struct currency currency = {0};

	(void)state;
	assert_int_equal(currency_lag_ns(&currency), 0);
	currency_note_event(&currency);
	pass_time();
	assert_true(currency_lag_ns(&currency) > 0);
	currency_take_events(&currency);
	assert_true(currency_lag_ns(&currency) > 0);
	currency_note_applied(&currency);
	assert_int_equal(currency_lag_ns(&currency), 0);
}

static void test_age_is_that_of_the_oldest_event(void **state)
{
	struct currency currency = {0};
	uint64_t first_ns;

	(void)state;
	currency_note_event(&currency);
	currency_take_events(&currency); /* and cannot be applied */
	pass_time();
	currency_note_event(&currency);
	first_ns = currency.taken_ns;
	assert_true(currency.arrived_ns > first_ns);
	currency_take_events(&currency);
	assert_int_equal(currency.taken_ns, first_ns);
}

static void test_event_that_arrives_while_others_are_applied_keeps_its_age(void **state)
{
	struct currency currency = {0};

	(void)state;
	currency_note_event(&currency);
	currency_take_events(&currency);
	currency_note_event(&currency);
	currency_note_applied(&currency);
	pass_time();
	assert_true(currency_lag_ns(&currency) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_has_an_age_until_it_is_applied),
		cmocka_unit_test(test_age_is_that_of_the_oldest_event),
		cmocka_unit_test(test_event_that_arrives_while_others_are_applied_keeps_its_age),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
