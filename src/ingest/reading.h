/* SPDX-License-Identifier: MIT */
#ifndef INGEST_READING_H
#define INGEST_READING_H

/* Reads a file so that the bytes are proved to be those of the signature in the index.
 *
 * An equal signature before and after the read is not enough: ctime is set before the data is
 * copied, and a store to a dirty page of a shared mapping changes no time. Therefore three
 * conditions must hold:
 *
 * 1. The signature is the same before and after the read.
 * 2. No process has the file open for writing or mapped writable, before and after the read. A read
 *    lease proves this (fcntl(2) F_SETLEASE): the kernel refuses the lease otherwise.
 * 3. The last change is older than the guard time, within which two changes may leave the same
 *    time stamps.
 *
 * If the file system refuses leases, or the process lacks the rights, only conditions 1 and 3 are
 * checked.
 *
 * While a lease is held no process can write. The bytes that are read then are the contents at the
 * time of the final check. So one check after the read is enough, and no check before the read is
 * needed.
 *
 * The process must ignore SIGIO, which the kernel sends when a lease is broken. Not shared between
 * threads.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/filesystem_kind.h"
#include "catalog/query.h"
#include "source/source.h"

/* Outcomes the caller must handle; failures are -errno. */
enum reading_outcome {
	READING_CHANGED = 1, /* the signature is not the one in the index */
	/* a process may be writing the file, or changed it within the guard time: try again
	 * later */
	READING_BUSY = 2,
	READING_GONE = 3, /* the name no longer leads to this file */
};

/* Opens files of one directory after the other without resolving the path each time. Initialise it
 * with FILE_OPENER_INIT. */
struct file_opener {
	const struct sources *sources;
	uint64_t dir;
	int fd;
	enum filesystem_kind kind;
};

#define FILE_OPENER_INIT(sources_)              \
	{                                       \
		.sources = (sources_), .fd = -1 \
	}

void file_opener_deinit(struct file_opener *opener);

/* Opens the file at one of its names; it may be another file by now. Returns a descriptor, which
 * the caller closes, or -errno. */
MUST_CHECK int file_opener_open(struct file_opener *opener, struct catalog_reader *reader,
				const struct file_record *file);

/* A file that is open for reading. */
struct reading {
	int fd;
	bool leased; /* the lease is held while the file is open */
	bool lease_refused;
	bool unexamined; /* attributes are those of the index: the file was not checked yet */
	struct attributes attributes; /* the last ones that were read */
};

/* Opens the file at one of its names and checks that it may be read now.
 *
 * hold		keep the lease until the end. For a file that is read in one go, because a writer
 *		has to wait that long.
 *
 * Returns 0, an enum reading_outcome, or -errno. After READING_CHANGED, reading->attributes are the
 * new ones. If the lease is held, the signature is checked only by reading_close().
 */
MUST_CHECK int reading_open(struct reading *reading, struct file_opener *opener,
			    struct catalog_reader *reader, const struct file_record *file,
			    bool hold);

/* Closes the file. Returns 0 if all bytes read since reading_open() are proved to be those of the
 * signature in the index; else an enum reading_outcome or -errno. May wait for the guard time. */
MUST_CHECK int reading_close(struct reading *reading, struct catalog *catalog);

/* Closes the file without a check, if its bytes are not needed. */
void reading_abandon(struct reading *reading);

#endif
