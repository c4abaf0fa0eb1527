/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>

#include "index/audit.h"
#include "scan/batch.h"
#include "scan/ingest.h"
#include "twinfs/format.h"

/* The threads put more changes than the queue of batches can hold. */
#define THREADS 4
#define DIRS 40
#define NAMES 900

static bool threads_refused;

/* Replaces a function of the C library that thread_start() calls. */
int pthread_attr_setstacksize(pthread_attr_t *attributes, size_t bytes)
{
	(void)attributes;
	(void)bytes;
	return threads_refused ? EAGAIN : 0;
}

struct putter {
	struct fixture *fixture;
	struct batch_writer *writer;
	uint64_t number;
	int result;
};

/* Adds a directory with its files. The names are freed when the call returns. */
static int put_dir(struct putter *putter, uint64_t number)
{
	static const struct name_change none;
	struct name_change changes[NAMES + 1];
	char names[NAMES + 1][16];

	for (size_t i = 0; i <= NAMES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%d.%zu", (int)number, i);
		changes[i] = none;
		changes[i].kind = i ? NAME_ADD_FILE : NAME_ADD_DIR;
		changes[i].dir = i ? changes[0].id : putter->fixture->roots[0];
		changes[i].name = name_of(names[i]);
		changes[i].attributes = file_of(number * 1000 + i, i, 0);
		if (i == 0) {
			changes[i].id = catalog_new_id(putter->fixture->catalog);
			changes[i].attributes = dir_of(number * 1000);
		}
	}
	return batch_writer_put(putter->writer, changes, NAMES + 1);
}

static void *put_all(void *context)
{
	struct putter *putter = context;

	for (unsigned int i = 0; i < DIRS && putter->result == 0; i++)
		putter->result = put_dir(putter, 1 + putter->number * DIRS + i);
	return NULL;
}

