/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_CONTENT_HASH_H
#define BACKUP_CONTENT_HASH_H

/* The hash of all bytes of each file of an index, for a manifest of all names. The index has it for
 * copies and for files that were read to their end. Other files are read, and each read is proved
 * by ingest/reading.h. One thread; blocks on the disk. */

#include <stdint.h>

#include "backup/known_hashes.h"
#include "base/attributes.h"
#include "base/progress.h"

struct catalog;
struct catalog_reader;
struct sources;

/* All pointers are borrowed. */
struct hashing {
	struct catalog *catalog;
	const struct sources *sources;
	struct known_hashes *known; /* the hashes that are read are added */
	enum progress_when progress;
};

/* Reads each file whose hash neither the index nor hashing->known has. Files that change meanwhile
 * are read once more at the end. Each snapshot of the index is short. A file that cannot be read or
 * proved gets a result in hashing->known. Returns 0, -EINTR if stop_requested(), or another -errno.
 */
MUST_CHECK int content_hash_read_all(const struct hashing *hashing);

/* Finds the hash of a regular file in the index, or in known. Returns 0; the outcome of reading the
 * file (enum reading_outcome), or its -errno if it could not be read; READING_CHANGED if it was not
 * read in its present state; -EUCLEAN if the index is damaged.
 *
 * known	may be NULL
 */
MUST_CHECK int content_hash_find(struct catalog_reader *reader, const struct known_hashes *known,
				 const struct file_record *file, struct hash128 *hash);

#endif
