/* SPDX-License-Identifier: MIT */
#ifndef INDEX_CATALOG_H
#define INDEX_CATALOG_H

/* The index: an LMDB environment in a folder of its own.
 *
 * record.h         the records of directories, names, files, contents and groups, and their tables
 * query.h scan.h   queries and iterations, in a snapshot of a reader
 * paths.h          names and paths, in a snapshot of a reader
 * change.h         changes, inside a transaction
 * commit_delta.h   the changes of a transaction, passed to an observer after the commit
 * index/source.h  the source trees
 *
 * A group is a class of files whose bytes were compared and found equal. One member is the kept
 * copy, which uniques/ shows. The other members are redundant. If the content of a file possibly
 * changed, the file leaves its group in the transaction that records the change. A group whose kept
 * copy left chooses another member in the same transaction. So in every snapshot, each group with
 * members has exactly one kept copy.
 *
 * A process must not have the same folder open twice. Each thread reads with its own reader. One
 * thread at a time writes. Other processes may read while one process writes. A lock file excludes
 * a second process that writes. A process that calls daemon(3) must open the index after that call,
 * as LMDB's locks belong to a process.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "index/record.h"

struct catalog;
struct catalog_reader;
struct catalog_writer;
struct cancellation;

/* Outcomes of opening that the caller must handle; failures are -errno. */
enum catalog_open_outcome {
	CATALOG_OPENED = 0,
	CATALOG_IN_USE = 1, /* another process writes the index: see catalog_owner() */
	CATALOG_NEWER = 2, /* a newer twinfs wrote the index */
	/* The folder is missing or has no index. A writer creates both instead. */
	CATALOG_NO_INDEX = 3,
	CATALOG_REMOTE = 4, /* the folder is on a file system with unreliable locks and maps */
	CATALOG_DAMAGED = 5,
	CATALOG_OLDER = 6, /* an older twinfs wrote the index */
	/* An index that has to be copied was not closed cleanly, or is being changed. */
	CATALOG_UNSEALED = 7,
	CATALOG_HAS_ACTS = 8, /* only of catalog_forget(): an act was interrupted */
};

struct catalog_options {
	const char *folder; /* absolute; created with mode 0700 if missing, unless read_only */
	bool read_only;
	uint64_t map_bytes; /* initial size of LMDB's map, which grows as needed; 0: a default */
	/* check the whole index even if it was closed cleanly; not for read_only */
	bool distrusted;
	/* With read_only: if the index belongs to another user or cannot be locked, opens a checked
	 * copy of it, which is a file without a name. */
	bool copied_if_needed;
	/* Another open index. Its numbers of file systems are copied to this index, which must be
	 * new. NULL: none. Borrowed during the call. */
	struct catalog *beside;
};

/* Finds out whether a folder has an index or other files (index/store/index_files.h). The caller
 * frees
 * *other. Returns 0 or -errno. */
MUST_CHECK int catalog_examine_folder(const char *folder, bool *is_index, char **other);

/* Opens the index. Must be called before the process starts threads, as the function can fork.
 *
 * An index with a valid seal was closed cleanly. If the index has no valid seal, a child process
 * first checks every record. An index that is damaged or has an older format is set aside, which is
 * logged, and a new index is made. With read_only, such an index is refused. A reader trusts an
 * index that another process writes, as that process has checked it.
 *
 * Returns 0, an enum catalog_open_outcome, or -errno. */
MUST_CHECK int catalog_open(struct catalog **catalog, const struct catalog_options *options);

/* Reads every record of the index in the folder and compares the tables with each other. A child
 * process reads them, as damaged pages can crash the reader. Does not change the index, which other
 * processes may use meanwhile. Must be called before threads are started, as it forks. Returns
 * CATALOG_OPENED if the index is sound, another outcome, or -errno. Logs nothing. */
MUST_CHECK int catalog_check(const char *folder);

