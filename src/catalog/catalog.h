/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_CATALOG_H
#define CATALOG_CATALOG_H

/* The index: one LMDB environment in a folder of its own.
 *
 * A process opens a folder once. Any number of threads read, each with readers of its own; one
 * thread at a time writes. Other processes may read while one writes; a lock file keeps a second
 * writer out. Open it after daemon(3): LMDB's locks belong to the process.
 *
 * Queries are in catalog/query.h, changes in catalog/change.h, source trees in
 * source/source.h.
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
struct interruption;

/* Outcomes of opening that the caller must handle; failures are -errno. */
enum catalog_open_outcome {
	CATALOG_OPENED = 0,
	CATALOG_IN_USE = 1, /* another process writes it: see catalog_owner */
	CATALOG_NEWER = 2, /* written by a newer twinfs */
	CATALOG_NO_INDEX = 3, /* read only, and nothing is there */
	CATALOG_REMOTE = 4, /* on a file system whose locks and maps cannot be relied on */
	CATALOG_DAMAGED = 5, /* read only, and it cannot be read, or is of an older format */
	CATALOG_OLDER = 6, /* of an older format (only catalog_check tells) */
};

struct catalog_options {
	const char *folder; /* absolute; made (0700) where it is missing, unless read_only */
	bool read_only;
	uint64_t map_bytes; /* 0: a default; it grows by itself */
	bool distrusted; /* to write it: it is checked wholly, also after a clean stop */
	/* Borrowed while it is opened: another index, of which this one, a new one, has the numbers of
	 * file systems; NULL: none. */
	struct catalog *beside;
};

/* Opens the index, before the process starts threads: it may fork. A damaged one (logged as a
 * warning) and one of an older format are set aside and built anew; whether it was stopped cleanly
 * is known by the seal, else it is checked in a child process first. A reader refuses a damaged one,
 * and trusts one that another process writes: the writer has checked it. */
MUST_CHECK int catalog_open(struct catalog **catalog, const struct catalog_options *options);

/* Reads every record of the index in the folder and holds the tables against each other, in a child
 * process, as what is damaged may kill who reads it. Nothing is changed, and others may use the index.
 * Forks: call it before threads are started. CATALOG_OPENED: it is sound; another outcome, or
 * -errno; nothing is logged. */
MUST_CHECK int catalog_check(const char *folder);

/* Closes it, waiting for no one: no reader or writer may be in use. A writer seals the index. */
void catalog_close(struct catalog *catalog);

/* Which process holds the lock of this folder: pid (0: none; -1: a process that has not written its pid
 * yet) and mount point ("": none; free it). The lock is taken shared for a moment: another process
 * that opens the index at that moment gets CATALOG_IN_USE. */
MUST_CHECK int catalog_owner(const char *folder, pid_t *pid, char **mount_point);

/* Tells others where this process mounts the view of the index. */
MUST_CHECK int catalog_set_mount_point(struct catalog *catalog, const char *mount_point);

/* A number that nobody can guess, and that stays as long as the index. Any thread. */
uint64_t catalog_secret(const struct catalog *catalog);

/* What was read contradicts itself (-EUCLEAN): catalog_close then sets the index aside instead of
 * sealing it, and the next catalog_open makes a new one. A damaged record that is met does the
 * same. Any thread. */
void catalog_condemn(struct catalog *catalog);

/* It may do so: catalog_close does not seal the index, and the next catalog_open reads all of it
 * before it is believed. So does a page that LMDB takes for damaged, and a write of somebody else to
 * the data file. Any thread. */
void catalog_doubt(struct catalog *catalog);

/* What reading or writing all of it came to: condemns it for -EUCLEAN, and doubts it for -ENOENT,
 * when a record that another one names is not there. Any thread. */
void catalog_judge(struct catalog *catalog, int result);

const char *catalog_folder(const struct catalog *catalog); /* as given at opening */

/* Device and inode of the index folder, which no walk enters. */
void catalog_folder_identity(const struct catalog *catalog, dev_t *device, ino_t *inode);

/* The catalog's number for the file system of fd, whose st_dev is device. Any thread. 0 or -errno. */
MUST_CHECK int catalog_filesystem(struct catalog *catalog, int fd, dev_t device, uint32_t *number);

/* ---- reading ------------------------------------------------------------------------- */

/* Begins a snapshot. Keep it short: pages that it sees cannot be used again until it ends.
 * Does not wait for the writer (only, for a moment, for a growing map). A thread has one reader
 * at a time, and none while it calls catalog_write: the growing map waits for readers. It ends
 * in the thread that it began in. 0 or -errno. */
MUST_CHECK int catalog_read_begin(struct catalog *catalog, struct catalog_reader **reader);
void catalog_read_end(struct catalog_reader *reader); /* accepts NULL */
static inline void catalog_read_endp(struct catalog_reader **reader)
{
	catalog_read_end(*reader);
}
#define CLEANUP_READER CLEANUP(catalog_read_endp)

/* ---- writing ------------------------------------------------------------------------- */

/* The body of a transaction. It may run twice (after the map had to grow) and must then come to
 * the same result: it changes nothing but the catalog and what it computes anew. */
typedef int catalog_write_fn(struct catalog_writer *writer, void *context);

/* Runs body in a transaction and commits it, durably. 0, or what body returned (< 0: nothing
 * was changed), or -errno: -ENOSPC and -EIO leave the index as it was. */
MUST_CHECK int catalog_write(struct catalog *catalog, catalog_write_fn *body, void *context);

/* The same, for a program that waits: -EINTR if it is interrupted before this transaction begins, while
 * other threads commit theirs. */
MUST_CHECK int catalog_write_unless(struct catalog *catalog, catalog_write_fn *body, void *context,
				    const struct interruption *interruption);

/* The same snapshot through the query functions; valid until the transaction ends. */
struct catalog_reader *catalog_writer_reader(struct catalog_writer *writer);

/* An id that was never used. Any thread, before the thing is written; 0 with errno set when ids
 * ran out (EOVERFLOW) or the reservation could not be stored. */
uint64_t catalog_new_id(struct catalog *catalog);

#endif
