/* SPDX-License-Identifier: MIT */

/* Preloaded into twinfs, sums up the processor time that its threads spend inside calls of LMDB,
 * including page faults. When the program ends, it writes "SECONDS CALLS" to the file that
 * INDEX_TIME_REPORT names. Reading the clock costs as much as a call, so this cost is measured at
 * the start and subtracted.
 */

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <lmdb.h>

enum {
	CALIBRATE_CALLS = 100000
};

static atomic_ullong total_ns;
static atomic_ullong total_calls;
static uint64_t clock_ns;
/* LMDB calls its own functions: only the outermost call counts. */
static _Thread_local int depth;

static uint64_t now_ns(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

static uint64_t enter(void)
{
	return depth++ == 0 ? now_ns() : 0;
}

static void leave(uint64_t begun)
{
	if (--depth > 0)
		return;
	atomic_fetch_add_explicit(&total_ns, now_ns() - begun, memory_order_relaxed);
	atomic_fetch_add_explicit(&total_calls, 1, memory_order_relaxed);
}

static void *next_of(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (function == NULL) {
		(void)fprintf(stderr, "index_time: no %s\n", name);
		abort();
	}
	return function;
}

/* Defines a function of LMDB that calls the real function and measures its time. If threads race,
 * all of them find the same real function. */
#define TIMED(name, parameters, ...)                          \
	int name parameters                                   \
	{                                                     \
		static int(*_Atomic next) parameters;         \
		int(*function) parameters = next;             \
		uint64_t begun;                               \
		int r;                                        \
                                                              \
		if (function == NULL) {                       \
			*(void **)&function = next_of(#name); \
			next = function;                      \
		}                                             \
		begun = enter();                              \
		r = function(__VA_ARGS__);                    \
		leave(begun);                                 \
		return r;                                     \
	}                                                     \
	_Static_assert(1, "")

TIMED(mdb_env_open, (MDB_env * env, const char *path, unsigned int flags, mdb_mode_t mode), env,
      path, flags, mode);
TIMED(mdb_env_sync, (MDB_env * env, int force), env, force);
TIMED(mdb_txn_begin, (MDB_env * env, MDB_txn *parent, unsigned int flags, MDB_txn **txn), env,
      parent, flags, txn);
TIMED(mdb_txn_commit, (MDB_txn * txn), txn);
TIMED(mdb_txn_renew, (MDB_txn * txn), txn);
TIMED(mdb_get, (MDB_txn * txn, MDB_dbi dbi, MDB_val *key, MDB_val *data), txn, dbi, key, data);
TIMED(mdb_put, (MDB_txn * txn, MDB_dbi dbi, MDB_val *key, MDB_val *data, unsigned int flags), txn,
      dbi, key, data, flags);
TIMED(mdb_del, (MDB_txn * txn, MDB_dbi dbi, MDB_val *key, MDB_val *data), txn, dbi, key, data);
TIMED(mdb_cursor_open, (MDB_txn * txn, MDB_dbi dbi, MDB_cursor **cursor), txn, dbi, cursor);
TIMED(mdb_cursor_renew, (MDB_txn * txn, MDB_cursor *cursor), txn, cursor);
TIMED(mdb_cursor_get, (MDB_cursor * cursor, MDB_val *key, MDB_val *data, MDB_cursor_op op), cursor,
      key, data, op);
TIMED(mdb_cursor_put, (MDB_cursor * cursor, MDB_val *key, MDB_val *data, unsigned int flags),
      cursor, key, data, flags);
TIMED(mdb_cursor_del, (MDB_cursor * cursor, unsigned int flags), cursor, flags);

__attribute__((constructor)) static void calibrate(void)
{
	for (int i = 0; i < CALIBRATE_CALLS; i++)
		leave(enter());
	clock_ns = atomic_exchange(&total_ns, 0) / CALIBRATE_CALLS;
	atomic_store(&total_calls, 0);
}

__attribute__((destructor)) static void report(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): at the end there is one thread */
	const char *path = getenv("INDEX_TIME_REPORT");
	FILE *file = path ? fopen(path, "we") : NULL;
	uint64_t calls = total_calls, ns = total_ns, clock = calls * clock_ns;

	if (file == NULL)
		return;
	(void)fprintf(file, "%.6f %llu\n", (double)(ns > clock ? ns - clock : 0) / 1e9,
		      (unsigned long long)calls);
	(void)fclose(file);
}
