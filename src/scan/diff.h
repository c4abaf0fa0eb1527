/* SPDX-License-Identifier: MIT */
#ifndef SCAN_DIFF_H
#define SCAN_DIFF_H

/* The differences between the listing of a directory and the names that the index has of the
 * directory. One struct diff is reused for many directories and is not shared between threads. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "index/change.h"
#include "index/query.h"
#include "scan/listing.h"

struct known_name;

/* A directory in the listing whose tree has to be walked next. Directories that are not entered, or
 * were moved here, are not among them. */
struct found_dir {
	struct name name; /* borrowed from the listing, as are the attributes */
	const struct attributes *attributes;
	uint64_t id;
	bool known; /* the index already has it */
	bool recorded; /* the index has it with these attributes, without an error or a flag */
};

struct diff {
	/* names are borrowed from the listing, and targets from this struct */
	struct name_change *changes;
	size_t count;
	size_t capacity;
	struct found_dir *dirs;
	size_t dir_count;
	size_t dir_capacity;
	/* directories that are not entered, in all listings that this struct was used for */
	uint64_t not_entered;
	struct known_name *known; /* names that the index has in the directory */
	size_t known_count;
	size_t known_capacity;
	struct file_window files; /* those of the names */
	bool lacks_ctime; /* of the directory that is compared: catalog_lacks_ctime() */
	struct arena targets; /* of symlinks */
};

/* The directory that is compared. */
struct diff_dir {
	const struct ingest *ingest; /* borrowed */
	uint64_t id;
	uint32_t source;
	uint32_t filesystem; /* the catalog's number */
	uint32_t filesystem_type; /* f_type of statfs(2) */
	bool known; /* false: the index has no names in the directory yet */
	bool enters_mounts; /* as in struct listed_dir */
	/* New directories are DIR_PARTIAL until they are listed. */
	bool marks_new_dirs;
	/* an exclude glob has a slash, so the path decides which names are excluded */
	bool by_path;
	const struct recheck *recheck; /* borrowed */
	int fd; /* of the directory; -1: it could not be opened, and the listing is empty */
	struct catalog_reader *reader; /* borrowed; NULL if not known */
};

void diff_free(struct diff *diff);

/* Fills diff->changes and diff->dirs, and calls hooks. With RECHECK_NAMES, only the names of the
 * recheck are compared. Reorders the listing. Returns 0 or -errno. */
MUST_CHECK int diff_make(struct diff *diff, const struct diff_dir *dir, struct listing *listing);

/* Appends a change, which the caller uses for the directory itself. Returns 0 or -ENOMEM. */
MUST_CHECK int diff_add(struct diff *diff, const struct name_change *change);

#endif
