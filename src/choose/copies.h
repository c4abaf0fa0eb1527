/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_COPIES_H
#define CHOOSE_COPIES_H

/* The copies of one group, in the order in which reports show them. One thread at a time. A struct
 * copies that is all zero is empty and valid.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/numbers.h"
#include "choose/bundle.h"
#include "index/emptied_place.h"
#include "index/record.h"

struct catalog_reader;

/* The outcome of the rules for a copy. All names of an inode have the same fate. */
enum fate {
	FATE_KEPT, /* the copy that stays, so that the redundant copies may be removed */
	FATE_REDUNDANT, /* a copy that may be removed */
	FATE_SPARED, /* a copy that stays although it is not the kept copy */
};

/* Returns "kept", "redundant" or "spared". */
const char *fate_word(enum fate fate);

/* One name of one copy. A copy is a file, or a directory of a folder group (copies.folders), which
 * has one name. */
struct copy {
	uint64_t file; /* or the id of the directory */
	/* the directory that contains the name; the root of a source is its own */
	uint64_t dir;
	/* The bundle and the store that contain the name (bundle.h). Set by bundle_find_copies()
	 * before rules_apply(). */
	struct bundle_place place;
	/* the copy would be redundant outside of a bundle or store, or if no program wrote it in
	 * place */
	bool stays_for_bundle;
	/* Number of symlinks that lead to the copy (symlinks.h), and the offset of their absolute
	 * paths in struct copies.paths. Each ends with a NUL. Of the first name of an inode. */
	size_t symlinks, symlink_paths;
	bool stays_for_symlinks; /* it stays as symlinks lead to it; as the next field */
	bool stays_for_links; /* as in rules.links; of the first name of an inode */
	/* The place that spares the copy, as something else empties it; PLACE_LASTS: none does.
	 * Set by rules_apply(). */
	enum emptied_place stays_for_place;
	/* Why the copy must stay, apart from the rules: as `why`. Set before rules_apply(). */
	const char *must_stay;
	uint32_t source;
	/* by flags, as in struct location; if the file has several names, also by their paths */
	enum emptied_place emptied;
	uint32_t first_seen; /* as in struct kept_rank */
	uint32_t links; /* as in struct kept_rank, like the next two fields */
	struct timespec mtime;
	int64_t birth;
	enum fate fate;
	/* reason of the fate: a few words, ASCII, static; NULL before rules_apply() */
	const char *why;
	bool another_name; /* a hard link: not the lead of its inode */
	/* Offset in struct copies.paths of the path, relative to the source: COPY_ROOT for the root
	 * of a source. */
	size_t path;
	/* Offset of the path of the inode's lead, which is the first name by how long its place
	 * lasts, source and path: it decides where the inode is listed. */
	size_t lead;
	uint32_t lead_source;
};

/* The path of the root of a source. */
#define COPY_ROOT "."

struct copies {
	bool folders; /* set by copies_collect_folders(); else false */
	struct copy *list;
	size_t count;
	size_t capacity;
	size_t redundant; /* inodes that may be removed */
	/* A program writes such files in place (index/managed.h), so they must not become one by
	 * a link. Set by bundle_find_copies(). */
	bool written_in_place;
	/* The kept inode must stay even if another one is kept: it is protected, outside of "only"
	 * or in a bundle. Set by rules_apply(). */
	bool kept_must_stay;
	/* Redundant copies share blocks and stay at their place, from which nothing is removed. Set
	 * by rules_apply(). */
	bool share_in_places;
	struct bytes paths; /* each ends with a NUL */
};

void copies_free(struct copies *copies);
#define CLEANUP_COPIES CLEANUP(copies_free)

/* Replaces the copies by all names of all inodes of the group. The inode that the view keeps is
 * first. The other inodes are redundant and ordered by source and path. The names of an inode are
 * adjacent. Takes memory for the names of one group. Returns 0 or -errno. */
MUST_CHECK int copies_collect(struct copies *copies, struct catalog_reader *reader,
			      const struct group_record *group);

/* Replaces the copies by the directories of a folder group, in the order of sources and paths. All
 * are redundant. first_seen and links are 0, as they do not exist for folders, and mtime is that of
 * the directory. Returns 0 or -errno. */
MUST_CHECK int copies_collect_folders(struct copies *copies, struct catalog_reader *reader,
				      const struct folder_group *group);

/* Appends all names of a file, as one inode. Returns 0 or -errno. */
MUST_CHECK int copies_add_file(struct copies *copies, struct catalog_reader *reader, uint64_t file,
			       enum fate fate);

/* Restores the order of copies_collect() after fates have changed. */
void copies_sort(struct copies *copies);

/* Removes the names for which removes() returns true, and inodes without a name that is left. The
 * kept inode can be one of them. */
void copies_remove(struct copies *copies,
		   bool (*removes)(void *context, const struct copies *copies,
				   const struct copy *copy),
		   void *context);

/* Returns the end of the names of the inode whose names begin at first. */
size_t copies_inode_end(const struct copies *copies, size_t first);

/* Returns whether the inode of these names has hard links that are not among them, such as links
 * outside of the sources: removing the names frees nothing. */
static inline bool copies_are_held_outside(const struct copies *copies, size_t first, size_t end)
{
	return !copies->folders && copies->list[first].links > end - first;
}

/* Returns the number of inodes. */
size_t copies_count_inodes(const struct copies *copies);

/* Removes all copies, but keeps the memory for the next group. */
void copies_clear(struct copies *copies);

/* Returns the path of a copy, relative to its source. Valid until the copies change. */
const char *copy_path(const struct copies *copies, const struct copy *copy);

/* Returns whether the copy is the root of a source. */
bool copy_is_root(const struct copies *copies, const struct copy *copy);

/* ---- retained ------------------------------------------------------------------------------- */

/* The bytes that stay allocated, or never were, if the redundant copies of a group are removed.
 * Copies with hard links that are not among the copies stay whole. */

/* Sets group->retained for the copies that are redundant by their fates. The result is exact if the
 * index chooses the same copies. For another choice, a range of the disk that several copies hold
 * counts as freed if all copies that share anything with these are redundant, so the result can be
 * too high.
 *
 * group	a group of files; its other fields can differ from those in the index
 *
 * Takes n log n steps for the copies. Returns 0 or -errno. */
MUST_CHECK int retained_find(struct catalog_reader *reader, struct group_record *group,
			     const struct copies *copies);

/* Returns the bytes of the redundant copies. */
static inline uint64_t copies_redundant_bytes(const struct copies *copies,
					      const struct group_record *group)
{
	return size_multiply(copies->redundant, group->size);
}

/* Returns what their removal would free. Must be called after retained_find(). */
static inline uint64_t copies_reclaimable_bytes(const struct copies *copies,
						const struct group_record *group)
{
	return size_subtract(copies_redundant_bytes(copies, group), group->retained);
}

#endif
