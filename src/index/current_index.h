/* SPDX-License-Identifier: MIT */
#ifndef INDEX_CURRENT_INDEX_H
#define INDEX_CURRENT_INDEX_H

/* An index that is current, for commands that read it: one that this process brings up to date, or
 * one that another process keeps, which is asked to. For the first thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "index/index_settings.h"
#include "index/indexing.h"
#include "index/served_options.h"
#include "source/source.h"
#include "twinfs/exit.h"

struct current_index {
	struct catalog *catalog;
	const struct sources *sources;
	/* The sources as the user gave them, borrowed; none where it was a mount point. */
	char *const *given;
	size_t given_count;
	enum index_use use;
	bool served; /* another process keeps it: no snapshot of it may be held for long */
	bool synced; /* who keeps it was asked, and it was said what came of it */
	bool abandoned; /* who kept it has ended */
	bool unfinished; /* nobody brought it up to date: it may lack what happened last */
	struct indexing indexing; /* our own */
	struct sources served_sources;
};

/* Finds the index of the operands of a command, SOURCE... or MOUNTPOINT, has it brought up to date,
 * which may take long, and opens it. What is of interest to the user is said, also what could not
 * be read. Where another process maintains the index, options that differ from those of that process
 * are refused, and acts and manifests also where that process cannot bring it up to date.
 *
 * use	what the index is opened for
 *
 * 0 or -errno, logged. */
MUST_CHECK int current_index_open(struct current_index *index,
				  const struct index_settings *settings, char *const *operands,
				  size_t count, enum index_use use);

/* Compares the options again in the snapshot that is printed or acted upon: the process that
 * maintained the index may have been followed by another one. 0 or -errno, logged if -EXDEV. */
MUST_CHECK int current_index_check_options(const struct current_index *index,
					   struct catalog_reader *reader);

/* The same in steps, for who wants to look at it as it is. locate finds its folder
 * (index->indexing.folder); attach opens it, only to be read; sync has the process that keeps it, if
 * there is one, bring it up to date: for as long as that takes. 0 or -errno, said; of sync 0 or
 * -EINTR. */
MUST_CHECK int current_index_locate(struct current_index *index,
				    const struct index_settings *settings, char *const *operands,
				    size_t count);
MUST_CHECK int current_index_attach(struct current_index *index);
MUST_CHECK int current_index_sync(struct current_index *index);

/* Refuses sources that are not what the index knows, after attach and sync. 0 or -errno, logged. */
MUST_CHECK int current_index_check_sources(const struct current_index *index);

/* Accepts one that is all zero. */
void current_index_close(struct current_index *index);
#define CLEANUP_CURRENT_INDEX CLEANUP(current_index_close)

/* What to exit with when all was done with what the index has: it may be incomplete, which is
 * said. */
enum twinfs_exit current_index_status(const struct current_index *index, uint64_t errors,
				      uint64_t pending);

#endif
