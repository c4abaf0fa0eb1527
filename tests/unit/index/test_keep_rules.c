/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "index/keep_rules.h"

/* Makes "oldest,path:a,newest,path:b c" with other forms for two sources. */
static void make(struct keep_rules *rules)
{
	static const char *const forms[] = {"/a", "b c", "a", "/*"};

	*rules = (struct keep_rules){0};
	assert_int_equal(bytes_append_text(&rules->text, "oldest,path:a,newest,path:b c"), 0);
	assert_int_equal(keep_rules_add(rules, KEEP_OLDEST, NULL), 0);
	assert_int_equal(keep_rules_add(rules, KEEP_PATH, "a"), 0);
	assert_int_equal(keep_rules_add(rules, KEEP_NEWEST, NULL), 0);
	assert_int_equal(keep_rules_add(rules, KEEP_PATH, "b c"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		assert_int_equal(text_list_add(&rules->source_globs, forms[i], strlen(forms[i])),
				 0);
}

static void test_each_source_has_its_own_form_of_a_glob(void **state)
{
	CLEANUP_KEEP_RULES struct keep_rules rules;

	(void)state;
	make(&rules);
	assert_string_equal(keep_rules_glob(&rules, &rules.list[1], 0), "/a");
	assert_string_equal(keep_rules_glob(&rules, &rules.list[3], 0), "b c");
	assert_string_equal(keep_rules_glob(&rules, &rules.list[1], 1), "a");
	assert_string_equal(keep_rules_glob(&rules, &rules.list[3], 1), "/*");
	text_list_free(&rules.source_globs);
	assert_string_equal(keep_rules_glob(&rules, &rules.list[3], 7), "b c");
}

static void test_decoded_rules_are_those_that_were_encoded(void **state)
{
	CLEANUP_KEEP_RULES struct keep_rules rules, decoded = {0};
	CLEANUP_BYTES struct bytes encoded = {0}, again = {0};

	(void)state;
	make(&rules);
	assert_int_equal(keep_rules_encode(&rules, &encoded), 0);
	assert_int_equal(keep_rules_decode(&decoded, &encoded), 0);
	assert_int_equal(decoded.count, 4);
	for (size_t i = 0; i < decoded.count; i++)
		assert_int_equal(decoded.list[i].by, rules.list[i].by);
	assert_string_equal(bytes_text(&decoded.text), bytes_text(&rules.text));
	assert_string_equal(keep_rules_glob(&decoded, &decoded.list[3], 1), "/*");
	assert_int_equal(keep_rules_encode(&decoded, &again), 0);
	assert_int_equal(bytes_compare(&encoded, &again), 0);
}

/* Decodes a copy, so that a sanitizer detects reads behind its end. */
static int decode(const struct bytes *encoded, size_t length)
{
	CLEANUP_KEEP_RULES struct keep_rules decoded = {0};
	CLEANUP_BYTES struct bytes part = {0};

	assert_int_equal(bytes_reserve(&part, length), 0);
	assert_int_equal(bytes_append(&part, encoded->data, length), 0);
	return keep_rules_decode(&decoded, &part);
}

static void test_damaged_rules_are_refused(void **state)
{
	CLEANUP_KEEP_RULES struct keep_rules rules;
	CLEANUP_BYTES struct bytes encoded = {0};
	size_t without_forms;

	(void)state;
	make(&rules);
	assert_int_equal(keep_rules_encode(&rules, &encoded), 0);
	without_forms = encoded.length - strlen("/a b c a /*") - 1;
	for (size_t length = 0; length < encoded.length; length++) {
		/* the forms can be missing, for all sources or for the second one */
		if (length != without_forms && length != without_forms + strlen("/a b c") + 1)
			assert_int_equal(decode(&encoded, length), -EUCLEAN);
	}
	for (size_t i = 0; i < 5; i++) {
		encoded.data[i] ^= 0xff;
		assert_int_equal(decode(&encoded, encoded.length), -EUCLEAN);
		encoded.data[i] ^= 0xff;
	}
	assert_int_equal(decode(&encoded, encoded.length), 0);
}

static void test_rules_that_use_paths_are_known(void **state)
{
	static const bool expected[KEEP_BY_COUNT] = {
		[KEEP_SHORTEST_PATH] = true,
		[KEEP_LONGEST_PATH] = true,
		[KEEP_PATH] = true,
	};

	(void)state;
	for (int by = 0; by < KEEP_BY_COUNT; by++) {
		CLEANUP_KEEP_RULES struct keep_rules rules = {0};

		assert_false(keep_rules_use_paths(&rules));
		assert_int_equal(keep_rules_add(&rules, KEEP_OLDEST, NULL), 0);
		assert_int_equal(keep_rules_add(&rules, (enum keep_by)by,
						by == KEEP_PATH ? "a" : NULL),
				 0);
		assert_int_equal(keep_rules_use_paths(&rules), expected[by]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_source_has_its_own_form_of_a_glob),
		cmocka_unit_test(test_decoded_rules_are_those_that_were_encoded),
		cmocka_unit_test(test_damaged_rules_are_refused),
		cmocka_unit_test(test_rules_that_use_paths_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
