/* SPDX-License-Identifier: MIT */
#ifndef INGEST_READING_H
#define INGEST_READING_H

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
 * While the lease is held, no process can write the file. Bytes that are read under the lease are
 * therefore the content at the final check. So one check after the read is enough.
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

/* Outcomes that the caller must handle; failures are -errno. */
enum reading_outcome {
	READING_CHANGED = 1, /* the signature differs from the index */
	/* a process is possibly writing the file, or changed it within the guard time; the caller
	 * must try again later */
	READING_BUSY = 2,
	READING_GONE = 3, /* the name no longer leads to this file */
};

/* Opens many files of one directory without resolving the path each time. Must be initialized with
 * FILE_OPENER_INIT. */
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

/* Opens the file at one of its names. The name can lead to another file by now. Returns a
 * descriptor, which the caller closes, or -errno. */
MUST_CHECK int file_opener_open(struct file_opener *opener, struct catalog_reader *reader,
				const struct file_record *file);

/* A file that is open for reading. */
struct reading {
	int fd;
	bool leased; /* the lease is held while the file is open */
	bool lease_refused;
	bool unexamined; /* attributes are copied from the index, as the file was not checked yet */
	struct attributes attributes; /* the attributes that were read last */
};

/* Opens the file at one of its names and checks that its bytes can be proved now.
 *
 * hold		keep the lease until reading_close(). Only for a file that is read in one go, as a
 *		writer has to wait for the end of the lease.
 *
 * Returns 0, an enum reading_outcome, or -errno. After READING_CHANGED, reading->attributes are the
 * new ones. If the lease is held, the signature is checked only by reading_close().
 */
MUST_CHECK int reading_open(struct reading *reading, struct file_opener *opener,
			    struct catalog_reader *reader, const struct file_record *file,
			    bool hold);

/* Closes the file. Returns 0 if all bytes read since reading_open() are proved to belong to the
 * signature in the index. Otherwise returns an enum reading_outcome or -errno. Can wait for the
 * guard time. */
MUST_CHECK int reading_close(struct reading *reading, struct catalog *catalog);

/* Closes the file without a check, if its bytes are not needed. */
void reading_abandon(struct reading *reading);

#endif