static int put_from_threads(struct fixture *f, struct batch_writer *writer)
{
	struct putter putters[THREADS];
	pthread_t threads[THREADS];
	int result = 0;

	for (unsigned int i = 0; i < THREADS; i++) {
		putters[i] = (struct putter){f, writer, i, 0};
		assert_int_equal(pthread_create(&threads[i], NULL, put_all, &putters[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		result = putters[i].result ? putters[i].result : result;
	}
	return result;
}

/* Lists the files by size, which a full batch does not, and checks the index. */
static void audit_walked(const struct fixture *f)
{
	assert_int_not_equal(totals_of(f).unlisted, 0);
	assert_int_equal(ingest_list_sizes(f->catalog, SIZES_RUN_IDS), 0);
	audit_index(f->catalog);
}

static void test_changes_of_many_threads_are_all_committed(void **state)
{
	struct fixture *f = *state;
	struct batch_writer *writer;
	struct catalog_totals totals;

	assert_int_equal(batch_writer_new(&writer, f->catalog, NULL, true, NULL), 0);
	assert_int_equal(put_from_threads(f, writer), 0);
	assert_int_equal(batch_writer_finish(writer, true), 0);
	totals = totals_of(f);
	assert_int_equal(totals.directories, 2 + THREADS * DIRS);
	assert_int_equal(totals.names, THREADS * DIRS * NAMES);
	assert_int_equal(totals.files, THREADS * DIRS * NAMES);
	audit_walked(f);
}

static void test_changes_that_fill_no_batch_are_committed_at_the_end(void **state)
{
	struct fixture *f = *state;
	struct putter putter = {.fixture = f};

	assert_int_equal(batch_writer_new(&putter.writer, f->catalog, NULL, true, NULL), 0);
	assert_int_equal(put_dir(&putter, 1), 0);
	assert_int_equal(batch_writer_put(putter.writer, NULL, 0), 0);
	assert_int_equal(batch_writer_finish(putter.writer, true), 0);
	assert_int_equal(totals_of(f).names, NAMES);
	assert_int_equal(file_at(f, id_at(f, id_at(f, f->roots[0], "1.0"), "1.7")).first_seen,
			 f->scan + 1);
	audit_index(f->catalog);
}

static enum rename_trust trust(void *context)
{
	(void)context;
	return RENAME_TRUSTED;
}

static bool may_miscount_names(void *context)
{
	return *(const bool *)context;
}

/* Adds the name "link" to the file "old". Its content is known, and it has another link outside.
 * Further changes let the writer commit early. Returns whether the content is still known.
 *
 * removes		the last change removes "old"
 * removed_since	what the hook returns
 * complete		as in batch_writer_finish() */
static bool keeps_content(struct fixture *f, bool removes, bool removed_since, bool complete)
{
	struct ingest_hooks hooks = {.trust = trust,
				     .may_miscount_names = may_miscount_names,
				     .context = &removed_since};
	struct name_change change = {.kind = NAME_ADD_FILE,
				     .dir = f->roots[0],
				     .flags = FILE_SAME_BYTES,
				     .name = name_of("link"),
				     .attributes = file_of(7, 10, 0)};
	struct putter putter = {.fixture = f};
	uint64_t file;

	add_file(f, f->roots[0], "old", change.attributes);
	fixture_commit(f);
	file = id_at(f, f->roots[0], "old");
	assert_int_equal(set_content(f, file, 0), 0);
	assert_int_equal(batch_writer_new(&putter.writer, f->catalog, &hooks, false, NULL), 0);
	if (removes)
		batch_writer_note_removals(putter.writer);
	change.attributes.links = 2;
	change.attributes.ctime.tv_sec++;
	assert_int_equal(batch_writer_put(putter.writer, &change, 1), 0);
	for (uint64_t number = 1; number <= 6 && complete; number++)
		assert_int_equal(put_dir(&putter, number), 0);
	if (removes && complete) {
		remove_name(f, f->roots[0], "old");
		assert_int_equal(batch_writer_put(putter.writer, f->changes, f->count), 0);
		f->count = 0;
	}
	assert_int_equal(batch_writer_finish(putter.writer, complete), 0);
	assert_int_equal(id_at(f, f->roots[0], "link"), file);
	audit_index(f->catalog);
	return content_of(f, file).prefix != 0;
}

static void test_content_is_unknown_if_a_later_batch_possibly_removes_a_name(void **state)
{
	assert_false(keeps_content(*state, true, false, true));
}

static void test_content_is_unknown_if_a_name_was_possibly_removed_since(void **state)
{
	assert_false(keeps_content(*state, false, true, true));
}

static void test_content_is_unknown_if_the_removal_of_a_name_is_possibly_missing(void **state)
{
	assert_false(keeps_content(*state, true, false, false));
}

static void test_content_stays_known_if_no_name_is_removed(void **state)
{
	assert_true(keeps_content(*state, false, false, true));
}

static void test_writer_without_changes_ends(void **state)
{
	struct fixture *f = *state;
	struct batch_writer *writer;
	uint64_t generation = totals_of(f).generation;

	assert_int_equal(batch_writer_new(&writer, f->catalog, NULL, true, NULL), 0);
	assert_int_equal(batch_writer_finish(writer, true), 0);
	assert_int_equal(totals_of(f).generation, generation);
}

/* The ids suffice for the first batch only. */
static void test_first_failure_is_returned_to_all_threads(void **state)
{
	struct fixture *f = *state;
	struct batch_writer *writer;

	fixture_reopen_with_ids(f, 50000);
	assert_int_equal(batch_writer_new(&writer, f->catalog, NULL, true, NULL), 0);
	assert_true(put_from_threads(f, writer) <= 0);
	assert_true(batch_writer_finish(writer, true) < 0);
	audit_walked(f);
}

/* A directory whose names are committed in part would not be read again. */
static void test_nothing_is_committed_if_the_thread_does_not_start(void **state)
{
	struct fixture *f = *state;
	struct putter putter = {.fixture = f};
	uint64_t generation = totals_of(f).generation;

	assert_int_equal(batch_writer_new(&putter.writer, f->catalog, NULL, true, NULL), 0);
	threads_refused = true;
	(void)put_all(&putter);
	assert_int_equal(putter.result, -EAGAIN);
	/* the threads that were started before end, too */
	for (unsigned int i = 0; i < 4 * DIRS; i++)
		assert_int_equal(put_dir(&putter, DIRS + i), -EAGAIN);
	assert_int_equal(batch_writer_finish(putter.writer, true), -EAGAIN);
	threads_refused = false;
	assert_int_equal(totals_of(f).generation, generation);
	audit_index(f->catalog);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_changes_of_many_threads_are_all_committed),
		CASE(test_changes_that_fill_no_batch_are_committed_at_the_end),
		CASE(test_content_is_unknown_if_a_later_batch_possibly_removes_a_name),
		CASE(test_content_is_unknown_if_a_name_was_possibly_removed_since),
		CASE(test_content_is_unknown_if_the_removal_of_a_name_is_possibly_missing),
		CASE(test_content_stays_known_if_no_name_is_removed),
		CASE(test_writer_without_changes_ends),
		CASE(test_first_failure_is_returned_to_all_threads),
		CASE(test_nothing_is_committed_if_the_thread_does_not_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
