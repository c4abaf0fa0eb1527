/* SPDX-License-Identifier: MIT */
#ifndef SCAN_READING_H
#define SCAN_READING_H

/* Reads a file, and proves that the bytes belong to the signature in the index.
 *
 * An equal signature before and after the read is not enough. The kernel sets ctime before it
 * copies the data. A store to a dirty page of a shared mapping changes no time. Therefore three
 * conditions must hold:
 *
 * 1. The signature is the same before and after the read.
 * 2. No process has the file open for writing or mapped writable, before and after the read. A read
 *    lease (fcntl(2) F_SETLEASE) proves this, as the kernel refuses the lease if such a process
 *    exists.
 * 3. The last change is older than the guard time, within which two changes can leave the same time
 *    stamps.
 *
 * If the file system refuses leases, or the process lacks the rights, only conditions 1 and 3 are
 * checked.
 *
 * While the lease is held, no process of this machine can write the file. Bytes that are read under
 * the lease are therefore the content at the final check, so one check after the read is enough.
 *
 * The process must ignore SIGIO, which the kernel sends when a lease is broken. Not shared between
 * threads.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/filesystem.h"
#include "index/query.h"
#include "index/source.h"

/* Outcomes that the caller must handle; failures are -errno. */
enum reading_outcome {
	READING_CHANGED = 1, /* the signature differs from the index */
	/* a process is possibly writing the file, or changed it within the guard time; the caller
	 * must try again later */
	READING_BUSY = 2,
	READING_GONE = 3, /* the name no longer leads to this file */
};

/* The directory of the last opened file. It stays open, so that the next file in it is opened
 * without resolving the path. Must be initialized with FILE_OPENER_INIT. */
struct file_opener {
	const struct sources *sources; /* borrowed */
	uint64_t dir;
	int fd; /* of dir; -1: none is open */
	uint32_t filesystem; /* of dir, as in struct attributes */
	enum filesystem_kind kind; /* of that file system */
	bool patient; /* reading_open() waits for the end of a long guard time, too */
};

/* Returns whether the guard time of a file has passed. Its file system must have fine times. */
bool reading_guard_is_over(const struct attributes *attributes);

#define FILE_OPENER_INIT(sources_)              \
	{                                       \
		.sources = (sources_), .fd = -1 \
	}

void file_opener_deinit(struct file_opener *opener);

/* Opens the file for reading at one of its names, which can lead to another file by now. Returns a
 * descriptor, which the caller closes, or -errno. */
MUST_CHECK int file_opener_open(struct file_opener *opener, struct catalog_reader *reader,
				const struct file_record *file);

/* A file that is open for reading. */
struct reading {
	int fd;
	bool leased; /* a lease is held while the file is open */
	bool lease_refused; /* the kernel grants no lease on this file */
	bool unexamined; /* the file was not checked yet, so attributes are those in the index */
	struct attributes attributes; /* as read last */
};

/* Opens the file at one of its names. The name can lead to another file, and no lease is taken:
 * reading_check() must follow before a byte is read. Until then, the caller may have the kernel
 * read ahead (disk_fetch_range()). Returns 0, READING_GONE, or -errno. */
MUST_CHECK int reading_open_unchecked(struct reading *reading, struct file_opener *opener,
				      struct catalog_reader *reader,
				      const struct file_record *file);

/* Checks that the bytes of a file that reading_open_unchecked() opened can be proved now.
 *
 * hold		keep the lease until reading_close(). Only for a file that is read in one go, as a
 *		writer has to wait for the end of the lease.
 *
 * Returns 0, an enum reading_outcome, or -errno. If the result is not 0, the file is closed. After
 * READING_CHANGED, reading->attributes are the new ones. If the lease is held and times are finer
 * than seconds, only reading_close() checks the signature. Can wait for the guard time (20 ms).
 */
MUST_CHECK int reading_check(struct reading *reading, const struct file_opener *opener,
			     const struct file_record *file, bool hold);

/* Calls reading_open_unchecked() and reading_check(). */
MUST_CHECK int reading_open(struct reading *reading, struct file_opener *opener,
			    struct catalog_reader *reader, const struct file_record *file,
			    bool hold);

/* Takes over an open file that the index need not have, and closes it in the end. Checks that its
 * bytes can be proved now, and keeps the lease until reading_close(). A writer has to wait while
 * the lease is held, so the caller must check reading_is_unbroken() regularly. Returns 0, an enum
 * reading_outcome, or -errno. If the result is not 0, the file is closed. Can wait for the guard
 * time (20 ms). */
MUST_CHECK int reading_take(struct reading *reading, struct catalog *catalog, int fd);

/* Returns whether no program waits to write the file, as far as a lease shows it. */
bool reading_is_unbroken(const struct reading *reading);

/* Closes the file. Returns 0 if all bytes read since reading_open() are proved to belong to the
 * signature in the index, or since reading_take() to the signature then. If they are not, returns
 * an enum reading_outcome or -errno. Can wait for the guard time (20 ms). */
MUST_CHECK int reading_close(struct reading *reading, struct catalog *catalog);

/* Closes the file without a check. Does nothing if it is not open. */
void reading_abandon(struct reading *reading);

/* ---- several files -------------------------------------------------------------------------- */

/* Files that are opened before the first of them is read. The disk then has requests for all of
 * them at once, which a disk without seeks serves at the same time. */
#define READING_WINDOW 32

struct reading_ahead {
	/* set by the caller */
	struct file_record file;
	bool wanted; /* false: the file is left out */
	size_t length; /* first bytes that will be read */
	/* set by readings_open() */
	struct reading reading;
	int result; /* of reading_open_unchecked() */
};

/* Returns the number of files that each of these threads should open at a time, from 1 to
 * READING_WINDOW. All of them together have a quarter of the descriptors of the process. */
size_t reading_window(unsigned int threads);

/* Opens files without a check, and asks the kernel to read their first bytes unless a few of them
 * are cached. Each file must then be checked by reading_check() or abandoned. */
void readings_open(struct reading_ahead *list, size_t count, struct file_opener *opener,
		   struct catalog_reader *reader);

#endif
