/* SPDX-License-Identifier: MIT */
#ifndef FLEET_DIGESTING_H
#define FLEET_DIGESTING_H

/* Reads the wanted files whose digests are not known. For the main thread, which starts further
 * threads.
 *
 *	main thread: units of equal files
 *	   v
 *	reading threads (reading_pool.h): read one file of each unit, proved by scan/reading.h; if
 *	   that is not possible, the next one
 *	   v
 *	digesting.c: to the index, unless another process holds it
 *
 * A file that changes while it is read has no digest. Files that a process can write to, or that
 * changed a moment ago, are tried once more when all others were read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/progress.h"
#include "index/hashes.h"
#include "scan/ingest.h"

/* ---- the wanted files ----------------------------------------------------------------------- */

/* The wanted files that the index has, and what is known of their digests. Files of earlier lists
 * whose digests are still current are among them: a list lacks what an earlier one had. Takes 80
 * bytes of memory for each file. One thread at a time. */

struct file_list;
struct row_set;
struct set_folder;
struct sources;

/* ---- earlier digests ------------------------------------------------------------------------ */

/* The digests that the last `twinfs digest` wrote into its output folder. They save reading if the
 * index could not take them, because a view held it.
 *
 * A row has the file_digest() of its file (member "state"), which includes the ctime. So the digest
 * is current exactly as long as one in the index would be. Equal size and mtime would not prove
 * that, as programs set the mtime. Ids and states are those of one index, so rows of another index
 * are not used. For one thread; lookups for any thread.
 */

struct earlier_digest {
	uint64_t file;
	struct digest_record digest;
};

struct earlier_digests {
	struct earlier_digest *list; /* by file */
	size_t count, capacity;
};

/* Reads all rows of the present set in a folder. A set of another index, or none at all, has no
 * rows. A damaged one, too, which is logged.
 *
 * folder	of digests; struct row_set.folder
 * index	catalog_identity()
 *
 * Returns 0, -EINTR if stop_requested(), or -ENOMEM. The caller must call earlier_digests_free() in
 * all cases. */
MUST_CHECK int earlier_digests_load(struct earlier_digests *earlier,
				    const struct set_folder *folder, uint64_t index);
void earlier_digests_free(struct earlier_digests *earlier);

/* ---- wanted files --------------------------------------------------------------------------- */

enum wanted_state {
	WANTED_UNREAD,
	WANTED_KNOWN, /* its digest was known */
	WANTED_EARLIER, /* the list lacks it, but its digest is in the earlier output */
	WANTED_READ, /* it was read */
	WANTED_EQUAL, /* a file of its group was read */
	WANTED_PENDING, /* it changed while it was read, or a process can write to it */
	WANTED_UNREADABLE,
};

struct wanted_file {
	uint64_t id;
	uint64_t group; /* 0: no equal file is known */
	bool in_group; /* the digest is that of the group */
	uint64_t size; /* bytes */
	uint64_t digest_state; /* file_digest() to which the digest belongs */
	enum wanted_state state;
	int error; /* -errno, if it is unreadable */
	uint8_t digest[SHA256_BYTES]; /* if the state is KNOWN, READ or EQUAL */
};

/* The first paths of a kind, for messages, and the number of all. */
#define WANTED_NAMED 3
struct wanted_named {
	uint64_t count;
	char *paths[WANTED_NAMED];
};

struct wanted_files {
	/* By group, then by id; each file once. Files without a group are first. */
	struct wanted_file *list;
	size_t count, capacity;
	struct wanted_named missing; /* wanted, but the index has no such file */
	struct wanted_named changed; /* have another size than wanted */
};

struct wanted_search {
	const struct sources *sources;
	const struct file_list *wanted;
	const char *file; /* the list, for messages */
	const struct earlier_digests *earlier;
};

/* Finds the files of a list in the index. All pointers are borrowed. Each snapshot of the index is
 * short. Returns 0, -EXDEV (logged) if the list is not one of this index, -EINTR if
 * stop_requested(), or another -errno. The caller must call wanted_files_free() in all cases. */
MUST_CHECK int wanted_files_find(struct wanted_files *files, const struct wanted_search *search);
void wanted_files_free(struct wanted_files *files);

/* Returns whether the digest of the file is known or was read. */
static inline bool wanted_has_digest(const struct wanted_file *file)
{
	return file->state == WANTED_KNOWN || file->state == WANTED_EARLIER ||
	       file->state == WANTED_READ || file->state == WANTED_EQUAL;
}

/* ---- digests -------------------------------------------------------------------------------- */

/* All pointers are borrowed. */
struct digesting_task {
	const struct sources *sources;
	struct wanted_files *files; /* gets the digests */
	enum progress_when progress;
	enum ingest_disk disk;
	bool keeps_digests; /* this process can write to the index */
};

/* Reads the files. After a failure, too, each file that was read has its digest, also in the index
 * if it can be written. Failures of single files and of the index are logged. Returns 0, -EINTR if
 * stop_requested(), or another -errno that concerns all files. */
MUST_CHECK int digesting_run(const struct digesting_task *task);

/* ---- digest rows ---------------------------------------------------------------------------- */

/* Writes the digests of the wanted files as a set of rows (row_set.h), which twinfs(5) describes.
 * For one thread. */

/* Member "format" of the manifest. */
#define DIGEST_ROWS_FORMAT "twinfs-digests"

struct digest_rows_result {
	uint64_t rows;
	uint64_t unreadable; /* files that could not be read */
	/* Files without a row that change, or were not read because of an interrupt. */
	uint64_t pending;
};

/* Writes a row for each file whose digest is current now, and commits the set. Each snapshot of the
 * index is short. Sorts the files by id. Returns 0, -EXDEV after a failure that was logged, or
 * another -errno. */
MUST_CHECK int digest_rows_write(const struct sources *sources, struct wanted_files *files,
				 struct row_set *set, struct digest_rows_result *result);

#endif
