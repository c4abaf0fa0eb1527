/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/descriptor.h"
#include "index/audit.h"
#include "twinfs/format.h"

#define PAGE_BYTES 4096

/* ---- empty indexes ------------------------------------------------------------------- */

static int no_seal(void *context)
{
	(void)context;
	return 0;
}

static const struct store_hooks unsealed_hooks = {.before_change = no_seal};

static void test_empty_index_is_consistent(void **state)
{
	struct catalog_reader *reader = NULL;
	struct store store;
	char folder[64];

	(void)state;
	fixture_make_folder(folder);
	assert_int_equal(store_open(&store, folder, 0, &unsealed_hooks), 0);
	assert_int_equal(store_read_begin(&store, &reader), 0);
	assert_int_equal(check_catalog(reader), 0);
	store_read_end(reader);
	store_close(&store);
	folder_remove(folder);
}

/* LMDB stores the key order of each table. */
static void test_table_of_another_order_is_detected(void **state)
{
	struct catalog_reader *reader = NULL;
	struct store store;
	char folder[64];
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;

	(void)state;
	fixture_make_folder(folder);
	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_set_maxdbs(env, 1), 0);
	assert_int_equal(mdb_env_open(env, folder, 0, 0600), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, table_name(TABLE_LINK), MDB_CREATE | MDB_REVERSEKEY,
				      &dbi),
			 0);
	assert_int_equal(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
	assert_int_equal(store_open(&store, folder, 0, &unsealed_hooks), 0);
	assert_int_equal(store_read_begin(&store, &reader), 0);
	assert_int_equal(check_catalog(reader), -EUCLEAN);
	store_read_end(reader);
	store_close(&store);
	folder_remove(folder);
}

static void test_index_without_sources_is_consistent(void **state)
{
	struct fixture f = {0};

	(void)state;
	fixture_make_folder(f.folder);
	fixture_open(&f);
	assert_consistent(&f);
	catalog_close(f.catalog);
	folder_remove(f.folder);
}

/* ---- lost writes --------------------------------------------------------------------- */

/* Writes a page of data to the data file. */
static void write_page(const struct fixture *f, const uint8_t *data, size_t page)
{
	off_t at = (off_t)(page * PAGE_BYTES);
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", f->folder, TWINFS_INDEX_DATA);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data + at, PAGE_BYTES, at), PAGE_BYTES);
	close(fd);
}

enum verdict {
	VERDICT_CONSISTENT,
	VERDICT_DAMAGED,
};

static enum verdict check_folder(const char *folder, struct hash128 *hash)
{
	struct catalog_reader *reader = NULL;
	struct store store;
	int r = store_open(&store, folder, 0, NULL);

	if (r == 0)
		r = store_read_begin(&store, &reader);
	if (r == 0)
		r = check_catalog(reader);
	if (r == 0)
		r = hash_records(reader, hash);
	store_read_end(reader);
	store_close(&store);
	return r == 0 ? VERDICT_CONSISTENT : VERDICT_DAMAGED;
}

/* Checks the index in a child process, because damage can crash the check. */
static enum verdict check_in_child(const char *folder, struct hash128 *hash)
{
	int ends[2], status, null;
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		dup2(null, STDERR_FILENO);
		(void)signal(SIGABRT, SIG_DFL);
		(void)signal(SIGSEGV, SIG_DFL);
		(void)signal(SIGBUS, SIG_DFL);
		status = check_folder(folder, hash);
		if (write_fully(ends[1], hash, sizeof(*hash)) < 0)
			status = VERDICT_DAMAGED;
		_exit(status);
	}
	close(ends[1]);
	got = read(ends[0], hash, sizeof(*hash)); /* 0 bytes if the child crashed */
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (got != sizeof(*hash) || !WIFEXITED(status))
		return VERDICT_DAMAGED;
	return (enum verdict)WEXITSTATUS(status);
}

/* Adds names, links, a group and orphans. */
static void add_round(struct fixture *f, int round)
{
	static char names[60][24];
	uint64_t files[4];

	for (int i = 0; i < 60; i++) {
		uint64_t inode = 1000 + (uint64_t)(round * 60 + i) * 7919 % 100000;

		(void)snprintf(names[i], sizeof(names[i]), "%llu.%d", (unsigned long long)inode,
			       round);
		add_file(f, f->roots[i % 2], names[i],
			 file_of(inode, 100 + (uint64_t)i % 7, round));
	}
	fixture_commit(f);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		files[i] = id_at(f, f->roots[0], names[14 * i]);
	(void)add_group(f, (struct hash128){9, (uint64_t)round % 3}, files, ARRAY_SIZE(files));
	for (int i = 40; i < 60; i++)
		remove_name(f, f->roots[i % 2], names[i]);
	fixture_commit(f);
	(void)purge_orphans(f, 12);
}

/* Reverts each page in turn to its state some commits before. A page whose reversal is not
 * detected must be unused, so that the records are unchanged. */
static void test_lost_write_is_detected_or_harmless(void **state)
{
	struct fixture *f = *state;
	uint8_t *old, *new;
	size_t length, new_length;
	struct hash128 sound, hash = {0};
	size_t found = 0, changed = 0;

	for (int round = 0; round < 20; round++)
		add_round(f, round);
	old = fixture_read_file(f, TWINFS_INDEX_DATA, &length);
	for (int round = 20; round < 23; round++)
		add_round(f, round);
	new = fixture_read_file(f, TWINFS_INDEX_DATA, &new_length);
	assert_int_equal(check_in_child(f->folder, &sound), VERDICT_CONSISTENT);
	for (size_t page = 2; page < length / PAGE_BYTES; page++) {
		if (memcmp(old + page * PAGE_BYTES, new + page *PAGE_BYTES, PAGE_BYTES) == 0)
			continue;
		changed++;
		write_page(f, old, page);
		if (check_in_child(f->folder, &hash) == VERDICT_DAMAGED)
			found++;
		else
			assert_memory_equal(&hash, &sound, sizeof(hash));
		write_page(f, new, page);
	}
	assert_true(changed > 20);
	assert_true(found > changed / 4);
	free(old);
	free(new);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_index_is_consistent),
		cmocka_unit_test(test_index_without_sources_is_consistent),
		cmocka_unit_test(test_table_of_another_order_is_detected),
		CASE(test_lost_write_is_detected_or_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