/* Removes the index in a folder, and the folder if it has no other files. The log of acts stays, as
 * it cannot be made anew. Returns 0, CATALOG_IN_USE, CATALOG_NO_INDEX, CATALOG_HAS_ACTS, or -errno;
 * -ENOTEMPTY if the folder stays for its other files. */
MUST_CHECK int catalog_forget(const char *folder);

/* Closes the index; accepts NULL. No reader or writer may be in use. An index that was open for
 * writing is sealed, unless it is untrusted. A damaged one is set aside. Logs failures. */
void catalog_close(struct catalog *catalog);

/* Finds the process that holds the lock of this folder. *pid is 0 if no process holds the lock, or
 * -1 if the process has not written its pid yet. *mount_point is "" if the process mounts no view.
 * The caller frees *mount_point, which is NULL after a failure. The function takes the lock shared
 * for a moment: a process that opens the index for writing in that moment gets CATALOG_IN_USE.
 * Returns 0 or -errno. */
MUST_CHECK int catalog_owner(const char *folder, pid_t *pid, char **mount_point);

/* Records the mount point of this process's view of the index, for catalog_owner(). The index must
 * be open for writing. Returns 0 or -errno. */
MUST_CHECK int catalog_set_mount_point(struct catalog *catalog, const char *mount_point);

/* Records that the index has everything that was in the sources at this time. Any thread. */
void catalog_note_scan(struct catalog *catalog, struct timespec time);

/* Sets *time to the time of the last whole scan, to the second. If that is unknown, to the time of
 * the last commit, or to zero if there is none. The thread must have no reader. Returns 0 or
 * -errno. */
MUST_CHECK int catalog_last_scan(struct catalog *catalog, struct timespec *time);

/* Records the paths of the sources in a file of the folder, for catalog_recall_sources(). */
void catalog_note_sources(struct catalog *catalog, const char *text);

/* Reads what catalog_note_sources() wrote, truncated to size - 1 bytes, if catalog_open() can then
 * open the index read-only without reading each record. Does not open the index. Returns 0,
 * CATALOG_UNSEALED, -EPERM if another user owns the index or can write to it, or another -errno. */
MUST_CHECK int catalog_recall_sources(const char *folder, char *text, size_t size);

/* Sets *since to a time in seconds since 1970: the bytes of files that changed then or later were
 * possibly lost when the machine stopped, so their contents in the index are not certain.
 * INT64_MAX: all are. An index that is opened for writing has forgotten them. Returns 0 or -errno.
 */
MUST_CHECK int catalog_lost_since(struct catalog *catalog, int64_t *since);

/* Returns the number that a file system of the catalog has in another catalog, or 0 if it is not
 * known there, or one of both catalogs has two numbers for its identity. Any thread. */
uint32_t catalog_filesystem_in(struct catalog *catalog, uint32_t number, struct catalog *other);

/* Returns a secret random number that stays the same during the life of the index. Any thread. */
uint64_t catalog_secret(const struct catalog *catalog);

/* Returns a number that differs from that of any other index, also of an earlier one in the same
 * folder. Ids are only comparable within one index. Does not reveal the secret. Any thread. */
uint64_t catalog_identity(const struct catalog *catalog);

/* Marks the index as untrusted. catalog_close() does not seal it, and the next catalog_open()
 * checks all of it. The store marks the index in the same way if LMDB finds a damaged page, or if
 * another process writes to the data file. Any thread. */
void catalog_distrust(struct catalog *catalog);

/* Marks the index according to the result of an operation on the whole index. -EUCLEAN marks it as
 * damaged: catalog_close() sets it aside, and the next catalog_open() makes a new one. -ENOENT
 * marks it as untrusted, as a record is missing to which another record refers. Other results
 * change nothing. Any thread. */
void catalog_judge(struct catalog *catalog, int result);

/* Returns how many nanoseconds all commits of this process took together, until they were on the
 * disk. Any thread. */
uint64_t catalog_commits_ns(const struct catalog *catalog);

const char *catalog_folder(const struct catalog *catalog); /* as given to catalog_open() */

