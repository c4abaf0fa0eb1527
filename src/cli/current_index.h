/* SPDX-License-Identifier: MIT */
#ifndef CLI_CURRENT_INDEX_H
#define CLI_CURRENT_INDEX_H

/* An up-to-date index for commands that read it. Either this process updates the index, or it
 * requests an update from the process that maintains the index. For the main thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/output.h"
#include "index/source.h"
#include "scan/indexing.h"
#include "twinfs/exit.h"

/* Purpose for which a command opens an index. */
enum index_use {
	/* prints its contents; a larger --min-size and further --exclude are filters */
	INDEX_READ,
	/* prints the files of uniques/ of the view, or updates the index; no option can be a
	 * filter */
	INDEX_EXACT,
	/* prints what the user possibly deletes next; refused if another process maintains the
	 * index */
	INDEX_PROOF,
	INDEX_ACT, /* changes files; the same options are filters */
};

struct current_index {
	struct catalog *catalog;
	const struct sources *sources;
	/* The sources as the user gave them, borrowed; none if the operand was a mount point. */
	char *const *given;
	size_t given_count;
	enum index_use use;
	bool served; /* another process maintains the index, so snapshots must be short */
	bool synced; /* current_index_sync() has logged its result */
	bool abandoned; /* at the last current_index_sync(), no process maintained the index */
	/* The update failed, so the index can lack the latest changes. Or an operand was not
	 * found. */
	bool unfinished;
	bool lacks_files; /* files had no name in the snapshot of the result */
	bool lacks_moved; /* files were possibly moved past the walks of the view */
	struct timespec last_scan; /* with --no-scan: from catalog_last_scan() */
	struct indexing indexing; /* if this process updates it */
	struct sources served_sources; /* if another process maintains it */
};

/* Finds and opens the index for the operands of a command (SOURCE... or MOUNTPOINT), and updates
 * it, which can take long. Shows progress, and logs unreadable files. If another process maintains
 * the index, options are checked, and INDEX_PROOF is refused. All uses but
 * INDEX_READ are refused if
 * that process cannot update the index.
 *
 * With --no-scan, opens the index as it is, without the sources, and logs the time of its last
 * scan. Only for INDEX_READ.
 *
 * use	purpose of the command
 *
 * Returns 0 or -errno. Failures are logged, except -EINTR and some cases of -ENOMEM. */
MUST_CHECK int current_index_open(struct current_index *index,
				  const struct index_settings *settings, char *const *operands,
				  size_t count, enum index_use use);

/* Returns whether an operand is the mount point of a view. */
MUST_CHECK bool current_index_is_view(const char *operand);

/* Checks the options again in the snapshot that is printed or acted on, if another process
 * maintains the index: the options of that process can have changed since current_index_open().
 * Returns 0, or -EXDEV (logged) if an option is refused, or another -errno. */
MUST_CHECK int current_index_check_options(const struct current_index *index,
					   struct catalog_reader *reader);

/* The same in a snapshot of its own. */
MUST_CHECK int current_index_check_options_now(const struct current_index *index);

/* The steps of current_index_open(), for commands that read an index without updating it. */

/* Finds the folder of the index (index->indexing.folder). Returns 0 or -errno, logged. */
MUST_CHECK int current_index_locate(struct current_index *index,
				    const struct index_settings *settings, char *const *operands,
				    size_t count);

/* Opens the index read-only. Returns 0 or -errno, logged. */
MUST_CHECK int current_index_attach(struct current_index *index);

/* Requests an update from the process that maintains the index, and waits for the update. Sets
 * abandoned if there is no such process, unfinished after a failure, and lacks_moved; the first
 * call logs these. Returns 0, or -EINTR. */
MUST_CHECK int current_index_sync(struct current_index *index);

/* Begins the snapshot for a result that must have all files. A file that a program renames has no
 * name for a moment, between two transactions of the process that maintains the index. If there is
 * such a file, requests an update and begins another snapshot, some times. If files without a name
 * are left, logs their number and sets lacks_files. Returns 0, -EINTR or another -errno. */
MUST_CHECK int current_index_begin_whole(struct current_index *index,
					 struct catalog_reader **reader);

/* Returns whether a result from the index is incomplete for a reason that was logged. */
static inline bool current_index_is_incomplete(const struct current_index *index)
{
	return index->unfinished || index->lacks_files || index->lacks_moved;
}

/* Refuses sources that changed since they were indexed (source_check.h). Must be called after
 * current_index_attach() and current_index_sync(). Returns 0 or -errno, logged. */
MUST_CHECK int current_index_check_sources(const struct current_index *index);

/* Closes and frees everything. Accepts an index that is all zero. */
void current_index_close(struct current_index *index);
#define CLEANUP_CURRENT_INDEX CLEANUP(current_index_close)

/* Returns the exit status of a command that has finished, for this number of unreadable files and
 * of files that are not compared yet. Logs a warning for each number above 0. */
enum twinfs_exit current_index_status(const struct current_index *index, uint64_t errors,
				      uint64_t pending);

/* ---- reclaimable bytes after other sharing ------------------------------------------ */

/* The figures of reclaimable bytes after files share other extents than before. For the main
 * thread. */

/* Notes in the index, unless another process maintains it, that the extents of all groups have to
 * be mapped again. Called before files share other extents, as the process can be killed meanwhile.
 * Returns 0 or -errno, logged. */
MUST_CHECK int index_remap_begin(const struct current_index *index);

/* After index_remap_begin(), maps the extents of all groups of the index again, and has the daemons
 * of views with these sources do the same in their indexes. A view that does not answer keeps its
 * figures. Returns 0, also after stop_requested(), or -errno, logged. */
MUST_CHECK int index_remap(struct current_index *index);

/* Finds the sources as the user wrote them: for each source the first given path that leads to it,
 * or its absolute path if none does. Paths are printed in this form.
 * Returns a list that the caller frees, or NULL if memory is short. The paths in the list are
 * borrowed from the index. */
MUST_CHECK const char **shown_paths_find(const struct current_index *index);

/* ---- printing -------------------------------------------------------------------------------- */

/* Prints from a current index, in one snapshot. For the main thread; all pointers are borrowed. */

struct catalog_reader;

struct index_printer {
	const char *noun; /* of the output, for messages: "list" */
	/* Prints everything. If the result is incomplete, sets *status and logs a warning. Returns
	 * 0, -EXDEV (logged) if an option is refused, or another -errno. Need not return errors of
	 * output, which stores them. */
	int (*print)(void *context, const struct current_index *index,
		     struct catalog_reader *reader, struct output *output,
		     enum twinfs_exit *status);
	void *context;
	bool whole; /* the result must have all files: current_index_begin_whole() */
};

/* Prints to stdout. Returns the exit status. Failures are logged, except -EPIPE and -EINTR. */
enum twinfs_exit index_print(const struct index_printer *printer, struct current_index *index);

/* Prints to an open file, like index_print(). */
enum twinfs_exit index_print_to(const struct index_printer *printer, struct current_index *index,
				int fd);

/* Logs what the command cannot do with the index, and how to mend it if it is damaged. Logs nothing
 * for -EINTR and -EXDEV. format: "print the list". */
void index_explain_failure(int result, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
