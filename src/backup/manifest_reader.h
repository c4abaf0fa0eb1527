/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_MANIFEST_READER_H
#define BACKUP_MANIFEST_READER_H

/* Reads a manifest line by line, and checks what only shows over several lines: their order, and so
 * that no name comes twice; that the last one is there and says the same. Memory for one line. One
 * thread at a time; blocks on the disk.
 */

#include <stdint.h>

#include "backup/manifest.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "base/hash.h"

struct manifest_reader {
	const char *path; /* for messages, borrowed */
	int fd; /* borrowed; read from its beginning by position */
	long offset; /* of what is read next */
	struct bytes read; /* from the file, and not yet given out from at on */
	size_t at;
	bool at_end;
	uint64_t line; /* number of the one that was given last, from 1 */
	uint64_t names;
	uint64_t bytes; /* sum of their sizes */
	struct hash_state *hash; /* of what was given out */
	struct bytes before; /* the path of the name before */
	struct manifest_name name; /* the one that was given last */
	struct manifest_end end;
};

/* Begins with the header. 0 or -errno, said; deinit undoes a partial one. */
MUST_CHECK int manifest_reader_init(struct manifest_reader *reader, int fd, const char *path);
void manifest_reader_deinit(struct manifest_reader *reader);
#define CLEANUP_MANIFEST_READER CLEANUP(manifest_reader_deinit)

/* Gives the next name, in reader->name until the next call. 0; MANIFEST_END where that was the last
 * and all agrees; or -errno, said with the number of the line: -EPROTO for what is no manifest. */
MUST_CHECK int manifest_reader_next(struct manifest_reader *reader);

/* Says that a line cannot be used, with its number. -EPROTO. */
int manifest_reader_complain(const struct manifest_reader *reader, const char *why);

#endif
