/* SPDX-License-Identifier: MIT */
#include "index/fixture.h"
#include "scan/candidates.h"

#define FILES_MAX 2000

/* A file of the index and its expected place among the candidates. */
struct file {
	uint64_t id, size;
	bool read, has_error;
	/* the window in which the file was a candidate, counted from 1; 0: none */
	unsigned int window;
};

struct case_state {
	struct fixture *f;
	struct file files[FILES_MAX];
	size_t count;
	unsigned int windows;
};

static void add_files(struct case_state *p, uint64_t size, size_t count)
{
	static char names[FIXTURE_CHANGES_MAX][24];
	struct fixture *f = p->f;

	for (size_t done = 0; done < count; done += f->count) {
		f->count = 0;
		for (size_t i = 0; i < 200 && done + i < count; i++) {
			struct file *file = &p->files[p->count++];

			(void)snprintf(names[i], sizeof(names[i]), "%zu", p->count);
			file->size = size;
			add_file(f, f->roots[0], names[i], file_of(1000 + p->count, size, 0));
		}
		assert_int_equal(catalog_write(f->catalog, fixture_apply_body, f), 0);
	}
	f->count = 0;
	for (size_t i = p->count - count; i < p->count; i++) {
		char name[24];

		(void)snprintf(name, sizeof(name), "%zu", i + 1);
		p->files[i].id = id_at(f, f->roots[0], name);
	}
}

static void mark_read(struct case_state *p, size_t which)
{
	assert_int_equal(set_content(p->f, p->files[which].id, 0), 0);
	p->files[which].read = true;
}

static struct file *file_with_id(struct case_state *p, uint64_t id)
{
	size_t i = 0;

	while (i < p->count && p->files[i].id != id)
		i++;
	assert_true(i < p->count);
	return &p->files[i];
}

static bool any_read(const struct case_state *p, uint64_t size)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->files[i].size == size && p->files[i].read)
			return true;
	}
	return false;
}

/* Takes one window. If commit is set, the contents of its files become known. */
static bool take_window(struct case_state *p, struct candidates *candidates, struct window *window,
			bool commit)
{
	uint64_t ids[FILES_MAX];
	struct fixture_contents contents = {.files = ids, .prefix = 77};

	assert_int_equal(candidates_next(candidates, window), 0);
	assert_true(window->count <= candidates->window_files);
	p->windows += window->count > 0;
	for (size_t i = 0; i < window->count; i++) {
		const struct candidate *candidate = &window->list[i];
		struct file *file = file_with_id(p, candidate->file);

		assert_true(i == 0 || candidate->file > window->list[i - 1].file);
		assert_int_equal(file->window, 0); /* no file is a candidate twice */
		assert_false(file->read);
		assert_int_equal(candidate->size, file->size);
		if (any_read(p, file->size))
			assert_true(candidate->rivals);
		file->window = p->windows;
		ids[i] = file->id;
	}
	contents.count = commit ? window->count : 0;
	assert_int_equal(catalog_write(p->f->catalog, fixture_contents_body, &contents), 0);
	for (size_t i = 0; i < contents.count; i++)
		file_with_id(p, ids[i])->read = true;
	return window->count > 0;
}

static void begin(struct case_state *p, struct candidates *candidates, size_t window_files,
		  bool skip_errors)
{
	*candidates = (struct candidates){.catalog = p->f->catalog,
					  .window_files = window_files,
					  .skip_errors = skip_errors};
	assert_int_equal(candidates_begin(candidates), 0);
}

static void run_all(struct case_state *p, size_t window_files, bool skip_errors, bool commit)
{
	struct window window = {0};
	struct candidates candidates;

	p->windows = 0;
	for (size_t i = 0; i < p->count; i++)
		p->files[i].window = 0;
	begin(p, &candidates, window_files, skip_errors);
	while (take_window(p, &candidates, &window, commit))
		continue;
	/* after the end, there is no further window */
	assert_false(take_window(p, &candidates, &window, commit));
	window_free(&window);
}

/* Checks that the candidates are exactly the unread files whose size another file has. */
static void assert_chosen(const struct case_state *p, const struct case_state *before)
{
	for (size_t i = 0; i < p->count; i++) {
		size_t same = 0;

		for (size_t j = 0; j < p->count; j++)
			same += p->files[j].size == p->files[i].size;
		assert_int_equal(p->files[i].window > 0, !before->files[i].read && same > 1);
	}
}

static int setup_play(void **state)
{
	struct case_state *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	fixture_setup((void **)&p->f);
	*state = p;
	return 0;
}

static int teardown_play(void **state)
{
	struct case_state *p = *state;

	fixture_teardown((void **)&p->f);
	free(p);
	return 0;
}

static struct case_state *copy_of(const struct case_state *p)
{
	struct case_state *copy = malloc(sizeof(*copy));

	assert_non_null(copy);
	memcpy(copy, p, sizeof(*copy));
	return copy;
}

/* ---- cases --------------------------------------------------------------------------- */

