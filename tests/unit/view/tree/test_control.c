/* SPDX-License-Identifier: MIT */
#include <ctype.h>

#include <jansson.h>

#include "fixture.h"

static void add_file(struct fixture *fixture, const char *name, uint64_t size)
{
	struct attributes file = fixture_file(fixture, S_IFREG | 0644, size);

	fixture_add_file(fixture, root_of(fixture), name, &file);
}

/* Returns the content of a file, with a NUL. */
static const char *content_of(struct fixture *fixture, uint64_t node)
{
	static char text[16384];
	struct view_file file;
	long length;

	assert_int_equal(view_open(&fixture->call, node, &file), 0);
	length = view_read(&fixture->call, &file, text, sizeof(text) - 1, 0);
	assert_true(length >= 0);
	text[length] = '\0';
	view_close(&file);
	return text;
}

static void test_file_with_the_size_of_another_is_pending_until_compared(void **state)
{
	struct attributes pair[2];
	struct fixture fixture;
	const char *text;
	json_t *line;
	char expected[128];

	(void)state;
	fixture_open(&fixture, one_source);
	add_file(&fixture, "alone", 7);
	add_file(&fixture, "empty", 0);
	add_file(&fixture, "empty too", 0);
	assert_string_equal(content_of(&fixture, FIXED_PENDING), "");
	fixture_add_pair(&fixture, pair);
	text = content_of(&fixture, FIXED_PENDING);
	line = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
	(void)snprintf(expected, sizeof(expected), "%s/source/a", fixture.folder);
	assert_string_equal(json_string_value(json_object_get(line, "path")), expected);
	assert_int_equal(json_integer_value(json_object_get(line, "size")), 5);
	json_decref(line);
	assert_non_null(strstr(text, "source/b\""));
	(void)fixture_add_group(&fixture, (struct hash128){1, 2}, pair, 2);
	assert_string_equal(content_of(&fixture, FIXED_PENDING), "");
	add_file(&fixture, "c", 5);
	text = content_of(&fixture, FIXED_PENDING);
	assert_null(strstr(text, "source/b\""));
	assert_non_null(strstr(text, "source/c\""));
	fixture_close(&fixture);
}

/* A report that opens another report while it is made, until the open is refused. */
struct nested_reports {
	struct fixture *fixture;
	unsigned int depth;
	int refused;
};

static int make_report(void *context, const char *view_root, struct bytes *page,
		       const struct cancellation *cancellation)
{
	struct nested_reports *nested = context;
	struct view_file file;
	int r;

	(void)view_root;
	(void)cancellation;
	nested->depth++;
	r = view_open(&nested->fixture->call, FIXED_REPORT, &file);
	view_close(&file);
	if (r < 0)
		nested->refused = r;
	return bytes_append_text(page, "<p>page</p>");
}

static void set_report(struct fixture *fixture,
		       int (*report)(void *, const char *, struct bytes *,
				     const struct cancellation *),
		       void *context)
{
	const struct view_hooks hooks = {.report = report, .context = context};

	fixture->view.hooks = hooks;
}

static void test_report_beyond_the_limit_is_refused(void **state)
{
	struct fixture fixture;
	struct nested_reports nested = {.fixture = &fixture};

	(void)state;
	fixture_open(&fixture, one_source);
	set_report(&fixture, make_report, &nested);
	for (unsigned int i = 1; i <= 2; i++) {
		assert_memory_equal(content_of(&fixture, FIXED_REPORT), "<p>page</p>\n\n", 13);
		assert_int_equal(nested.depth, i * VIEW_REPORTS_MAX);
		assert_int_equal(nested.refused, -EBUSY);
	}
	fixture_close(&fixture);
}

static int make_long_report(void *context, const char *view_root, struct bytes *page,
			    const struct cancellation *cancellation)
{
	(void)view_root;
	(void)cancellation;
	(void)context;
	return bytes_reserve(page, VIEW_REPORT_BYTES + 1) == 0
		       ? (page->length = VIEW_REPORT_BYTES + 1, 0)
		       : -ENOMEM;
}

static int make_no_report(void *context, const char *view_root, struct bytes *page,
			  const struct cancellation *cancellation)
{
	(void)view_root;
	(void)cancellation;
	(void)context;
	(void)page;
	return -EINTR;
}

