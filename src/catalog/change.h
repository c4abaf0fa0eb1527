/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_CHANGE_H
#define CATALOG_CHANGE_H

/* Changes to the index, inside the body of a catalog_write. Each keeps all tables and totals
 * consistent: a file that loses its last name or changes leaves its group at once, and groups
 * choose the kept copy before the commit.
 *
 * All return 0 or -errno, upon which the body returns it too and nothing is changed.
 */

#include "base/attributes.h"
#include "catalog/catalog.h"

enum name_change_kind {
	NAME_ADD_DIR, /* dir, name, attributes, id: its id (catalog_new_id); flags, error, source */
	NAME_ADD_FILE, /* dir, name, attributes; an inode that is known gets one more name */
	NAME_ADD_UNKNOWN, /* dir, name, error: why stat(2) on it failed */
	/* dir, cookie; a directory goes with all that is below it. id, where it is not 0: the child
	 * that goes; a name that means another one stays */
	NAME_REMOVE,
	NAME_MOVE_DIR, /* id is now at dir, name, attributes: with all that is below it */
	NAME_UPDATE_DIR, /* id, attributes, flags, error */
	NAME_FAIL_DIR, /* id, error: it could not even be examined */
	NAME_UPDATE_FILE, /* id, attributes; with another signature its content is unknown */
};

/* In name_change.flags of NAME_ADD_FILE and NAME_UPDATE_FILE. */
enum file_change_flag {
	/* All that happened to the file is that names of it came or went, which moves its ctime:
	 * what is known of its content stays known where size and mtime are the same, too, and the
	 * index has all its names: nobody sees who writes through another one. */
	FILE_SAME_BYTES = 1,
	/* The name came by a rename from one that the index had or could have had. An orphan that
	 * comes back otherwise was out of sight meanwhile. */
	FILE_MOVED = 2,
	/* Its bytes were compared with those of a member of its group, while it had these
	 * attributes. */
	FILE_COMPARED = 4,
	/* Its bytes may be others, though its signature is the same: its content is unknown. */
	FILE_UNTRUSTED = 8,
};

/* One difference between a source and the index. */
struct name_change {
	enum name_change_kind kind;
	uint32_t source;
	uint32_t flags;
	int32_t error;
	uint64_t dir;
	uint64_t cookie;
	uint64_t id;
	struct name name; /* borrowed */
	struct attributes attributes;
};

/* Applies count changes in an order of its own: touches; directories that move are taken from their
 * places; removals, so that a name that is removed and added is there afterwards; new directories;
 * those that move are put in their new places, where they displace what is still there; other
 * additions; updates. Where the new parent of a directory is gone, the directory goes too; so does
 * what is added to a directory that is gone. Of a directory that moves twice the last move counts.
 * -ELOOP: one would lie in itself; -ESTALE: it is not in the index, is the root of a source, or
 * would leave its source: what was seen does not fit together, and must be seen anew.
 *
 * A file without a name is kept as an orphan, with what is known of its content, until
 * catalog_purge_orphans, and is found again by its inode when it comes back under another name.
 *
 * scan: number for what is seen for the first time, see catalog_begin_scan and
 * catalog_next_scan. */
MUST_CHECK int catalog_apply(struct catalog_writer *w, struct name_change *changes, size_t count,
			     uint32_t scan);

/* The content of these files is unknown, though their signatures may be the same. */
MUST_CHECK int catalog_touch_files(struct catalog_writer *w, const uint64_t *files, size_t count);

/* A first walk brings files in the order of directories, which is none to the list of files by
 * size: of a large index each would have a page of that list written. From now on until all are
 * listed (totals.unlisted), files that come are left out of the list, and so is what becomes of
 * them; they have the ids from totals.unlisted on. Their contents cannot be set meanwhile. */
MUST_CHECK int catalog_defer_sizes(struct catalog_writer *w);

/* Lists files that were left out, best in the order of size and id. They are regular, have names,
 * and are as they were when they were read: nothing else is written until all are listed. */
struct sized_file {
	uint64_t size;
	uint64_t file;
};
MUST_CHECK int catalog_list_sizes(struct catalog_writer *w, const struct sized_file *files,
				  size_t count);

/* All files below this id are listed; 0: all are. */
void catalog_set_unlisted(struct catalog_writer *w, uint64_t from);

/* Forgets up to limit orphans; *left tells whether there are more. */
MUST_CHECK int catalog_purge_orphans(struct catalog_writer *w, size_t limit, bool *left);

/* The outcome of reading one file. */
struct content_change {
	uint64_t file;
	uint64_t digest; /* file_digest of it when it was read */
	uint64_t prefix; /* not 0 */
	uint64_t group; /* it was compared with this group and found equal; 0: with none */
	struct hash128 hash; /* where group is 0: of all its bytes, or zero */
};

/* Outcome: the file is not any more what was read, or the group went; nothing was changed. */
enum {
	CONTENT_STALE = 1
};

MUST_CHECK int catalog_set_content(struct catalog_writer *w, const struct content_change *change);

/* The same of many files, each told once, in an order of its own that makes it cheap. Passes over
 * what is stale. */
MUST_CHECK int catalog_set_contents(struct catalog_writer *w, const struct content_change *changes,
				    size_t count);

/* A new group for the content of files about to be put in it with catalog_set_content, which are
 * equal to no file of an existing group. */
MUST_CHECK int catalog_add_group(struct catalog_writer *w, struct hash128 hash, uint64_t size_bytes,
				 uint64_t *group);

/* The scan's number, for catalog_apply, and the size from which files are compared: groups of
 * smaller files are dissolved. */
MUST_CHECK int catalog_begin_scan(struct catalog_writer *w, uint64_t min_size, uint32_t *scan);

/* A number for catalog_apply above all earlier ones: what is found by it is known for less long
 * than what earlier scans found. */
MUST_CHECK uint32_t catalog_next_scan(struct catalog_writer *w);

/* Where a view of the index is mounted, for catalog_get_view. */
MUST_CHECK int catalog_set_view(struct catalog_writer *w, const char *mount_point);

/* Source number index of a new index. */
MUST_CHECK int catalog_add_source(struct catalog_writer *w, uint64_t index, const char *path,
				  const struct attributes *root, uint64_t root_dir);

#endif