static void test_windows_of_any_width_have_each_candidate_once(void **state)
{
	static const size_t widths[] = {1, 2, 3, 7, 20, 21, 50, 100000};
	struct case_state *p = *state, *before;

	srandom(1);
	for (uint64_t size = 1; size < 30; size++)
		add_files(p, size, 1 + (size_t)random() % (size % 3 ? 4 : 60));
	for (size_t i = 0; i < p->count; i += 17)
		mark_read(p, i);
	before = copy_of(p);
	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		run_all(p, widths[i], false, false);
		assert_chosen(p, before);
	}
	run_all(p, 21, false, true); /* this time the results are committed between windows */
	assert_chosen(p, before);
	run_all(p, 21, false, true);
	assert_int_equal(p->windows, 0);
	free(before);
}

static void test_size_that_fits_a_window_is_never_split(void **state)
{
	struct case_state *p = *state;

	srandom(2);
	for (uint64_t size = 1; size < 40; size++)
		add_files(p, size, 2 + (size_t)random() % 9);
	for (size_t width = 10; width < 30; width++) {
		run_all(p, width, false, false);
		for (size_t i = 1; i < p->count; i++) {
			if (p->files[i].size == p->files[i - 1].size)
				assert_int_equal(p->files[i].window, p->files[i - 1].window);
		}
	}
}

static void test_files_of_a_split_size_are_rivals_of_each_other(void **state)
{
	struct window window = {0};
	struct case_state *p = *state;
	struct candidates candidates;
	size_t seen = 0;

	add_files(p, 5, 25);
	add_files(p, 6, 2);
	begin(p, &candidates, 10, false);
	while (take_window(p, &candidates, &window, true)) {
		for (size_t i = 0; i < window.count; i++)
			assert_int_equal(window.list[i].rivals, window.list[i].size == 5);
		seen += window.count;
	}
	assert_int_equal(seen, 27);
	window_free(&window);
}

static void test_last_file_of_a_split_size_is_a_candidate(void **state)
{
	struct case_state *p = *state, *before;

	add_files(p, 5, 11);
	before = copy_of(p);
	run_all(p, 10, false, true);
	assert_int_equal(p->windows, 2);
	assert_chosen(p, before);
	free(before);
}

static void test_sizes_below_the_minimum_are_left_out(void **state)
{
	struct window window = {0};
	struct case_state *p = *state;
	struct candidates candidates;

	add_files(p, 0, 5); /* the minimum of the index is 1 */
	add_files(p, 1, 5);
	begin(p, &candidates, 100, false);
	assert_true(take_window(p, &candidates, &window, false));
	assert_int_equal(window.count, 5);
	assert_int_equal(window.list[0].size, 1);
	assert_false(take_window(p, &candidates, &window, false));
	window_free(&window);
}

static void test_sizes_outside_of_the_range_are_left_out(void **state)
{
	struct window window = {0};
	struct case_state *p = *state;
	struct candidates candidates;

	for (uint64_t size = 9; size <= 12; size++)
		add_files(p, size, 5);
	for (size_t width = 3; width <= 30; width += 9) {
		size_t seen = 0;

		candidates = (struct candidates){.catalog = p->f->catalog,
						 .window_files = width,
						 .range = {.from = 10, .below = 12}};
		assert_int_equal(candidates_begin(&candidates), 0);
		while (take_window(p, &candidates, &window, false)) {
			for (size_t i = 0; i < window.count; i++, seen++) {
				assert_in_range(window.list[i].size, 10, 11);
				file_with_id(p, window.list[i].file)->window = 0;
			}
		}
		assert_int_equal(seen, 10);
	}
	window_free(&window);
}

static void test_files_with_errors_are_left_out_on_request(void **state)
{
	struct case_state *p = *state;

	add_files(p, 5, 4);
	set_error(p->f, ERROR_FILE, p->files[1].id, EIO);
	run_all(p, 100, true, false);
	assert_true(p->files[0].window && !p->files[1].window && p->files[2].window);
	run_all(p, 100, false, false);
	assert_true(p->files[1].window);
}

static bool is_this_file(void *context, uint64_t file)
{
	return file == *(const uint64_t *)context;
}

/* Takes all windows of some sizes, as run_all does. */
static void run_sizes(struct case_state *p, size_t window_files, const struct ingest_sizes *sizes,
		      bool commit)
{
	struct window window = {0};
	struct candidates candidates = {.catalog = p->f->catalog,
					.window_files = window_files,
					.skip_errors = true,
					.sizes = sizes};

	p->windows = 0;
	for (size_t i = 0; i < p->count; i++)
		p->files[i].window = 0;
	assert_int_equal(candidates_begin(&candidates), 0);
	while (take_window(p, &candidates, &window, commit))
		continue;
	assert_false(take_window(p, &candidates, &window, commit));
	window_free(&window);
}