static void test_report_has_the_size_of_its_attributes_or_fails(void **state)
{
	struct nested_reports nested = {.depth = 0};
	struct fixture fixture;
	struct view_file file;
	struct stat attributes;

	(void)state;
	fixture_open(&fixture, one_source);
	nested.fixture = &fixture;
	set_report(&fixture, make_report, &nested);
	assert_int_equal(view_getattr(&fixture.call, FIXED_REPORT, &attributes), 0);
	assert_int_equal(view_open(&fixture.call, FIXED_REPORT, &file), 0);
	assert_int_equal(file.content.length, attributes.st_size);
	view_close(&file);
	set_report(&fixture, make_long_report, NULL);
	assert_int_equal(view_open(&fixture.call, FIXED_REPORT, &file), -EFBIG);
	set_report(&fixture, make_no_report, NULL);
	assert_int_equal(view_open(&fixture.call, FIXED_REPORT, &file), -EINTR);
	set_report(&fixture, NULL, NULL);
	assert_int_equal(view_open(&fixture.call, FIXED_REPORT, &file), -ENODATA);
	fixture_close(&fixture);
}

/* Checks a metric against https://prometheus.io/docs/instrumenting/exposition_formats/. Its HELP
 * and TYPE precede its values. Its name consists of [a-z_], and has _total if it is a counter. */
static void check_metric(char *help, char *type, char *value, char **rest)
{
	char name[64], kind[16], named[64];

	assert_int_equal(sscanf(help, "# HELP %63s %*s", name), 1);
	assert_int_equal(help[strlen(help) - 1], '.');
	assert_int_equal(sscanf(type, "# TYPE %63s %15s", named, kind), 2);
	assert_string_equal(name, named);
	assert_int_equal(strcmp(kind, "counter") == 0, strstr(name, "_total") != NULL);
	for (const char *at = name; *at; at++)
		assert_true(islower((unsigned char)*at) || *at == '_');
	while (value && strncmp(value, "# ", 2) != 0) {
		char *number = strrchr(value, ' ');

		assert_non_null(number);
		assert_int_equal(strncmp(value, name, strlen(name)), 0);
		assert_int_equal(number[1 + strspn(number + 1, "0123456789.")], '\0');
		value = *rest && **rest ? strsep(rest, "\n") : NULL;
	}
	if (!value)
		return;
	/* the line belongs to the next metric */
	(*rest)[-1] = '\n';
	*rest = value;
}

static void test_metrics_have_the_prometheus_format(void **state)
{
	struct fixture fixture;
	char *text, *rest;
	unsigned int count = 0;

	(void)state;
	fixture_open(&fixture, one_source);
	text = rest = strdup(content_of(&fixture, FIXED_METRICS));
	assert_non_null(text);
	assert_int_equal(text[strlen(text) - 1], '\n');
	while (*rest) {
		char *help = strsep(&rest, "\n"), *type = strsep(&rest, "\n");
		char *value = strsep(&rest, "\n");

		check_metric(help, type, value, &rest);
		count++;
	}
	assert_true(count >= 13);
	free(text);
	fixture_close(&fixture);
}

/* Returns whether a metric of the view has this value. */
static bool has_metric(const char *text, const char *name, unsigned int value)
{
	char expected[128];

	(void)snprintf(expected, sizeof(expected), "\n%s{view=\"%s\"} %u\n", name, "/nowhere",
		       value);
	return strstr(text, expected) != NULL;
}

static void test_metrics_match_the_index_and_the_state(void **state)
{
	struct fixture fixture;
	const char *text;

	(void)state;
	fixture_open(&fixture, one_source);
	add_file(&fixture, "a", 5);
	add_file(&fixture, "b", 5);
	view_set_state(&fixture.view, VIEW_COMPARING);
	text = content_of(&fixture, FIXED_METRICS);
	assert_true(has_metric(text, "twinfs_files", 2));
	assert_true(has_metric(text, "twinfs_bytes", 10));
	assert_true(has_metric(text, "twinfs_pending_files", 2));
	assert_true(has_metric(text, "twinfs_watched_directories", 0));
	assert_true(has_metric(text, "twinfs_unwatched_directories", 1));
	assert_non_null(strstr(text, ",state=\"walking\"} 0\n"));
	assert_non_null(strstr(text, ",state=\"comparing\"} 1\n"));
	fixture.view.watch = "inotify";
	text = content_of(&fixture, FIXED_METRICS);
	assert_true(has_metric(text, "twinfs_watched_directories", 1));
	assert_true(has_metric(text, "twinfs_unwatched_directories", 0));
	fixture_close(&fixture);
}

