/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_CONTENT_HASH_H
#define BACKUP_CONTENT_HASH_H

/* The hash of all bytes of each file of an index, for a manifest of all names. The index has it for
 * copies and for files that were read to their end. Other files are read, and each read is proved
 * by scan/reading.h. One thread; blocks on the disk. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backup/manifest.h"
#include "base/attributes.h"
#include "base/hash.h"
#include "base/progress.h"

struct catalog_reader;
struct file_record;
struct sources;

/* ---- known hashes --------------------------------------------------------------------------- */

/* Hashes of whole files that the index lacks, because it reads only files that can have a copy:
 * those that an earlier manifest has, and those that were read for this manifest.
 *
 * A hash belongs to a file id and its file_digest() in the index. While both are the same, the
 * bytes that were read are the content of the file. Ids are never reused.
 *
 * Takes 40 bytes of memory for each file. A struct of zeros is empty. One thread at a time. */

struct known_hash {
	uint64_t file;
	uint64_t digest;
	struct hash128 hash; /* if result is 0 */
	int result; /* of reading the file: 0, an enum reading_outcome, or -errno */
};

struct known_hashes {
	struct known_hash *list;
	size_t count, capacity;
	size_t sorted; /* the first ones, which known_hashes_find() searches */
};

void known_hashes_free(struct known_hashes *known);
#define CLEANUP_KNOWN_HASHES CLEANUP(known_hashes_free)

/* Adds a hash, which is found after known_hashes_sort(). Returns 0 or -ENOMEM. */
MUST_CHECK int known_hashes_add(struct known_hashes *known, const struct known_hash *hash);
void known_hashes_sort(struct known_hashes *known);

/* Returns what is known of the file in its present state, or NULL. Of several results, 0 precedes
 * failures. The result is valid until the next call that is not known_hashes_find(). */
const struct known_hash *known_hashes_find(const struct known_hashes *known,
					   const struct file_record *file);

/* Reads a whole manifest and adds its hashes, sorted. Sets *format. Returns 0, -EPROTO if the
 * manifest is not valid (logged; the hashes are then removed again), -EINTR if stop_requested(),
 * -ENOMEM, or another -errno (logged).
 *
 * fd	of the manifest, see backup/manifest.h
 */
MUST_CHECK int known_hashes_load(struct known_hashes *known, int fd, const char *path,
				 enum manifest_format *format);

/* ---- content hash --------------------------------------------------------------------------- */

/* All pointers are borrowed. */
struct hashing {
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
