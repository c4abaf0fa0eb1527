/* SPDX-License-Identifier: MIT */
#ifndef INDEX_CHANGE_H
#define INDEX_CHANGE_H

/* Changes of the index, inside the body of catalog_write(). Each function keeps all tables and
 * totals consistent. A file that loses its last name, or whose content possibly changes, leaves its
 * group in the same transaction. Groups choose their kept copy before the commit.
 *
 * Unless noted otherwise, the functions return 0 or -errno. The body must return such an error,
 * which aborts the transaction.
 */

#include "base/attributes.h"
#include "index/catalog.h"

struct size_entry;

/* Kinds of changes, with the fields of struct name_change that each kind uses. */
enum name_change_kind {
	NAME_ADD_DIR, /* dir, name, attributes, flags, error, source; id: from catalog_new_id() */
	/* dir, name, attributes, flags; a known inode gets another name. id is set: to the id of
	 * the file if the file is new and has no other name in these changes, otherwise to 0. */
	NAME_ADD_FILE,
	NAME_ADD_UNKNOWN, /* dir, name, error: the errno of stat(2) */
	/* dir, cookie, id. A directory is removed with its whole tree. id, if not 0: the expected
	 * child. If the name refers to another child, the name is not removed. */
	NAME_REMOVE,
	/* id, source, dir, name, attributes: directory id moved, with its tree, to name in dir */
	NAME_MOVE_DIR,
	NAME_UPDATE_DIR, /* id, attributes, flags, error */
	NAME_TOUCH_DIR, /* id, attributes: the directory was not listed */
	NAME_FAIL_DIR, /* id, flags, error: not even its attributes could be read */
	/* id, attributes, flags. If the signature changed, the content becomes unknown, unless
	 * flags say that the bytes are the same. */
	NAME_UPDATE_FILE,
};

/* Flags of NAME_ADD_FILE and NAME_UPDATE_FILE. */
enum file_change_flag {
	/* The events of the file exclude a write. Its content stays known if size and mtime are
	 * unchanged and the index has all of its names. A write through a name that the index lacks
	 * would raise no event. */
	FILE_SAME_BYTES = 1,
	/* A rename from a watched directory created the name. An orphan that gets a name in another
	 * way possibly changed without an event, so its content stays known only if its
	 * signature is unchanged. */
	FILE_MOVED = 2,
	/* While the file had these attributes, its bytes were compared with those of another member
	 * of its group, and were equal. */
	FILE_COMPARED = 4,
	/* The bytes of the file possibly changed without a change of the signature, so its content
	 * becomes unknown. */
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
	/* target of a symlink that NAME_ADD_FILE or NAME_UPDATE_FILE has; borrowed; empty: unknown
	 */
	struct name target;
	void *context; /* of the caller */
	struct attributes attributes;
};

/* Applies count changes, in this order:
 *
 * 1. moved directories leave their old parents
 * 2. removals, so a name that is both removed and added exists afterwards
 * 3. new directories
 * 4. moved directories enter their new parents, and replace entries of the same name
 * 5. other additions
 * 6. updates
 *
 * If the parent of a new name is missing, the name is skipped. If the new parent of a moved
 * directory is missing, the directory is removed with its tree. If a directory moves twice, the
 * last move counts.
 *
 * A file that loses its last name becomes an orphan: the record and the known content stay until
 * catalog_purge_orphans(). If the same inode gets a name again, the orphan is found by its inode
 * number.
 *
 * changes	the cookies and attributes of additions are overwritten
 * scan		number recorded for new files, see catalog_begin_scan() and catalog_next_scan()
 *
 * Returns 0, -ELOOP if a directory would be inside itself, -ESTALE, or another -errno. -ESTALE
 * means that a directory to move is missing, is the root of a source, or would leave its source.
 * After -ELOOP or -ESTALE the observed changes do not fit together, and the sources must be
 * walked. */
MUST_CHECK int catalog_apply(struct catalog_writer *w, struct name_change *changes, size_t count,
			     uint32_t scan);

/* Makes the content of these files unknown, even if their signatures are unchanged. Skips missing
 * files. */
MUST_CHECK int catalog_forget_contents(struct catalog_writer *w, const uint64_t *files,
				       size_t count);

/* Finds the folder groups, if they are not known yet. From then on, each transaction keeps them
 * current (folders.h). Does nothing while files are deferred. */