static void test_unwatched_directories_are_in_status_with_a_remedy(void **state)
{
	struct fixture fixture;
	unsigned long number = 0;
	const char *remedy;
	json_t *status;

	(void)state;
	fixture_open(&fixture, one_source);
	status = json_loads(content_of(&fixture, FIXED_STATUS), 0, NULL);
	assert_null(json_object_get(status, "unwatched"));
	assert_null(json_object_get(status, "remedy"));
	json_decref(status);
	fixture.view.watch = "inotify";
	fixture.view.unwatched = 100000;
	atomic_store(&fixture.sources.list[0].missing, true);
	status = json_loads(content_of(&fixture, FIXED_STATUS), 0, NULL);
	assert_string_equal(json_string_value(json_object_get(status, "watch")), "inotify");
	assert_int_equal(json_integer_value(json_object_get(status, "unwatched")), 100000);
	remedy = json_string_value(json_object_get(status, "remedy"));
	assert_non_null(remedy);
	assert_int_equal(sscanf(remedy, "sysctl fs.inotify.max_user_watches=%lu", &number), 1);
	assert_true(number >= 200000);
	assert_true(json_is_true(
		json_object_get(json_array_get(json_object_get(status, "sources"), 0), "missing")));
	json_decref(status);
	fixture_close(&fixture);
}

static void add_unserved(struct view *view)
{
	struct unserved unserved = {.failure = 0};

	for (int i = 0; i <= UNSERVED_PATHS_MAX; i++)
		unserved_add(&unserved, i ? UNSERVED_NAMES : UNSERVED_CHANGES, "uniques/folder");
	view_set_unserved(view, &unserved);
}

static void test_folders_without_all_events_are_in_status_and_metrics(void **state)
{
	struct fixture fixture;
	const json_t *folders;
	const char *text;
	json_t *status;

	(void)state;
	fixture_open(&fixture, one_source);
	status = json_loads(content_of(&fixture, FIXED_STATUS), 0, NULL);
	assert_null(json_object_get(status, "unrefreshed"));
	assert_null(json_object_get(status, "refresh_remedy"));
	json_decref(status);
	add_unserved(&fixture.view);
	status = json_loads(content_of(&fixture, FIXED_STATUS), 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(status, "unrefreshed")),
			 UNSERVED_PATHS_MAX + 1);
	folders = json_object_get(status, "unrefreshed_folders");
	assert_int_equal(json_array_size(folders), UNSERVED_PATHS_MAX);
	folders = json_array_get(folders, 0);
	assert_string_equal(json_string_value(json_object_get(folders, "reason")), "changes");
	assert_string_equal(json_string_value(json_object_get(folders, "path")), "uniques/folder");
	assert_string_equal(json_string_value(json_object_get(status, "refresh_remedy")),
			    unserved_remedy(UNSERVED_NAMES));
	json_decref(status);
	text = content_of(&fixture, FIXED_METRICS);
	assert_true(has_metric(text, "twinfs_refresh_failed", 0));
	assert_non_null(strstr(text, ",reason=\"names\"} 16\n"));
	assert_non_null(strstr(text, ",reason=\"changes\"} 1\n"));
	assert_non_null(strstr(text, ",reason=\"memory\"} 0\n"));
	view_set_unserved(&fixture.view, &(struct unserved){.failure = -EPIPE});
	status = json_loads(content_of(&fixture, FIXED_STATUS), 0, NULL);
	assert_null(json_object_get(status, "unrefreshed"));
	assert_non_null(json_object_get(status, "refresh_problem"));
	assert_non_null(json_object_get(status, "refresh_remedy"));
	json_decref(status);
	assert_true(has_metric(content_of(&fixture, FIXED_METRICS), "twinfs_refresh_failed", 1));
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_beyond_the_limit_is_refused),
		cmocka_unit_test(test_report_has_the_size_of_its_attributes_or_fails),
		cmocka_unit_test(test_file_with_the_size_of_another_is_pending_until_compared),
		cmocka_unit_test(test_metrics_have_the_prometheus_format),
		cmocka_unit_test(test_metrics_match_the_index_and_the_state),
		cmocka_unit_test(test_unwatched_directories_are_in_status_with_a_remedy),
		cmocka_unit_test(test_folders_without_all_events_are_in_status_and_metrics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
