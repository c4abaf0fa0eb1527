/* SPDX-License-Identifier: MIT */
#ifndef SCAN_LISTING_H
#define SCAN_LISTING_H

/* The names of one directory and their attributes. One struct listing is reused for many
 * directories. Not shared between threads. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "index/record.h"
#include "scan/ingest.h"

struct listed {
	struct name name; /* followed by a NUL */
	/* Inode number that the directory has for the name; 0 after listing_recheck(). Attributes
	 * are read in this order. */
	uint64_t inode;
	uint64_t cookie; /* catalog_name_cookie(); set by diff_make() */
	int error; /* positive errno if the attributes could not be read, else 0 */
	bool is_file; /* the directory has a regular file for the name */
	bool mount_root; /* the name is a mount point */
	bool listed_again; /* the name is in the directory after its attributes were missing */
	struct early_mark *mark; /* how the walk read the file, see early_files.h; or NULL */
	uint32_t events; /* of the name, from the recheck; 0 after listing_read() */
	/* name_events_keep_bytes(); false if the file system has unreliable times */
	bool keeps_bytes;
	struct attributes attributes;
};

/* A directory to list. */
struct listed_dir {
	int fd;
	uint32_t filesystem; /* the catalog's number */
	bool is_new; /* the index has no name in it, so listing->early may read its files */
	bool enters_mounts; /* mounts in it are entered */
	bool reports_writes; /* events report all writes to its files by names in the sources */
	const char *path; /* relative to its source; used for excludes with a slash */
	char *const *excludes; /* globs of names to leave out */
	const struct patterns *patterns; /* of excludes, which records matches; NULL: none does */
};

struct early_reader;
struct operand_range;
struct operands;
struct own;
struct patterns;

struct listing {
	struct early_reader *early; /* reads files whose names are listed; NULL: none; borrowed */
	struct arena memory; /* of names and entries */
	struct listed **entries;
	size_t count;
	size_t capacity;
	bool partial; /* names of the directory were left out */
	/* listing_recheck() left out a quarantine name (index/own.h) that exists */
	bool quarantined;
	/* the tag of a cache is among the names, excluded or not (index/emptied_place.h) */
	bool tagged;
	uint64_t excluded; /* names that listing_read() excluded, in all directories so far */
	uint32_t filesystem; /* the catalog's number; 0: none yet */
	uint32_t filesystem_type; /* f_type of statfs(2), 0 if that failed */
	void *buffer; /* for getdents64 */
};

void listing_free(struct listing *listing);

/* Reads the names in dir and their attributes. Attributes are read in the order of inode numbers,
 * which on ext4 is the order on the disk. Names that are excluded, or are deleted meanwhile, are
 * left out. A broken file system can list a name and deny that it exists: such a name has the error
 * ENOENT. A quarantine name has the error EBUSY: an act is running, or was interrupted. Returns 0
 * or -errno. */
MUST_CHECK int listing_read(struct listing *listing, struct catalog *catalog,
			    const struct listed_dir *dir);

/* Reads the attributes of the names in recheck->names only. Names that are excluded or do not exist
 * are left out, and so are quarantine names: most acts end in a moment. Returns 0 or -ENOMEM. */
MUST_CHECK int listing_recheck(struct listing *listing, struct catalog *catalog,
			       const struct listed_dir *dir, const struct recheck *recheck);

/* Reads the attributes of the names in dir that lead to operands. Does not list the directory, so
 * an O_PATH descriptor is enough. Leaves out names that do not exist or are excluded. Also leaves
 * out what is no longer a file or folder as it was when the operands were found. Returns 0 or
 * -ENOMEM. */
MUST_CHECK int listing_read_operands(struct listing *listing, struct catalog *catalog,
				     const struct listed_dir *dir, const struct operands *operands,
				     struct operand_range range);

/* Leaves out the names in dir that are twinfs's own (index/own.h).
 *
 * name		of the directory, or a path that ends with it
 * attributes	of the directory */
void listing_hide(struct listing *listing, const struct own *own, int dir, const char *name,
		  const struct attributes *attributes);

/* Removes all names. */
void listing_clear(struct listing *listing);

/* ---- excludes -------------------------------------------------------------------------- */

/* Globs of names that the user excludes: a list that ends with a NULL, or NULL for no globs. Pure
 * code. */

/* Returns true if a glob has a slash. If not, exclude_matches() does not use dir_path. */
bool exclude_has_paths(char *const *globs);

enum exclusion {
	EXCLUDE_NONE,
	EXCLUDE_NAME, /* whatever the name is */
	EXCLUDE_FOLDER, /* only if the name is a directory */
};

/* Returns what the globs exclude. A glob without a slash is compared with the name. A glob with a
 * slash is compared with the path in the source: dir_path ("" for the root of the source) and name.
 * '*' does not match '/'. A glob with a slash at its end excludes directories only. Unless the
 * result is EXCLUDE_NONE, sets *which to the number of the glob. */
enum exclusion exclude_matches(char *const *globs, const char *dir_path, const char *name,
			       size_t *which);

#endif