MUST_CHECK int catalog_know_folders(struct catalog_writer *w);

/* Deletes up to limit orphans. Sets *left to whether orphans possibly remain. */
MUST_CHECK int catalog_purge_orphans(struct catalog_writer *w, size_t limit, bool *left);

/* The result of reading one file. */
struct content_change {
	uint64_t file;
	uint64_t digest; /* file_digest() when it was read */
	uint64_t prefix; /* prefix hash, not 0 */
	uint64_t group; /* the group that the file was found equal to; 0: none */
	struct hash128 hash; /* if group is 0: hash of all its bytes; zero: unknown */
};

/* Outcome: nothing was changed. The file has changed, has no name or is not in the list by size, or
 * the group is missing. */
enum {
	CONTENT_STALE = 1
};

/* Records the content of a file. Returns 0, CONTENT_STALE or -errno. */
MUST_CHECK int catalog_set_content(struct catalog_writer *w, const struct content_change *change);

/* Records the contents of many files, in the fastest order. Skips files for which
 * catalog_set_content() would return CONTENT_STALE. */
MUST_CHECK int catalog_set_contents(struct catalog_writer *w, const struct content_change *changes,
				    size_t count);

/* Makes a group for files that equal no file of an existing group. Its ordinal is the next free
 * number of the hash. If all members of an earlier group of this hash left, that group is deleted,
 * and its ordinal is reused. The caller adds the files with catalog_set_content() in the same
 * transaction. A group without files is not stored. */
MUST_CHECK int catalog_add_group(struct catalog_writer *w, struct hash128 hash, uint64_t size_bytes,
				 uint64_t *group);

/* ---- extents, see query.h --------------------------------------------------------------- */

struct file_extents {
	uint64_t file;
	struct extent_record record; /* own is the size and sharing is 0: no record is needed */
};

/* The mapped extents of a group. */
struct group_extents {
	struct group_record group; /* as it was before its files were mapped */
	uint64_t retained; /* as in struct group_record */
	/* If bytes of a file are possibly not on the disk yet, or it could not be mapped: when to
	 * map the group again, in seconds since 1970. 0: not. */
	uint64_t due;
	const struct file_extents *files; /* borrowed */
	size_t count;
};

/* Records the extents. Does nothing if the group has changed since it was mapped. */
MUST_CHECK int catalog_set_extents(struct catalog_writer *w, const struct group_extents *extents);

/* Adds the groups that map to the table unmapped, because a program changed which extents files
 * share: that changes no attribute. Begins after the group *after, and passes limit groups. Sets
 * *after to the last group, or to 0 at the end. */
MUST_CHECK int catalog_map_again(struct catalog_writer *w, uint64_t *after, size_t limit);

/* ---- deferred lists -------------------------------------------------------------------- */

/* Defers the list of files by size and the members of groups. A first walk adds files in the order
 * of directories, which is random in these lists. So each file of a large index would dirty a page
 * of each list. Until all files are listed, files with ids from totals.unlisted on are deferred:
 * they are in neither list. catalog_set_contents() skips them. */
MUST_CHECK int catalog_defer_lists(struct catalog_writer *w);

/* Makes a group for deferred files, as catalog_add_group(). Until they are listed, the group has no
 * members. */
MUST_CHECK int catalog_add_deferred_group(struct catalog_writer *w, struct hash128 hash,
					  uint64_t size_bytes, uint64_t *group);

/* Records the content of a deferred regular file. The caller has checked that the file is unchanged
 * since it was read. digest is not used. */
MUST_CHECK int catalog_add_deferred_content(struct catalog_writer *w,
					    const struct content_change *change);

/* Makes the content of a deferred file unknown. Its group, if any, stays. */
MUST_CHECK int catalog_forget_deferred_content(struct catalog_writer *w, uint64_t file);

/* A deferred file that is equal to others. */
struct deferred_file {
	uint64_t size;
	uint64_t group;
	uint64_t file;
	uint64_t dir; /* of its only name; 0: the file has several names */
	int64_t mtime; /* seconds */
	int64_t birth; /* as in struct kept_rank */
	uint32_t first_seen; /* as in struct file_record */
	bool copy_mark; /* as in struct file_record */
	bool has_links; /* file_has_links() */
	bool maps; /* catalog_maps_file() */
};

