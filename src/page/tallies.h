/* SPDX-License-Identifier: MIT */
#ifndef PAGE_TALLIES_H
#define PAGE_TALLIES_H

/* Sums of files and bytes: by age, by the extension of the names, and by folder. Pure code except
 * for the callback that finds the parent of a folder. One thread at a time. */

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"

enum age {
	AGE_FUTURE, /* changed later than now: a clock was wrong, or a program set the time */
	AGE_DAY,
	AGE_WEEK,
	AGE_MONTH, /* 30 days */
	AGE_QUARTER, /* 91 days */
	AGE_YEAR, /* 365.25 days, as are the years below */
	AGE_2_YEARS,
	AGE_5_YEARS,
	AGE_10_YEARS,
	AGE_OLDER,
	AGE_COUNT,
};

struct ages {
	uint64_t files[AGE_COUNT];
	uint64_t bytes[AGE_COUNT];
};

/* Returns the age of a file at the time now. The last change of the file was at the time then. */
enum age age_of(struct timespec then, struct timespec now);

/* Returns the name of an age's upper bound, such as "a week" (static string). */
const char *age_name(enum age age);

void ages_add(struct ages *ages, enum age age, uint64_t bytes);

/* ---- kinds ---------------------------------------------------------------------------------- */

/* Files and redundant copies by the extension of their names. Takes memory for KINDS_MAX
 * extensions. A struct kinds that is all zero is empty and valid. */

/* Highest number of characters of an extension. Longer ones do not name a type. */
#define KIND_NAME_MAX 8

/* Highest number of extensions that are counted apart. The files of all others are counted as files
 * without an extension. */
#define KINDS_MAX 1024

struct kind {
	char name[KIND_NAME_MAX + 1]; /* without its dot, in lower case; "": none */
	uint64_t bytes; /* of all files */
	uint64_t copies; /* redundant copies */
	uint64_t redundant; /* their bytes */
};

struct kinds {
	struct kind *list; /* by name */
	size_t count, capacity;
};

void kinds_free(struct kinds *kinds);

/* Sets name to the extension of a file name, in lower case. It consists of letters and digits, and
 * has at least one letter, as a number is a version. Sets "" if there is none. */
void kind_name(char name[static KIND_NAME_MAX + 1], const char *file, size_t length);

/* Adds a file, or a redundant copy, with this extension. Returns 0 or -ENOMEM. */
MUST_CHECK int kinds_add_file(struct kinds *kinds, const char *name, uint64_t bytes);
MUST_CHECK int kinds_add_copy(struct kinds *kinds, const char *name, uint64_t bytes);

/* Orders the kinds by redundant bytes, the most first. Nothing can be added afterwards. */
void kinds_rank(struct kinds *kinds);

/* ---- folders -------------------------------------------------------------------------------- */

/* Reclaimable bytes of each folder. The memory does not depend on the number of files and is
 * bounded. If there are too many folders, the small folders are folded into their parents. Folding
 * loses no byte, and the sum of a folder with all its descendants stays exact.
 *
 * Pure code except for the callback that finds the parent of a folder. One thread at a time. A
 * struct folders that is all zero is empty and valid.
 */

/* Highest number of folders that have a sum of their own while files are added. */
#define FOLDERS_MAX 32768

/* Highest number of levels in the tree of folders_tree(), including the source. Deeper folders are
 * folded. */
#define FOLDERS_DEPTH_MAX 32

/* The sum of a folder and of the subfolders that are folded into it, without other subfolders. */
struct folder_sum {
	uint64_t dir;
	uint64_t bytes;
	uint64_t files;
	uint64_t folded_bytes; /* the part of bytes that is in folded subfolders */
};

struct folders {
	struct folder_sum *list;
	size_t count;
	size_t capacity;
};

/* Sets *parent to the parent of a folder, or to 0 for the root of a source. A folder that is
 * missing by now counts as a root. Returns 0 or -errno. */
typedef int folders_parent_fn(void *context, uint64_t dir, uint64_t *parent);

/* The callback that finds parents. */
struct folders_map {
	folders_parent_fn *parent;
	void *context;
};

void folders_free(struct folders *folders);
#define CLEANUP_FOLDERS CLEANUP(folders_free)

/* Adds a file to a folder.
 *
 * bytes	size of the file
 *
 * Returns 0 or -errno. */
MUST_CHECK int folders_add(struct folders *folders, const struct folders_map *map, uint64_t dir,
			   uint64_t bytes);

/* Finishes the sums. Folds each folder with fewer than bytes_min into its parent, repeatedly, until
 * only roots have fewer than bytes_min. Returns 0 or -errno. */
MUST_CHECK int folders_finish(struct folders *folders, const struct folders_map *map,
			      uint64_t bytes_min);

/* A folder in the tree. */
struct folder_node {
	uint64_t dir; /* 0: all sources */
	size_t parent; /* index in the list; node 0, all sources, is its own parent */
	size_t depth; /* 0: all sources, 1: one source */
	struct folder_sum own; /* the folder itself, with folded subfolders */
	struct folder_sum whole; /* the folder with all its descendants */
};

/* Makes the tree of the finished sums. The first node is that of all sources. Each node is before
 * its descendants, and siblings are ordered by size, the largest first. The caller must free list.
 * Returns 0 or -errno. */
MUST_CHECK int folders_tree(const struct folders *folders, const struct folders_map *map,
			    struct folder_node **list, size_t *count);

#endif
