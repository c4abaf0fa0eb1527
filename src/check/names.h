/* SPDX-License-Identifier: MIT */
#ifndef CHECK_NAMES_H
#define CHECK_NAMES_H

/* What an index has otherwise than the disk of names and of the attributes of what they stand for.
 *
 * The index is held against a new one of the same sources (fresh_index.h); what differs is then
 * looked at on the disk itself, as often as it takes to tell a difference from a change: while
 * files change, neither of two indexes is what is there now. For the first thread; everything is
 * borrowed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "source/source.h"

struct catalog_reader;
struct sources;

enum name_difference_kind {
	NAME_NOT_INDEXED,
	NAME_GONE, /* there is no such name on the disk; with all that the index has below it */
	NAME_OTHERWISE, /* something else, or with other attributes */
};

struct name_difference {
	enum name_difference_kind kind;
	uint32_t source;
	size_t path; /* relative to the source, an offset in name_differences.paths */
	uint64_t seen; /* stands for what was on the disk when it was looked at */
	unsigned int denied; /* how often in a row the index had it otherwise, though it rested */
	bool settled; /* that is no change, but a difference */
};

/* All zero is empty. */
struct name_differences {
	struct name_difference *list;
	size_t count, capacity;
	struct bytes paths; /* each with a NUL behind */
	uint64_t compared; /* names that were looked at */
	bool cut_off; /* there may be more: no more were looked for */
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

/* Finds what differs, 0 or -errno. */
MUST_CHECK int name_differences_find(struct name_differences *differences,
				     const struct name_sides *sides);

/* Looks at what the disk has of what is not settled. */
void name_differences_look(struct name_differences *differences, const struct sources *sources);

/* Holds that against a snapshot of the index that was begun later and has all that was told of when
 * it was looked at. What agrees by now is dropped; what is on the disk as it was, and not so in the
 * index, several times in a row, is settled; *left are left. 0 or -errno. */
MUST_CHECK int name_differences_settle(struct name_differences *differences,
				       struct catalog_reader *indexed,
				       const struct sources *sources, size_t *left);

#endif
