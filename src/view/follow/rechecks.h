/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_RECHECKS_H
#define VIEW_FOLLOW_RECHECKS_H

/* Names that the follower rechecks: what other threads request, and what a round does with
 * events. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "index/catalog.h"
#include "index/source.h"
#include "scan/ingest.h"
#include "view/follow/event_set.h"

/* ---- requests ----------------------------------------------------------------------- */

/* Queue of rechecks that other threads request from the follower. Any thread. */

/* recheck_inbox_init() sets all fields but the lock to zero. */
struct recheck_inbox {
	pthread_mutex_t lock; /* guards all fields below */
	struct event_set names;
	struct bytes files; /* array of struct file_request */
	struct bytes dirs; /* ids of directories that are not at the path in the index */
	bool rescan; /* all sources must be rescanned; set by request, or if memory ran out */
};

void recheck_inbox_init(struct recheck_inbox *inbox);
void recheck_inbox_deinit(struct recheck_inbox *inbox);

/* Requests a recheck.
 *
 * misplaced	the directory was not at the path in the index, so its own name is rechecked */
void recheck_inbox_add(struct recheck_inbox *inbox, const struct recheck *recheck, bool misplaced);

/* Requests a recheck of a name of the file.
 *
 * events	EVENT_NAME: the file lost a name
 *		EVENT_ATTRIBUTES: the file possibly differs from the index
 *		EVENT_WRITTEN: a program has the file open for writing on a file system with
 *		unreliable times */
void recheck_inbox_add_file(struct recheck_inbox *inbox, uint64_t file, enum name_event events);

/* Requests a rescan of every source. */
void recheck_inbox_add_rescan(struct recheck_inbox *inbox);

/* Requests a recheck of each file of inodes that the index has.
 *
 * inodes	from watch_take_inodes(); the number of a queue is that of a source
 *
 * Returns 0 or -errno. */
MUST_CHECK int linked_files_note(const struct sources *sources, const struct event_set *inodes,
				 struct recheck_inbox *inbox);

bool recheck_inbox_has_requests(struct recheck_inbox *inbox);

/* Returns whether the recheck of a directory is requested again because it failed, or requests were
 * possibly lost. */
bool recheck_inbox_has_failed(struct recheck_inbox *inbox);

/* Moves all requests into events, as names. Leaves out files and directories that are not in the
 * index.
 *
 * rescan	receives whether all sources have to be rescanned
 *
 * Returns 0, or -errno: then a part of the requests is lost. */
MUST_CHECK int recheck_inbox_take(struct recheck_inbox *inbox, struct catalog *catalog,
				  struct event_set *events, bool *rescan);

/* ---- plan --------------------------------------------------------------------------- */

/* What a round of the follower does with events of names: first hides the files that were possibly
 * written to, then plans rechecks of directories. One thread. */

/* Lowers the trust in renames to this level, unless it is lower already. */
static inline void rename_trust_lower(enum rename_trust *trust, enum rename_trust level)
{
	if (*trust < level)
		*trust = level;
}

/* A file that was possibly written to. */
struct written_file {
	uint64_t file;
	bool closed; /* every known writer has closed it */
};

/* Finds the files by their names in the index. Commits that their contents are unknown.
 *
 * list		from event_set_list()
 * trust	lowered to RENAME_UNTRUSTED if a write possibly belongs to another name
 * written	receives a struct written_file for each of these files
 *
 * Returns 0 or -errno. */
MUST_CHECK int written_files_hide(struct catalog *catalog, const struct name_events *const *list,
				  size_t count, enum rename_trust *trust, struct bytes *written);

struct recheck_plan {
	/* Each directory occurs once. Directories with RECHECK_TREE are first. Each of them is
	 * rechecked by itself, as one tree can contain another. Names are borrowed from the list of
	 * events. */
	struct recheck *list;
	size_t count;
	size_t tree_count;
	enum rename_trust trust; /* set by the caller */
	bool needs_walk; /* a name that the plan leaves out is possibly a link to any file */
};

/* Fills plan->list, and sets plan->needs_walk if necessary. Leaves out directories that are in a
 * missing source, are not in the index, or are below a root with RECHECK_TREE. Returns 0 or
 * -errno. */
MUST_CHECK int recheck_plan_make(struct recheck_plan *plan, const struct sources *sources,
				 const struct name_events *const *list, size_t count);

void recheck_plan_free(struct recheck_plan *plan);

#endif
