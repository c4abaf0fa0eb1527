/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_CHANGE_H
#define CATALOG_CHANGE_H

/* Changes of the index, inside the body of catalog_write(). Each function keeps all tables and
 * totals consistent. A file that loses its last name or changes leaves its group in the same
 * transaction. Groups choose their kept copy before the commit.
 *
 * All functions return 0 or -errno. The body must return such an error, which aborts the
 * transaction.
 */

#include "base/attributes.h"
#include "catalog/catalog.h"

enum name_change_kind {
	NAME_ADD_DIR, /* dir, name, attributes, flags, error, source; id: from catalog_new_id() */
	NAME_ADD_FILE, /* dir, name, attributes; if the inode is known, it gets another name */
	NAME_ADD_UNKNOWN, /* dir, name, error: the errno of stat(2) */
	/* dir, cookie. A directory is removed with its whole tree. id, if not 0: the expected
	 * child. If the name now refers to another child, the name is not removed. */
	NAME_REMOVE,
	NAME_MOVE_DIR, /* the directory id, with its tree, is now at dir, name, attributes */
	NAME_UPDATE_DIR, /* id, attributes, flags, error */
	NAME_FAIL_DIR, /* id, error: not even its attributes could be read */
	/* id, attributes; if the signature changed, the content becomes unknown */
	NAME_UPDATE_FILE,
};

/* Flags of NAME_ADD_FILE and NAME_UPDATE_FILE. */
enum file_change_flag {
	/* The only changes of the file were new or removed names, which change ctime. Its content
	 * stays known if size and mtime are unchanged and the index has all of its names. A write
	 * through a name that the index lacks would raise no event. */
	FILE_SAME_BYTES = 1,
	/* The name was created by a rename from a name that the index had or could have had. An
	 * orphan that gets a name in another way has possibly changed without an event. */
	FILE_MOVED = 2,
	/* Its bytes were compared with those of a member of its group, while it had these
	 * attributes. */
	FILE_COMPARED = 4,
	/* Its bytes have possibly changed without a change of the signature, so its content becomes
	 * unknown. */
	FILE_UNTRUSTED = 8,
};

/* One difference between a source and the index. Which fields are used depends on the kind. */
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

/* Applies count changes, in this order:
 *
 * 1. moved directories leave their old parents
 * 2. removals, so a name that is both removed and added exists afterwards
 * 3. new directories
 * 4. moved directories enter their new parents and replace the entry that has their name
 * 5. other additions
 * 6. updates
 *
 * If the parent of a new name or moved directory is missing, the addition is skipped, and the moved
 * directory is removed. If a directory moves twice, the last move counts.
 *
 * A file without a name becomes an orphan: the record and the known content stay until
 * catalog_purge_orphans(). If the same inode gets a name again, the orphan is found by its inode
 * number.
 *
 * scan		number recorded for new files, see catalog_begin_scan() and catalog_next_scan()
 *
 * Returns 0, -ELOOP if a directory would be inside itself, -ESTALE, or another -errno. -ESTALE
 * means that a directory to move is missing, is the root of a source, or would leave its source.
 * After -ELOOP or -ESTALE the observed changes do not fit together, and the sources must be
 * walked. */
MUST_CHECK int catalog_apply(struct catalog_writer *w, struct name_change *changes, size_t count,
			     uint32_t scan);

/* Makes the content of these files unknown, even if their signatures are unchanged. */
MUST_CHECK int catalog_forget_contents(struct catalog_writer *w, const uint64_t *files,
				       size_t count);

/* Defers the list of files by size. A first walk adds files in the order of directories, which is
 * random in the list by size. So each file of a large index would dirty a page of the list. Until
 * all files are listed, files with ids from totals.unlisted on are not in the list. The contents of
 * these files cannot be set meanwhile. */
MUST_CHECK int catalog_defer_sizes(struct catalog_writer *w);

/* Adds deferred files to the list by size, fastest in the order of size and id. The files must be
 * regular and have names. Their records must be unchanged since the caller read them. So no other
 * transaction may write until all are listed. */
struct sized_file {
	uint64_t size;
	uint64_t file;
};
MUST_CHECK int catalog_list_sizes(struct catalog_writer *w, const struct sized_file *files,
				  size_t count);

/* Records that all files below this id are listed; 0: all files. */
void catalog_set_unlisted(struct catalog_writer *w, uint64_t from);

/* Deletes up to limit orphans. Sets *left to whether more orphans remain. */
MUST_CHECK int catalog_purge_orphans(struct catalog_writer *w, size_t limit, bool *left);

/* The result of reading one file. */
struct content_change {
	uint64_t file;
	uint64_t digest; /* file_digest() when it was read */
	uint64_t prefix; /* not 0 */
	uint64_t group; /* the group that the file was found equal to; 0: none */
	struct hash128 hash; /* if group is 0: hash of all its bytes, or zero */
};

/* Outcome: nothing was changed, as the file changed after it was read or the group is missing. */
enum {
	CONTENT_STALE = 1
};

MUST_CHECK int catalog_set_content(struct catalog_writer *w, const struct content_change *change);

/* As catalog_set_content(), for many files, in the fastest order. Stale files are skipped. */
MUST_CHECK int catalog_set_contents(struct catalog_writer *w, const struct content_change *changes,
				    size_t count);

/* Makes a group for files that equal no file of an existing group. The caller then adds the files
 * with catalog_set_content(). */
MUST_CHECK int catalog_add_group(struct catalog_writer *w, struct hash128 hash, uint64_t size_bytes,
				 uint64_t *group);

/* Begins a scan: sets *scan to its number, for catalog_apply(), and records the smallest size of
 * files to compare. Groups of smaller files are dissolved. */
MUST_CHECK int catalog_begin_scan(struct catalog_writer *w, uint64_t min_size, uint32_t *scan);

/* Returns a new number for catalog_apply(), greater than all earlier numbers. Files with a lower
 * number were found earlier. */
MUST_CHECK uint32_t catalog_next_scan(struct catalog_writer *w);

/* Records the mount point of a view of the index, for catalog_get_view(). */
MUST_CHECK int catalog_set_view(struct catalog_writer *w, const char *mount_point);

/* Adds source number index to a new index. */
MUST_CHECK int catalog_add_source(struct catalog_writer *w, uint64_t index, const char *path,
				  const struct attributes *root, uint64_t root_dir);

#endif
