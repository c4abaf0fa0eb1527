/* SPDX-License-Identifier: MIT */
#ifndef CLI_CHECK_NAMES_H
#define CLI_CHECK_NAMES_H

/* Differences between an index and the disk in names, and in the attributes of files and
 * directories.
 *
 * The index is compared with a new index of the same sources (check.c). Files can change
 * while the indexes are compared. So each difference is rechecked on the disk until it is confirmed
 * or disappears. For the main thread; everything is borrowed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "index/source.h"

struct catalog_reader;

enum name_difference_kind {
	NAME_NOT_INDEXED, /* on the disk, but not in the index */
	NAME_MISSING, /* not on the disk; includes everything below it in the index */
	NAME_DIFFERS, /* another type or other attributes */
};

struct name_difference {
	enum name_difference_kind kind;
	uint32_t source; /* number of the source */
	size_t path; /* offset in name_differences.paths; the path is relative to the source */
	uint64_t seen; /* digest of the state on the disk at the last check */
	/* number of successive checks with the same state on the disk, different from the index */
	unsigned int confirmations;
	bool confirmed; /* a real difference, not a change in progress */
};

/* All zero: empty. */
struct name_differences {
	struct name_difference *list;
	size_t count, capacity;
	struct bytes paths; /* each followed by a NUL */
	uint64_t compared; /* number of compared names */
	bool cut_off; /* the search stopped at the limit */
};

/* Two snapshots of the same sources. */
struct name_sides {
	struct catalog_reader *indexed, *fresh;
	const struct sources *sources, *fresh_sources;
};

void name_differences_free(struct name_differences *differences);

static inline const char *name_difference_path(const struct name_differences *differences,
					       const struct name_difference *difference)
{
	return (const char *)differences->paths.data + difference->path;
}

/* Finds the differences. Returns 0 or -errno. */
MUST_CHECK int name_differences_find(struct name_differences *differences,
				     const struct name_sides *sides);

/* Reads the state on the disk for all differences that are not confirmed. */
void name_differences_read_disk(struct name_differences *differences,
				const struct sources *sources);

/* Rechecks the differences that are not confirmed, against the disk and a later snapshot of the
 * index. The snapshot must have all changes that happened before the last check. Removes the
 * differences that have disappeared. Confirms those that were found three times in a row with the
 * same state on the disk. Sets *left to the number of differences that are still not confirmed.
 * Returns 0 or -errno. */
MUST_CHECK int name_differences_recheck(struct name_differences *differences,
					struct catalog_reader *indexed,
					const struct sources *sources, size_t *left);

#endif