/* Sets *number to the catalog's number for the file system of fd, whose st_dev is device. Any
 * thread. Returns 0 or -errno. */
MUST_CHECK int catalog_filesystem(struct catalog *catalog, int fd, dev_t device, uint32_t *number);

/* Sets *number to the catalog's number for the file system that has this st_dev, or to 0 if this
 * process has not met it. Returns whether it is known. Any thread. */
bool catalog_knows_filesystem(struct catalog *catalog, dev_t device, uint32_t *number);

/* Forgets which file system has a st_dev, because it was unmounted: the kernel can give the st_dev
 * to another file system, and another one to this file system when it is mounted again. Any thread.
 */
void catalog_forget_device(struct catalog *catalog, dev_t device);

/* Notes that a file on the file system with this number has a ctime that is not its mtime. */
void catalog_note_ctime(struct catalog *catalog, uint32_t number);

/* Returns whether a program can write to a file and leave its signature the same, because the ctime
 * is a copy of the mtime. True until catalog_note_ctime() if the type of the file system does not
 * decide (filesystem_ctime_of()). Any thread.
 *
 * type		f_type of statfs(2)
 * number	of the file system; 0: none */
bool catalog_lacks_ctime(struct catalog *catalog, uint32_t type, uint32_t number);

/* Returns whether a directory with this st_dev is on the file system with this number. Asks the
 * file system itself, as another one can have had the st_dev before, and notes the answer. A second
 * copy of a file system, with a number of its own, is another one. Any thread. */
bool catalog_confirm_filesystem(struct catalog *catalog, int fd, dev_t device, uint32_t number);

/* ---- reading ------------------------------------------------------------------------- */

/* Begins a snapshot, which should be short: LMDB cannot reuse pages of a snapshot that is open. The
 * call waits while the map grows. It waits for a writer only if LMDB must be reopened after a
 * failed write. A thread has one reader of an index at a time, and must end that reader itself. A
 * thread with a reader must not call catalog_write(), which waits for readers when the map grows or
 * must be reopened. Both are refused (-EDEADLK). Returns 0, -EAGAIN if too many snapshots are open,
 * or another -errno. */
MUST_CHECK int catalog_read_begin(struct catalog *catalog, struct catalog_reader **reader);
void catalog_read_end(struct catalog_reader *reader); /* accepts NULL */
static inline void catalog_read_endp(struct catalog_reader **reader)
{
	catalog_read_end(*reader);
}
#define CLEANUP_READER CLEANUP(catalog_read_endp)

/* ---- writing ------------------------------------------------------------------------- */

/* The body of a transaction. Returns 0 to commit; another value aborts the transaction. If the map
 * has to grow, the body runs again and must have the same result each time. So it may change only
 * the catalog and values that it computes again. */
typedef int catalog_write_fn(struct catalog_writer *writer, void *context);

/* Runs body in a transaction and commits it durably. Returns 0, another result of body, or -errno
 * if the transaction failed. If the result is not 0, the index is unchanged. */
MUST_CHECK int catalog_write(struct catalog *catalog, catalog_write_fn *body, void *context);

/* Works like catalog_write(), but returns -EINTR if cancellation is requested before the
 * transaction begins. The call checks this while it waits for other threads. NULL: no
 * cancellation. */
MUST_CHECK int catalog_write_unless(struct catalog *catalog, catalog_write_fn *body, void *context,
				    const struct cancellation *cancellation);

/* Returns a reader of the transaction's own state, for query functions. The reader is valid until
 * the transaction ends. */
struct catalog_reader *catalog_writer_reader(struct catalog_writer *writer);

/* Returns an id that was never used before. Returns 0 and sets errno if all ids are used
 * (EOVERFLOW), or if ids could not be reserved on the disk. Any thread. */
uint64_t catalog_new_id(struct catalog *catalog);

/* Returns the id that is above all ids that were used. Any thread. */
uint64_t catalog_ids_end(struct catalog *catalog);

#endif