/* Adds deferred files to the list by size, and those with a group to its members. Each function is
 * fastest in the order of its table: by size, prefix, group and file, or by group and file. The
 * files must be regular and have names, and their records must be unchanged since the caller read
 * them. One transaction calls both functions for all files of a range of ids, and then
 * catalog_set_unlisted(). catalog_join_deferred() borrows its files, which must be in the order of
 * groups, until the transaction ends. */
MUST_CHECK int catalog_list_deferred(struct catalog_writer *w, const struct size_entry *files,
				     size_t count);
MUST_CHECK int catalog_join_deferred(struct catalog_writer *w, const struct deferred_file *files,
				     size_t count);

/* Records that all files below this id are listed; 0: all files. */
void catalog_set_unlisted(struct catalog_writer *w, uint64_t from);

/* ---- errors ------------------------------------------------------------------------- */

/* Records an error (positive errno) of a directory or file, or removes the recorded error (0). An
 * error of a file that is missing or has no name is not recorded. Returns 0 or -errno. */
MUST_CHECK int catalog_set_error(struct catalog_writer *w, enum error_kind kind, uint64_t id,
				 int error);

/* Records the error of a directory, and whether walks do not enter it (DIR_NOT_ENTERED). Its record
 * exists. Returns 0 or -errno. */
MUST_CHECK int catalog_note_dir(struct catalog_writer *w, const struct dir_record *dir);

/* ---- the index as a whole -------------------------------------------------------------- */

/* Has kept copies chosen again in this transaction. If one scan found both the kept copy of a group
 * and a file that joins the group, and its work has not ended, the group chooses among all its
 * members. So the choice of a scan does not depend on the order of its comparisons, or on an
 * interruption. */
void catalog_reconsider_kept(struct catalog_writer *w);

/* After a change of the keep rules, or a move of a directory that matters for the choice, checks
 * the kept copies of the next limit groups. totals.choose_from is 0 when all are checked; then the
 * call does nothing. */
MUST_CHECK int catalog_choose_kept(struct catalog_writer *w, size_t limit);

/* If a twinfs with another table of places (index/emptied_place.h) chose the kept copies, has
 * them checked as after a change of the keep rules. Returns 0 or -errno. */
MUST_CHECK int catalog_update_places(struct catalog *catalog);

/* Begins a scan and returns its number, for catalog_apply(). A scan that changes nothing does not
 * have to begin. */
MUST_CHECK uint32_t catalog_begin_scan(struct catalog_writer *w);

/* Records that this scan has ended, and those before it that did not: all names are current and all
 * files were compared. none_pending: no file was pending before this transaction, which changes
 * nothing else. */
void catalog_end_scan(struct catalog_writer *w, bool none_pending);

/* Returns the number of commits that changed something before this transaction. */
uint64_t catalog_generation(const struct catalog_writer *w);

/* Returns the next number of a scan or recheck, for catalog_apply(). Files with a lower number were
 * found earlier. */
MUST_CHECK uint32_t catalog_next_scan(struct catalog_writer *w);

/* Records the smallest size of files to compare, in bytes. The content of smaller files becomes
 * unknown, so they leave their groups. */
MUST_CHECK int catalog_set_min_size(struct catalog_writer *w, uint64_t min_size);

/* Records the mount point of a view of the index, for catalog_get_view(). */
MUST_CHECK int catalog_set_view(struct catalog_writer *w, const char *mount_point);

/* Must be called before a view shows the index. From then on, the index knows what a view has
 * shown: only that gets the times of redundant.h. Returns 0, or -errno if this could not be
 * recorded yet. The next commit records it. */
MUST_CHECK int catalog_begin_view(struct catalog *catalog);

/* Records that the new index has only files and folders that a command named. */
MUST_CHECK int catalog_mark_operands(struct catalog_writer *w);

/* Records the rules that choose kept copies; no rule: the default order. If they differ from the
 * recorded ones, catalog_choose_kept() has to choose the kept copies of all groups again. */
struct keep_rules;
MUST_CHECK int catalog_set_keep_rules(struct catalog_writer *w, const struct keep_rules *rules);

/* Adds source number index, with an absolute path and the id and attributes of its root directory,
 * to a new index. */
MUST_CHECK int catalog_add_source(struct catalog_writer *w, uint64_t index, const char *path,
				  const struct attributes *root, uint64_t root_dir);

#endif
