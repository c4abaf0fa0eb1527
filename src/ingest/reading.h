/* SPDX-License-Identifier: MIT */
#ifndef INGEST_READING_H
#define INGEST_READING_H

/* Reading a file so that what was read is known to be what the file holds.
 *
 * The same signature before and after is not enough: ctime is set before the data is copied, and a
 * store to a dirty page of a shared mapping moves nothing. So the file must not be open for
 * writing or mapped writable (a read lease is refused then, fcntl(2) F_SETLEASE) before and after
 * it is read, and must not have changed within the grain of its time stamps. Where leases are
 * refused for lack of rights or by the file system, the signature and the grain must do.
 *
 * While a lease is held nobody writes at all: what is read then is what the file holds when it is
 * examined at the end. So that one look tells whether these bytes belong to the signature that the
 * index has, and none is needed before.
 *
 * Leases need SIGIO to be ignored. Not shared between threads.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/filesystem_kind.h"
#include "catalog/query.h"
#include "source/source.h"

/* Outcomes the caller must handle; failures are -errno. */
enum reading_outcome {
	READING_CHANGED = 1, /* its signature is another one than the index has */
	READING_BUSY = 2, /* somebody may be writing it, or did a moment ago: try again later */
	READING_GONE = 3, /* there is no such file any more under that name */
};

/* Opens files of one directory after the other without walking its path each time. All zero but
 * fd -1 at first. */
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

/* Opens what stands at one of the file's names, whatever that is now: a descriptor that the caller
 * closes, or -errno. */
MUST_CHECK int file_opener_open(struct file_opener *opener, struct catalog_reader *reader,
				const struct file_record *file);

/* A file open for reading. */
struct reading {
	int fd;
	bool leased; /* the lease is held while it is open */
	bool lease_refused;
	bool unexamined; /* attributes are not its own yet but those that the index has */
	struct attributes attributes; /* as they were last seen */
};

/* Opens the file under one of its names and checks that it may be read now.
 *
 * hold		keep the lease until the end: for a file that is read in one go, because a
 *		writer has to wait as long
 *
 * 0, an enum reading_outcome, or -errno. With READING_CHANGED reading->attributes are the new ones.
 * Whether a file whose lease is held is the one that the index has, reading_close tells.
 */
MUST_CHECK int reading_open(struct reading *reading, struct file_opener *opener,
			    struct catalog_reader *reader, const struct file_record *file,
			    bool hold);

/* Closes it: 0 when what was read since reading_open is what the index has the signature of, and
 * nothing can have changed since; else an enum reading_outcome (as reading_open) or -errno. May
 * wait for the grain. */
MUST_CHECK int reading_close(struct reading *reading, struct catalog *catalog);

/* Closes it without looking; for a file whose bytes do not matter any more. */
void reading_abandon(struct reading *reading);

#endif
