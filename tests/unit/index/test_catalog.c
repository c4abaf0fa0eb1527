/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <sys/wait.h>

#include "index/audit.h"
#include "index/integrity.h"
#include "twinfs/format.h"

static void add_and_commit(struct fixture *f, const char *name, uint64_t inode)
{
	(void)new_file(f, f->roots[0], name, file_of(inode, 100, 0));
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

/* Runs body in a child, which exits without closing the index, as a killed process does. */
static void in_killed_process(struct fixture *f, void (*body)(struct fixture *))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		if (fixture_open_code(f) != CATALOG_OPENED)
			_exit(1);
		body(f);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* ---- files and rights ---------------------------------------------------------------- */

static void test_index_is_private_whatever_the_umask(void **state)
{
	static const char *const files[] = {TWINFS_INDEX_DATA, "lock.mdb", TWINFS_INDEX_LOCK,
					    TWINFS_INDEX_IDS, TWINFS_INDEX_SEAL};
	struct fixture f = {0}, *outer = *state;
	mode_t before = umask(0);

	(void)snprintf(f.folder, sizeof(f.folder), "%.40s/a/b", outer->folder);
	fixture_open(&f);
	fixture_fill(&f);
	catalog_close(f.catalog);
	umask(before);
	assert_int_equal(mode_of(path_in(outer, "a")), 0700);
	assert_int_equal(mode_of(f.folder), 0700);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		assert_int_equal(mode_of(path_in(&f, files[i])), 0600);
}

static void test_commits_survive_a_restart(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	add_and_commit(f, "a", 10);
	id = id_at(f, f->roots[0], "a");
	fixture_reopen(f);
	assert_int_equal(id_at(f, f->roots[0], "a"), id);
	audit_index(f->catalog);
}

static void commit_one(struct fixture *f)
{
	add_and_commit(f, "killed", 11);
}

static void test_commits_survive_a_kill(void **state)
{
	struct fixture *f = *state;

	catalog_close(f->catalog);
	in_killed_process(f, commit_one);
	assert_false(has_file(f, TWINFS_INDEX_SEAL));
	fixture_open(f);
	assert_true(id_at(f, f->roots[0], "killed") != 0);
	assert_false(has_file(f, TWINFS_INDEX_DAMAGED));
	audit_index(f->catalog);
}

/* ---- one writer ---------------------------------------------------------------------- */

static void test_second_writer_is_refused_and_the_owner_is_known(void **state)
{
	struct fixture *f = *state;
	struct catalog_options options = {.folder = f->folder};
	struct catalog *second = (void *)1;
	char *mount_point;
	pid_t pid;

	assert_int_equal(catalog_set_mount_point(f->catalog, "/mnt/x y\n"), 0);
	assert_int_equal(catalog_open(&second, &options), CATALOG_IN_USE);
	assert_null(second);
	assert_int_equal(catalog_owner(f->folder, &pid, &mount_point), 0);
	assert_int_equal(pid, getpid());
	assert_string_equal(mount_point, "/mnt/x y\n");
	free(mount_point);
	add_and_commit(f, "a", 10); /* the first writer can still commit */
	fixture_reopen(f);
	assert_true(id_at(f, f->roots[0], "a") != 0);
}

static void test_closed_index_has_no_owner(void **state)
{
	struct fixture *f = *state;
	char *mount_point;
	pid_t pid = 1;

	assert_int_equal(catalog_set_mount_point(f->catalog, "/mnt"), 0);
	catalog_close(f->catalog);
	f->catalog = NULL;
	assert_int_equal(catalog_owner(f->folder, &pid, &mount_point), 0);
	assert_int_equal(pid, 0);
	assert_string_equal(mount_point, "");
	free(mount_point);
	assert_int_equal(catalog_owner("/nowhere/at/all", &pid, &mount_point), 0);
	assert_int_equal(pid, 0);
	free(mount_point);
}

/* ---- read-only ----------------------------------------------------------------------- */

/* Reports that it is ready, waits until the other process has written, and reads. */
static void read_beside(struct fixture *f, int ready, int written)
{
	const struct catalog_options options = {.folder = f->folder, .read_only = true};
	char byte = 'r';

	if (catalog_open(&f->catalog, &options) != CATALOG_OPENED || id_at(f, f->roots[0], "a") ||
	    write(ready, &byte, 1) != 1 || read(written, &byte, 1) != 1 ||
	    !id_at(f, f->roots[0], "a"))
		_exit(1);
	audit_index(f->catalog);
	catalog_close(f->catalog);
	_exit(0);
}

static void test_reading_process_sees_new_commits(void **state)
{
	struct fixture *f = *state;
	int ready[2], written[2], status;
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(written), 0);
	child = fork();
	if (child == 0)
		read_beside(f, ready[1], written[0]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	add_and_commit(f, "a", 10);
	assert_int_equal(write(written[1], &byte, 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	add_and_commit(f, "b", 11);
	audit_index(f->catalog);
	close(ready[0]);
	close(written[0]);
	close(written[1]);
}

static void test_read_only_open_changes_no_file(void **state)
{
	struct fixture *f = *state;
	const struct catalog_options options = {.folder = f->folder, .read_only = true};
	uint8_t *before, *after;
	size_t length, length_after;

	catalog_close(f->catalog);
	before = fixture_read_file(f, TWINFS_INDEX_DATA, &length);
	assert_int_equal(catalog_open(&f->catalog, &options), CATALOG_OPENED);
	audit_index(f->catalog);
	catalog_close(f->catalog);
	after = fixture_read_file(f, TWINFS_INDEX_DATA, &length_after);
	assert_int_equal(length, length_after);
	assert_memory_equal(before, after, length);
	assert_true(has_file(f, TWINFS_INDEX_SEAL));
	free(before);
	free(after);
	f->catalog = NULL;
}

static void test_read_only_open_makes_no_index(void **state)
{
	struct fixture *f = *state;
	struct catalog_options options = {.folder = "/tmp/twinfs-test-no-such-folder",
					  .read_only = true};
	struct catalog *catalog;

	assert_int_equal(catalog_open(&catalog, &options), CATALOG_NO_INDEX);
	assert_null(catalog);
	assert_int_equal(access(options.folder, F_OK), -1);
	options.folder = path_in(f, "empty");
	assert_int_equal(mkdir(options.folder, 0700), 0);
	assert_int_equal(catalog_open(&catalog, &options), CATALOG_NO_INDEX);
	assert_int_equal(rmdir(options.folder), 0);
}

static void test_path_that_is_no_folder_is_refused(void **state)
{
	struct fixture *f = *state;
	struct catalog_options options = {.folder = path_in(f, TWINFS_INDEX_DATA)};
	struct catalog *catalog;

	assert_int_equal(catalog_open(&catalog, &options), -ENOTDIR);
	options.read_only = true;
	assert_int_equal(catalog_open(&catalog, &options), -ENOTDIR);
	options.folder = "/proc/self";
	options.read_only = false;
	assert_true(catalog_open(&catalog, &options) < 0);
}

/* ---- formats ------------------------------------------------------------------------- */

/* Writes another format into a closed index. */
static void set_format(const struct fixture *f, const char *text)
{
	MDB_val key = {6, (void *)(uintptr_t) "format"};
	MDB_val value = {strlen(text), (void *)(uintptr_t)text};
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;

	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_set_maxdbs(env, TABLE_COUNT), 0);
	assert_int_equal(mdb_env_open(env, f->folder, 0, 0600), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, "meta", 0, &dbi), 0);
	assert_int_equal(mdb_put(txn, dbi, &key, &value, 0), 0);
	assert_int_equal(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

static void assert_refused_as_newer(struct fixture *f)
{
	const struct catalog_options read_only = {.folder = f->folder, .read_only = true};
	size_t length, length_after;
	uint8_t *before = fixture_read_file(f, TWINFS_INDEX_DATA, &length), *after;
	bool sealed = has_file(f, TWINFS_INDEX_SEAL);

	assert_int_equal(fixture_open_code(f), CATALOG_NEWER);
	assert_int_equal(catalog_open(&f->catalog, &read_only), CATALOG_NEWER);
	assert_null(f->catalog);
	after = fixture_read_file(f, TWINFS_INDEX_DATA, &length_after);
	assert_int_equal(length, length_after);
	assert_memory_equal(before, after, length);
	assert_int_equal(has_file(f, TWINFS_INDEX_SEAL), sealed);
	assert_false(has_file(f, TWINFS_INDEX_DAMAGED));
	free(before);
	free(after);
}

static void test_newer_format_is_refused_and_unchanged(void **state)
{
	struct fixture *f = *state;

	catalog_close(f->catalog);
	set_format(f, "twinfs 999"); /* this breaks the seal */
	assert_refused_as_newer(f);
	assert_int_equal(unlink(path_in(f, TWINFS_INDEX_SEAL)), 0);
	assert_refused_as_newer(f);
}

static void assert_built_anew(struct fixture *f)
{
	const struct catalog_options read_only = {.folder = f->folder, .read_only = true};

	assert_int_equal(catalog_open(&f->catalog, &read_only), CATALOG_OLDER);
	fixture_open(f);
	assert_true(has_file(f, TWINFS_INDEX_DAMAGED));
	assert_int_equal(totals_of(f).directories, 0);
	assert_true(catalog_new_id(f->catalog) > f->roots[1]);
	fixture_fill(f);
	add_and_commit(f, "a", 10);
	fixture_reopen(f);
	assert_true(id_at(f, f->roots[0], "a") != 0);
	audit_index(f->catalog);
	catalog_close(f->catalog);
	assert_int_equal(unlink(path_in(f, TWINFS_INDEX_DAMAGED)), 0);
}

/* Seals the index again, so that the writes of the test look like a clean close. */
static void seal(const struct fixture *f)
{
	int folder = open(f->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(folder >= 0);
	assert_int_equal(index_seal(folder), 0);
	assert_int_equal(close(folder), 0);
}

static void test_older_format_is_set_aside_and_rebuilt(void **state)
{
	struct fixture *f = *state;

	catalog_close(f->catalog);
	set_format(f, "twinfs 1");
	seal(f);
	assert_built_anew(f);
	set_format(f, "twinfs 1"); /* this breaks the seal */
	assert_built_anew(f);
	set_format(f, "twinfs 1");
	assert_int_equal(unlink(path_in(f, TWINFS_INDEX_SEAL)), 0);
	assert_built_anew(f);
	fixture_open(f);
}

static void test_index_of_another_program_is_set_aside(void **state)
{
	struct fixture *f = *state;

	catalog_close(f->catalog);
	set_format(f, "other 1");
	fixture_open(f);
	assert_true(has_file(f, TWINFS_INDEX_DAMAGED));
	assert_int_equal(totals_of(f).directories, 0);
}

/* ---- ids ----------------------------------------------------------------------------- */

static void take_ids(struct fixture *f)
{
	for (int i = 0; i < 1000; i++)
		(void)catalog_new_id(f->catalog);
	add_and_commit(f, "x", 12);
}

static void test_no_id_is_assigned_twice(void **state)
{
	struct fixture *f = *state;
	uint64_t last = catalog_new_id(f->catalog), id;

	for (int round = 0; round < 5; round++) {
		fixture_reopen(f);
		id = catalog_new_id(f->catalog);
		assert_true(id > last);
		assert_true(id < last + 100); /* a clean stop wastes no ids */
		last = id;
	}
	catalog_close(f->catalog);
	in_killed_process(f, take_ids);
	fixture_open(f);
	assert_true(catalog_new_id(f->catalog) > last + 1000);
}

static void test_ids_continue_after_a_rebuild(void **state)
{
	struct fixture *f = *state;
	uint64_t last = catalog_new_id(f->catalog);

	catalog_close(f->catalog);
	fixture_write_text(f, TWINFS_INDEX_DATA, "no index");
	fixture_open(f);
	assert_true(has_file(f, TWINFS_INDEX_DAMAGED));
	assert_true(catalog_new_id(f->catalog) > last);
	last = catalog_new_id(f->catalog);
	catalog_close(f->catalog);
	assert_int_equal(unlink(path_in(f, TWINFS_INDEX_DATA)), 0);
	fixture_open(f);
	assert_true(catalog_new_id(f->catalog) > last);
}

static void test_ids_are_not_reused_if_the_file_of_ids_is_missing_or_invalid(void **state)
{
	static const char *const texts[] =
		{"", "0\n", "-1\n", "12", "x\n", "1 2\n", "99999999999999999999999\n"};
	struct fixture *f = *state;
	uint64_t last = catalog_new_id(f->catalog);

	catalog_close(f->catalog);
	assert_int_equal(unlink(path_in(f, TWINFS_INDEX_IDS)), 0);
	fixture_open(f);
	assert_true(catalog_new_id(f->catalog) > last + 1000000);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		catalog_close(f->catalog);
		fixture_write_text(f, TWINFS_INDEX_IDS, texts[i]);
		fixture_open(f);
		assert_true(catalog_new_id(f->catalog) > last + 1000000);
	}
}

static void take_no_id(struct fixture *f)
{
	if (catalog_new_id(f->catalog) != 0)
		_exit(2);
}

static void test_ids_are_not_reused_after_the_last(void **state)
{
	struct fixture *f = *state;

	fixture_reopen_with_ids(f, 2);
	assert_int_equal(catalog_new_id(f->catalog), TWINFS_ID_MAX - 1);
	assert_int_equal(catalog_new_id(f->catalog), TWINFS_ID_MAX);
	assert_int_equal(catalog_new_id(f->catalog), 0);
	add_file(f, f->roots[0], "one too many", file_of(10, 1, 0));
	assert_int_equal(fixture_commit_code(f), -EOVERFLOW);
	fixture_reopen(f);
	assert_int_equal(catalog_new_id(f->catalog), 0);
	catalog_close(f->catalog);
	in_killed_process(f, take_no_id);
	fixture_open(f);
	assert_int_equal(catalog_new_id(f->catalog), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_index_is_private_whatever_the_umask),
		CASE(test_commits_survive_a_restart),
		CASE(test_commits_survive_a_kill),
		CASE(test_second_writer_is_refused_and_the_owner_is_known),
		CASE(test_closed_index_has_no_owner),
		CASE(test_reading_process_sees_new_commits),
		CASE(test_read_only_open_changes_no_file),
		CASE(test_read_only_open_makes_no_index),
		CASE(test_path_that_is_no_folder_is_refused),
		CASE(test_newer_format_is_refused_and_unchanged),
		CASE(test_older_format_is_set_aside_and_rebuilt),
		CASE(test_index_of_another_program_is_set_aside),
		CASE(test_no_id_is_assigned_twice),
		CASE(test_ids_continue_after_a_rebuild),
		CASE(test_ids_are_not_reused_if_the_file_of_ids_is_missing_or_invalid),
		CASE(test_ids_are_not_reused_after_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
