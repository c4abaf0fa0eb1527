/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_MANIFEST_READER_H
#define BACKUP_MANIFEST_READER_H

/* Reads a manifest line by line. Checks the order of the names, so that no name is repeated. Checks
 * that the last line exists and has the number of names and the hash. Takes memory for one line.
 * One thread at a time; blocks on the disk.
 */

#include <stdint.h>

#include "backup/manifest.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "row/line_reader.h"

struct manifest_reader {
	const char *path; /* for messages, borrowed */
	enum manifest_format format;
	struct manifest_name root; /* its path is empty if the manifest lacks it */
	struct line_reader lines; /* read from offset 0 on */
	uint64_t names; /* read so far */
	uint64_t flagged; /* of them, those with flags */
	uint64_t bytes; /* sum of the sizes of those that uniques/ leaves out */
	struct hash_state *hash; /* of all lines so far */
	struct bytes before; /* path of the previous name */
	struct manifest_name name; /* the last name read */
	struct manifest_end end; /* set by the last line */
};

/* Opens a manifest, which must be a regular file, because it is read more than once. Returns a
 * descriptor that the caller closes, or -errno (logged). */
MUST_CHECK int manifest_open(const char *path);

/* Begins a manifest and reads its header. Returns 0, -ENOMEM, or another -errno (logged). The
 * caller must call manifest_reader_deinit() in all cases. */
MUST_CHECK int manifest_reader_init(struct manifest_reader *reader, int fd, const char *path);
void manifest_reader_deinit(struct manifest_reader *reader);
#define CLEANUP_MANIFEST_READER CLEANUP(manifest_reader_deinit)

/* Checks that an open file begins as a manifest does. Returns 0, -EPROTO (logged), or another
 * -errno (logged unless -ENOMEM). */
MUST_CHECK int manifest_check_header(int fd, const char *path);

/* Reads the next name into reader->name, valid until the next call. Returns 0, MANIFEST_END after
 * the last name of a valid manifest, -EPROTO if the manifest is not valid (logged with the number
 * of the line), -ENOMEM, or another -errno (logged). */
MUST_CHECK int manifest_reader_next(struct manifest_reader *reader);

#endif
