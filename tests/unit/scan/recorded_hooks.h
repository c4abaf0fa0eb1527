/* SPDX-License-Identifier: MIT */
#ifndef TESTS_INGEST_RECORDED_HOOKS_H
#define TESTS_INGEST_RECORDED_HOOKS_H

/* A tree with a follower that identifies directories by their inodes, as inotify does, and
 * records the calls of its hooks. A failed helper ends the test. */

#include <pthread.h>

#include "index/audit.h"
#include "scan/tree.h"

#define CALLS_MAX 64
#define NAMED_MAX 32

enum call_kind {
	CALL_ENTER,
	CALL_IDENTIFY,
	CALL_RETRY,
	CALL_ADD_RECHECK,
	CALL_NEEDS_WALK,
	CALL_FAILED,
};

/* A call of a hook of the follower. */
struct call {
	enum call_kind kind;
	uint64_t id; /* of a directory or file; the source of CALL_NEEDS_WALK */
	ino_t inode; /* of an open directory */
	enum recheck_scope scope; /* of CALL_RETRY and CALL_ADD_RECHECK */
	size_t names; /* of CALL_RETRY and CALL_ADD_RECHECK */
};

struct case_state {
	struct tree *t;
	struct ingest_hooks hooks;
	struct ingest ingest;
	pthread_mutex_t lock; /* protects all fields below */
	struct call calls[CALLS_MAX];
	size_t count;
	struct call known[CALLS_MAX]; /* directories that were entered */
	size_t known_count;
	enum rename_trust trust; /* what the hook returns */
	bool removed; /* the same */
	bool holds; /* what the hook holds_gone() returns */
	bool unreported; /* not what the hook reports_writes() returns */
	struct name_events *named[NAMED_MAX]; /* freed at the end */
	size_t named_count;
	const char *make_on_enter; /* a file made in each directory while it is entered */
};

/* ---- the follower -------------------------------------------------------------------- */

static inline void record(struct case_state *p, const struct call *call)
{
	assert_int_equal(pthread_mutex_lock(&p->lock), 0);
	assert_true(p->count < CALLS_MAX);
	p->calls[p->count++] = *call;
	assert_int_equal(pthread_mutex_unlock(&p->lock), 0);
}

/* Returns the number of a known directory. An unknown directory gets the number dir. */
static inline uint64_t number_of(struct case_state *p, ino_t inode, uint64_t dir)
{
	for (size_t i = 0; i < p->known_count; i++) {
		if (p->known[i].inode == inode)
			return p->known[i].id;
	}
	assert_true(p->known_count < CALLS_MAX);
	p->known[p->known_count++] = (struct call){.id = dir, .inode = inode};
	return dir;
}

static inline void not_entered(void *context, uint64_t dir, struct name name)
{
	(void)context;
	(void)dir;
	(void)name;
}

static inline void enter(void *context, uint32_t source, int fd, uint64_t dir)
{
	struct case_state *p = context;
	struct call call = {.kind = CALL_ENTER, .id = dir, .inode = inode_of(fd)};

	assert_int_equal(source, 0);
	assert_int_equal(pthread_mutex_lock(&p->lock), 0);
	(void)number_of(p, call.inode, dir);
	assert_int_equal(pthread_mutex_unlock(&p->lock), 0);
	record(p, &call);
	if (p->make_on_enter) {
		int file = openat(fd, p->make_on_enter, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		assert_true(file >= 0);
		close(file);
	}
}

static inline uint64_t identify(void *context, uint32_t source, int fd, uint64_t new_dir)
{
	struct case_state *p = context;
	struct call call = {.kind = CALL_IDENTIFY, .id = new_dir, .inode = inode_of(fd)};
	uint64_t number;

	assert_int_equal(source, 0);
	assert_int_equal(pthread_mutex_lock(&p->lock), 0);
	number = number_of(p, call.inode, new_dir);
	assert_int_equal(pthread_mutex_unlock(&p->lock), 0);
	record(p, &call);
	return number;
}

static inline void retry(void *context, const struct recheck *recheck)
{
	record(context, &(struct call){.kind = CALL_RETRY,
				       .id = recheck->dir,
				       .scope = recheck->scope,
				       .names = recheck->count});
}

static inline void add_recheck(void *context, const struct recheck *recheck)
{
	record(context, &(struct call){.kind = CALL_ADD_RECHECK,
				       .id = recheck->dir,
				       .scope = recheck->scope,
				       .names = recheck->count});
}

static inline void needs_walk(void *context, uint32_t source, enum walk_cause cause)
{
	record(context, &(struct call){.kind = CALL_NEEDS_WALK, .id = source});
	(void)cause;
}

static inline bool holds_gone(void *context, uint64_t dir, uint64_t child)
{
	const struct case_state *p = context;

	assert_true(dir > 0);
	(void)child;
	return p->holds;
}

static inline void failed(void *context, uint64_t dir)
{
	record(context, &(struct call){.kind = CALL_FAILED, .id = dir});
}

static inline enum rename_trust trust(void *context)
{
	const struct case_state *p = context;

	return p->trust;
}

static inline bool may_miscount_names(void *context)
{
	const struct case_state *p = context;

	return p->removed;
}

static inline bool reports_writes(void *context, uint32_t source)
{
	const struct case_state *p = context;

	assert_int_equal(source, 0);
	return !p->unreported;
}

static inline size_t count_calls(const struct case_state *p, enum call_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < p->count; i++)
		count += p->calls[i].kind == kind;
	return count;
}