static void test_windows_of_any_width_hold_only_the_sizes_given(void **state)
{
	static const uint64_t list[] = {0, 3, 4, 5, 9, 12, 13, 28, 29, 100};
	const struct ingest_sizes sizes = {.list = list, .count = ARRAY_SIZE(list)};
	struct case_state *p = *state;

	srandom(3);
	for (uint64_t size = 1; size < 30; size++)
		add_files(p, size, size % 7 ? 1 + (size_t)random() % 9 : 40);
	for (size_t i = 0; i < p->count; i += 13)
		mark_read(p, i);
	for (size_t width = 1; width < 45; width += 6) {
		run_sizes(p, width, &sizes, false);
		for (size_t i = 0; i < p->count; i++) {
			const struct file *file = &p->files[i];
			size_t same = 0, given = 0;

			for (size_t j = 0; j < p->count; j++)
				same += p->files[j].size == file->size;
			for (size_t j = 0; j < sizes.count; j++)
				given += list[j] == file->size;
			assert_int_equal(file->window > 0, given && same > 1 && !file->read);
		}
	}
}

static void test_given_size_below_the_minimum_is_left_out(void **state)
{
	static const uint64_t list[] = {0, 2};
	const struct ingest_sizes sizes = {.list = list, .count = ARRAY_SIZE(list)};
	struct case_state *p = *state;

	add_files(p, 0, 3); /* the minimum of the index is 1 */
	add_files(p, 2, 3);
	run_sizes(p, 10, &sizes, false);
	assert_false(p->files[0].window);
	assert_true(p->files[3].window);
	run_sizes(p, 10, &(struct ingest_sizes){.list = list, .count = 1}, false);
	assert_int_equal(p->windows, 0);
	run_sizes(p, 10, &(struct ingest_sizes){0}, false);
	assert_int_equal(p->windows, 0);
}

static void test_waiting_file_is_no_candidate_but_others_of_its_size_are(void **state)
{
	static const uint64_t size = 5;
	struct case_state *p = *state;
	struct ingest_sizes sizes = {.list = &size, .count = 1, .waits = is_this_file};

	add_files(p, 5, 2);
	sizes.context = &p->files[1].id;
	run_sizes(p, 10, &sizes, true);
	assert_true(p->files[0].window && !p->files[1].window);
	sizes.waits = NULL;
	run_sizes(p, 10, &sizes, true);
	assert_true(!p->files[0].window && p->files[1].window);
}

static void test_unreadable_file_is_a_candidate_only_if_it_is_tried_again(void **state)
{
	static const uint64_t size = 5;
	struct case_state *p = *state;
	struct ingest_sizes sizes = {.list = &size, .count = 1};

	add_files(p, 5, 3);
	set_error(p->f, ERROR_FILE, p->files[1].id, EIO);
	run_sizes(p, 10, &sizes, false);
	assert_true(p->files[0].window && !p->files[1].window && p->files[2].window);
	sizes.context = &p->files[1].id;
	sizes.again = is_this_file;
	run_sizes(p, 10, &sizes, false);
	assert_true(p->files[0].window && p->files[1].window && p->files[2].window);
	sizes.waits = is_this_file; /* the file waits since an event before its failure */
	run_sizes(p, 10, &sizes, false);
	assert_true(p->files[1].window);
	sizes.context = &p->files[0].id;
	run_sizes(p, 10, &sizes, false);
	assert_true(!p->files[0].window && !p->files[1].window && p->files[2].window);
}

static void test_given_size_is_split_if_it_fills_a_window(void **state)
{
	static const uint64_t list[] = {5, 6};
	const struct ingest_sizes sizes = {.list = list, .count = ARRAY_SIZE(list)};
	struct case_state *p = *state;

	add_files(p, 5, 25);
	add_files(p, 6, 2);
	run_sizes(p, 10, &sizes, true);
	for (size_t i = 0; i < p->count; i++)
		assert_true(p->files[i].window);
	run_sizes(p, 10, &sizes, true);
	assert_int_equal(p->windows, 0);
}

static void test_empty_index_has_no_window(void **state)
{
	struct case_state *p = *state;

	run_all(p, 10, false, false);
	assert_int_equal(p->windows, 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup_play, teardown_play)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_windows_of_any_width_have_each_candidate_once),
		CASE(test_size_that_fits_a_window_is_never_split),
		CASE(test_files_of_a_split_size_are_rivals_of_each_other),
		CASE(test_last_file_of_a_split_size_is_a_candidate),
		CASE(test_sizes_below_the_minimum_are_left_out),
		CASE(test_sizes_outside_of_the_range_are_left_out),
		CASE(test_files_with_errors_are_left_out_on_request),
		CASE(test_windows_of_any_width_hold_only_the_sizes_given),
		CASE(test_given_size_below_the_minimum_is_left_out),
		CASE(test_waiting_file_is_no_candidate_but_others_of_its_size_are),
		CASE(test_unreadable_file_is_a_candidate_only_if_it_is_tried_again),
		CASE(test_given_size_is_split_if_it_fills_a_window),
		CASE(test_empty_index_has_no_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
