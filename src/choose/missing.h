/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_MISSING_H
#define CHOOSE_MISSING_H

/* Finds the files of some folders whose content is in no file of other folders. Only equal bytes
 * that were compared count: a file that could not be read or is not compared yet is missing. So is
 * a file whose other copies are all in places that something else empties
 * (index/emptied_place.h), or whose only name is shown by several mounts. One
 * thread at a time. Takes a fixed amount of memory; linear in names and copies.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "index/emptied_place.h"

struct bytes;
struct catalog_reader;
struct copies;
struct file_record;
struct report;
struct size_entry;
struct sources;

/* What is done with files of folders->of that have no content to search for. */
enum missing_others {
	MISSING_SKIP_OTHERS, /* they are not examined */
	MISSING_COUNT_OTHERS,
	MISSING_LIST_SYMLINKS, /* they are counted, and symlinks are missing */
};

/* Decides whether a copy is a file of its own. It can be one of folders->of once more, if a file
 * system for other hosts, or of FUSE, shows files of this host. Inode numbers do not show that. One
 * group at a time. Paths are absolute and borrowed for the call. */
struct missing_proof {
	/* Begins a group. Returns 0, 1 if each copy in another file is one of its own, so that
	 * nothing else has to be called, or -errno. */
	int (*begin)(void *context);
	/* Adds a file of the group in folders->of. Returns 0 or -errno. */
	int (*add)(void *context, const char *path);
	/* Returns 1 if a file of the group in folders->in is surely none of the added files, 0 if
	 * it is possibly one, or -errno. */
	int (*is_other)(void *context, const char *path);
	void *context;
};

/* Absolute paths without symlinks, NULL-terminated, borrowed. If folders of both lists contain each
 * other, a file belongs to the innermost of them. */
struct missing_folders {
	char *const *of; /* the files that are searched for */
	char *const *in; /* where their contents are searched */
	enum missing_others others;
	struct missing_proof proof;
};

/* A name in a place that something else empties. */
struct missing_example {
	enum emptied_place place;
	uint64_t dir, cookie;
};

/* The files below folders->of. Each inode counts once. */
struct missing_tally {
	uint64_t files; /* with content */
	uint64_t bytes; /* of these */
	uint64_t linked; /* those that folders->in has by another name of their inode */
	/* missing files that folders->in has only in a place that something else empties, and the
	 * last such copy, by place */
	uint64_t emptied[EMPTIED_PLACES];
	struct missing_example examples[EMPTIED_PLACES];
	/* missing files whose copies in folders->in can be the same files once more, and the last
	 * such copy */
	uint64_t distrusted;
	struct missing_example untrusted;
	/* the other files; not counted if they are not examined */
	uint64_t empty;
	uint64_t symlinks;
	uint64_t special; /* devices, FIFOs, sockets */
};

/* Outcomes of missing_check(). */
enum missing_fault {
	MISSING_NOT_INDEXED = 1, /* a folder is in no source, or was left out of the index */
	MISSING_NOT_ENTERED = 2, /* a folder is on another file system, which was not entered */
};

/* Checks that all folders are in the index, which would otherwise be silent about them.
 *
 * folder	set to the path of the first folder that is not, borrowed
 *
 * Returns 0, an enum missing_fault, or -errno. */
MUST_CHECK int missing_check(const struct missing_folders *folders, struct catalog_reader *reader,
			     const struct sources *sources, const char **folder);

/* Counts the directories below folders->of that were not entered, as they are on other file
 * systems. Returns 0 or -errno. */
MUST_CHECK int missing_count_not_entered(const struct missing_folders *folders,
					 struct catalog_reader *reader,
					 const struct sources *sources, uint64_t *count);

/* Counts the directories and files in folders->of that could not be read. Returns 0 or -errno. */
MUST_CHECK int missing_count_unread(const struct missing_folders *folders,
				    struct catalog_reader *reader, const struct sources *sources,
				    uint64_t *count);

/* Appends the absolute path of an example. Returns 0 or -errno. */
MUST_CHECK int missing_example_path(const struct missing_example *example,
				    const struct sources *sources, struct catalog_reader *reader,
				    struct bytes *path);

struct missing_finder;

/* Makes a finder for a report with its folders, which it borrows. Names that the filter of the
 * report excludes are in no folder. Returns 0 or -ENOMEM. */
MUST_CHECK int missing_finder_new(struct missing_finder **finder, const struct report *report);
void missing_finder_free(struct missing_finder *finder); /* accepts NULL */
/* Uses another snapshot from now on. What is remembered of the last one can differ from it. */
void missing_finder_set_reader(struct missing_finder *finder, struct catalog_reader *reader);

/* Sets *missing to whether a file is in folders->of, and its content in no file of folders->in.
 * Adds a file of folders->of to the tally. Files must be passed in the order of
 * catalog_scan_sizes(), so that each group is read once. Returns 0 or -errno. */
MUST_CHECK int missing_find(struct missing_finder *finder, const struct size_entry *entry,
			    struct missing_tally *tally, bool *missing);

/* The same for a file without content: an empty one, a symlink, or another that is not regular. */
MUST_CHECK int missing_find_other(struct missing_finder *finder, const struct file_record *file,
				  struct missing_tally *tally, bool *missing);

/* Removes all names that are not in folders->of. Returns 0 or -errno. */
MUST_CHECK int missing_keep_names(struct missing_finder *finder, struct copies *names);

#endif