/* The only call of a kind. */
static inline const struct call *the_call(const struct case_state *p, enum call_kind kind)
{
	size_t i = 0;

	assert_int_equal(count_calls(p, kind), 1);
	while (p->calls[i].kind != kind)
		i++;
	return &p->calls[i];
}

static inline bool was_entered(const struct case_state *p, uint64_t dir)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->calls[i].kind == CALL_ENTER && p->calls[i].id == dir)
			return true;
	}
	return false;
}

/* ---- rechecks ------------------------------------------------------------------------ */

static inline int case_setup(void **state)
{
	struct case_state *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	tree_setup((void **)&p->t);
	assert_int_equal(pthread_mutex_init(&p->lock, NULL), 0);
	p->hooks = (struct ingest_hooks){.enter = enter,
					 .not_entered = not_entered,
					 .holds_gone = holds_gone,
					 .identify = identify,
					 .retry = retry,
					 .add_recheck = add_recheck,
					 .needs_walk = needs_walk,
					 .trust = trust,
					 .may_miscount_names = may_miscount_names,
					 .reports_writes = reports_writes,
					 .failed = failed,
					 .since_ns = INT64_MAX,
					 .context = p};
	*state = p;
	return 0;
}

static inline int case_teardown(void **state)
{
	struct case_state *p = *state;

	for (size_t i = 0; i < p->named_count; i++)
		free(p->named[i]);
	tree_teardown((void **)&p->t);
	assert_int_equal(pthread_mutex_destroy(&p->lock), 0);
	free(p);
	return 0;
}

static inline void begin(struct case_state *p)
{
	p->count = 0;
	p->ingest = (struct ingest){.catalog = p->t->index.catalog,
				    .sources = &p->t->sources,
				    .settings = &p->t->settings,
				    .hooks = &p->hooks};
}

/* Makes the first scan, which adds the names to the index. */
static inline void follow(struct case_state *p)
{
	begin(p);
	assert_int_equal(ingest_names(&p->ingest), 0);
}

/* Compares the contents of all files of the index. */
static inline void compare(struct case_state *p)
{
	begin(p);
	p->ingest.hooks = NULL;
	assert_int_equal(ingest_contents(&p->ingest), 0);
}

static inline void recheck_dirs(struct case_state *p, const struct recheck *rechecks, size_t count)
{
	begin(p);
	assert_int_equal(ingest_recheck(&p->ingest, rechecks, count), 0);
	audit_index(p->t->index.catalog);
}

static inline uint64_t root_of(const struct case_state *p)
{
	return p->t->index.roots[0];
}

static inline void recheck_dir(struct case_state *p, uint64_t dir, enum recheck_scope scope)
{
	recheck_dirs(p, &(struct recheck){.dir = dir, .scope = scope}, 1);
}

/* Returns a name with its events, which case_teardown frees. */
static inline const struct name_events *named(struct case_state *p, const char *name,
					      uint32_t events)
{
	uint32_t length = (uint32_t)strlen(name);
	struct name_events *made = calloc(1, sizeof(*made) + length + 1);

	assert_non_null(made);
	assert_true(p->named_count < NAMED_MAX);
	made->events = events;
	made->length = length;
	memcpy(made->name, name, length + 1);
	p->named[p->named_count++] = made;
	return made;
}

static inline void recheck_name(struct case_state *p, uint64_t dir, const char *name,
				uint32_t events)
{
	const struct name_events *one = named(p, name, events);

	recheck_dirs(p, &(struct recheck){.dir = dir, .names = &one, .count = 1}, 1);
}

static inline uint64_t id_of(const struct case_state *p, const char *path)
{
	return id_of_path(p->t, path);
}

static inline void move(const struct case_state *p, const char *from, const char *to)
{
	assert_int_equal(renameat(p->t->fd, from, p->t->fd, to), 0);
}

/* Adds the directory "a" with one file to the index, then renames it to "b". Returns its id. */
static inline uint64_t move_indexed_dir(struct case_state *p, const char *file)
{
	uint64_t id;

	make_dir(p->t, "a");
	write_text(p->t, file, "1");
	follow(p);
	id = id_of(p, "a");
	move(p, "a", "b");
	return id;
}

static inline void remove_path(const struct case_state *p, const char *path, int flags)
{
	assert_int_equal(unlinkat(p->t->fd, path, flags), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, case_setup, case_teardown)

#endif
