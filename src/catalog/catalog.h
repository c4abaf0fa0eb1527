/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_CATALOG_H
#define CATALOG_CATALOG_H

/* The index: an LMDB environment in a folder of its own.
 *
 * record.h         the records of directories, names, files, contents and groups, and their tables
 * query.h scan.h   queries and iterations, in a snapshot of a reader
 * change.h         changes, inside a transaction
 * commit_delta.h   the changes of a transaction, passed to an observer after the commit
 * source/source.h  the source trees
 *
 * A group is a class of files whose bytes were compared and found equal. One member is the kept
 * copy, which uniques/ shows. The other members are redundant. A file leaves its group in the
 * transaction that records a change of its signature. A group without a kept copy chooses one in
 * the same transaction. So in every snapshot each known content has exactly one kept copy.
 *
 * A process opens a folder once. Any number of threads read, each with its own readers. One thread
 * at a time writes. Other processes may read while one process writes. A lock file excludes a
 * second writer. A process that calls daemon(3) must open the index after that call, as LMDB's
 * locks belong to a process.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "catalog/record.h"

struct catalog;
struct catalog_reader;
struct catalog_writer;
struct cancellation;

/* Outcomes of opening that the caller must handle; failures are -errno. */
enum catalog_open_outcome {
	CATALOG_OPENED = 0,
	CATALOG_IN_USE = 1, /* another process writes the index: see catalog_owner() */
	CATALOG_NEWER = 2, /* written by a newer twinfs */
	CATALOG_NO_INDEX = 3, /* read only, and the folder has no index */
	CATALOG_REMOTE = 4, /* on a file system with unreliable locks and maps */
	CATALOG_DAMAGED = 5, /* read only, and the index is damaged or has an older format */
	CATALOG_OLDER = 6, /* of an older format; only catalog_check() returns this */
};

struct catalog_options {
	const char *folder; /* absolute; created with mode 0700 if missing, unless read_only */
	bool read_only;
	uint64_t map_bytes; /* initial size of the map, which grows as needed; 0: a default */
	/* check the whole index even if it was closed cleanly; not for read_only */
	bool distrusted;
	/* An index whose numbers of file systems are copied to a new index. NULL: none. Borrowed
	 * during the call. */
	struct catalog *beside;
};

/* Opens the index. Must be called before the process starts threads, as the function can fork.
 *
 * An index with a valid seal was closed cleanly. Without a seal, a child process checks every
 * record first. An index that is damaged (logged as a warning) or has an older format is set aside,
 * and a new index is made. With read_only such an index is refused. An index that another process
 * writes is trusted, as the writer has checked it.
 *
 * Returns 0, an enum catalog_open_outcome, or -errno. */
MUST_CHECK int catalog_open(struct catalog **catalog, const struct catalog_options *options);

/* Reads every record of the index in the folder and compares the tables with each other. A child
 * process does the reading, as damaged pages can crash the reader. Changes nothing; other processes
 * may use the index. Must be called before threads are started, as it forks. Returns CATALOG_OPENED
 * if the index is sound, another outcome, or -errno. Logs nothing. */
MUST_CHECK int catalog_check(const char *folder);

/* Closes the index; accepts NULL. No reader or writer may be in use. A writer seals the index. */
void catalog_close(struct catalog *catalog);

/* Finds the process that holds the lock of this folder. *pid is 0 if no process holds the lock, or
 * -1 if the process has not written its pid yet. *mount_point is "" if the process mounts no view.
 * The caller frees *mount_point. Takes the lock shared for a moment: a process that opens the index
 * in that moment gets CATALOG_IN_USE. Returns 0 or -errno. */
MUST_CHECK int catalog_owner(const char *folder, pid_t *pid, char **mount_point);

/* Records the mount point of this process's view of the index, for catalog_owner(). Returns 0 or
 * -errno. */
MUST_CHECK int catalog_set_mount_point(struct catalog *catalog, const char *mount_point);

/* Returns a secret random number that stays the same during the life of the index. Any thread. */
uint64_t catalog_secret(const struct catalog *catalog);

/* Marks the index as untrusted. catalog_close() does not seal it, and the next catalog_open()
 * checks all of it. The index is also marked if LMDB finds a damaged page, or if another program
 * writes to the data file. Any thread. */
void catalog_distrust(struct catalog *catalog);

/* Judges the index by the result of an operation on the whole index. After -EUCLEAN the index is
 * damaged: catalog_close() sets it aside, and the next catalog_open() makes a new one. After
 * -ENOENT the index is untrusted, as a record is missing to which another record refers. Any
 * thread. */
void catalog_judge(struct catalog *catalog, int result);

const char *catalog_folder(const struct catalog *catalog); /* as given to catalog_open() */

/* Sets *number to the catalog's number for the file system of fd, whose st_dev is device. Any
 * thread. Returns 0 or -errno. */
MUST_CHECK int catalog_filesystem(struct catalog *catalog, int fd, dev_t device, uint32_t *number);

/* ---- reading ------------------------------------------------------------------------- */

/* Begins a snapshot. A snapshot should be short, as LMDB cannot reuse its pages until it ends. The
 * call waits only while the map grows, not for the writer. A thread has one reader at a time and
 * must end it in the same thread. A thread with a reader must not call catalog_write(), which waits
 * for readers when the map grows. Returns 0 or -errno. */
MUST_CHECK int catalog_read_begin(struct catalog *catalog, struct catalog_reader **reader);
void catalog_read_end(struct catalog_reader *reader); /* accepts NULL */
static inline void catalog_read_endp(struct catalog_reader **reader)
{
	catalog_read_end(*reader);
}
#define CLEANUP_READER CLEANUP(catalog_read_endp)

/* ---- writing ------------------------------------------------------------------------- */

/* The body of a transaction. If the map has to grow, the body runs twice and must have the same
 * result both times. So it may change only the catalog and values that it computes again. */
typedef int catalog_write_fn(struct catalog_writer *writer, void *context);

/* Runs body in a transaction and commits it durably. Returns 0, or the error of body or of the
 * commit (-errno); after an error the index is unchanged. */
MUST_CHECK int catalog_write(struct catalog *catalog, catalog_write_fn *body, void *context);

/* As catalog_write(), for a program that can be interrupted. Returns -EINTR if it is interrupted
 * before its transaction begins, while other threads commit theirs. */
MUST_CHECK int catalog_write_unless(struct catalog *catalog, catalog_write_fn *body, void *context,
				    const struct cancellation *cancellation);

/* Returns a reader of the transaction's own state, for query functions. Valid until the transaction
 * ends. */
struct catalog_reader *catalog_writer_reader(struct catalog_writer *writer);

/* Returns an id that was never used before. Any thread. Returns 0 and sets errno if ids ran out
 * (EOVERFLOW) or the reservation could not be stored. */
uint64_t catalog_new_id(struct catalog *catalog);

#endif
