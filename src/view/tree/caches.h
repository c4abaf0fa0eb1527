/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_CACHES_H
#define VIEW_TREE_CACHES_H

/* What a view remembers between requests, because the index does not have it or would have to be
 * read for each name. All of it can be computed again, except the times of listings. Each cache has
 * a lock of its own. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "index/catalog.h"
#include "index/scan.h"

/* Raises a number to a value, unless it is higher already. Returns the result. */
static inline uint64_t raise_most(_Atomic uint64_t *most, uint64_t value)
{
	uint64_t before = atomic_load(most);

	while (value > before) {
		if (atomic_compare_exchange_weak(most, &before, value))
			return value;
	}
	return before;
}

/* ---- times of listings -------------------------------------------------------------- */

/* Times of changes to listings of directories that only the view has, by node: redundant/ of
 * several sources, and the folders of equal folders. Their ctime is at least this time, and that of
 * the mount. The index has the times of the directories of a source (index/redundant.h). Any
 * thread. */

struct listing_times {
	pthread_mutex_t lock;
	struct listing_time *table; /* uthash, by node */
};

void listing_times_init(struct listing_times *times);
void listing_times_deinit(struct listing_times *times);

/* Stores the time of a change. Returns 0 or -ENOMEM. */
MUST_CHECK int listing_times_set(struct listing_times *times, uint64_t node, struct timespec time);

/* Returns the later one of time and the stored time of the directory. */
struct timespec listing_times_latest(struct listing_times *times, uint64_t node,
				     struct timespec time);

/* ---- paths of directories ----------------------------------------------------------- */

/* Cache of the paths of directories. Without it, a listing of copies in dups/ would look up all
 * directories above each copy. An entry is valid for snapshots of one state of the index, so the
 * first commit invalidates it. Any thread. */

struct directory_paths {
	pthread_mutex_t lock;
	struct directory_path *list; /* array indexed by id; NULL if empty */
};

void directory_paths_init(struct directory_paths *paths);
void directory_paths_deinit(struct directory_paths *paths);

/* Appends the path of a directory as catalog_dir_path does, with the same results. Without memory
 * for the cache, the path is looked up. */
MUST_CHECK int directory_paths_append(struct directory_paths *paths, struct catalog_reader *reader,
				      uint64_t dir, struct bytes *path, uint32_t *source);

/* ---- ranks of groups ---------------------------------------------------------------- */

/* Ranks of groups, of files or of folders. The index orders groups by reclaimable bytes, but does
 * not count them. This cache stores the position of every RANKING_STEP-th group, as far as queries
 * have needed it. The positions are valid until the order changes. A query for a rank walks from
 * the last stored position before that rank, and a query for all ranks walks once. Any thread. */

#define RANKING_STEP 64

/* catalog_scan_ranks() or catalog_scan_folder_ranks() */
typedef int ranking_scan_fn(struct catalog_reader *r, const struct rank_entry *from,
			    struct catalog_scan **scan);

struct ranking {
	ranking_scan_fn *scan_table;
	pthread_mutex_t lock;
	uint64_t order; /* order of the groups for which the positions are valid */
	struct rank_entry *positions; /* positions of ranks 1, 1 + RANKING_STEP ... */
	size_t count, capacity;
	_Atomic uint64_t folders; /* largest number of folders of ranks that there ever were */
};

void ranking_init(struct ranking *ranking, ranking_scan_fn *scan_table);
void ranking_deinit(struct ranking *ranking);

/* Begins a walk, continued by catalog_next_rank_entry, whose first group has this rank, from 1 on.
 * order: catalog_totals.order or folder_order of the reader. Returns 0, -EUCLEAN if the index has
 * fewer groups, or another -errno. */
MUST_CHECK int ranking_scan(struct ranking *ranking, struct catalog_reader *reader, uint64_t order,
			    uint64_t rank, struct catalog_scan **scan);

/* ---- copies that a caller sees ------------------------------------------------------ */

/* Caches of what a caller of a shared view sees (view/tree/visible_copies.h). The permissions of
 * the caller can change, so a result is valid for at most twenty times as long as its computation
 * took. The checks of permissions take at most a twentieth of the time. The size is bounded. Any
 * thread.
 *
 * Times are those of clock_monotonic_ns. Without memory, nothing is stored. */

struct bytes;

/* ---- copies of a large group -------------------------------------------------------- */

/* Without this cache, a listing of a folder with many copies of one group would check all copies
 * for each copy. An entry is also valid only while the group is unchanged. */

/* The copies of a group that are visible to a caller. */
struct visible_copies {
	uint64_t inodes; /* number of visible inodes */
	/* file id of the copy that uniques/ shows the caller, or 0 if none is visible */
	uint64_t kept;
};

/* Identifies an entry. */
struct visible_key {
	uint64_t caller; /* caller_digest */
	uint64_t group;
	struct timespec changed; /* time of the last change in the group's record */
};

/* Limit of entries. */
#define VISIBLE_CACHE_MAX 4096

struct visible_cache {
	pthread_mutex_t lock;
	struct visible_entry *list; /* array indexed by a hash of the key; NULL if empty */
};

void visible_cache_init(struct visible_cache *visible_cache);
void visible_cache_deinit(struct visible_cache *visible_cache);

/* Returns false if there is no valid entry. */
MUST_CHECK bool visible_cache_get(struct visible_cache *visible_cache,
				  const struct visible_key *key, struct visible_copies *visible,
				  uint64_t now_ns);

/* Stores a result that was computed from began_ns to now_ns. */
void visible_cache_put(struct visible_cache *visible_cache, const struct visible_key *key,
		       const struct visible_copies *visible, uint64_t began_ns, uint64_t now_ns);

/* ---- numbers of groups with one hash ------------------------------------------------ */

/* Contents with equal XXH3 hashes can be made easily, so one hash can have many groups. The number
 * of a group counts the caller's groups up to it; without a cache, a listing would need quadratic
 * time. A numbering is also valid only until the next commit. */

/* Identifies a numbering. */
struct number_key {
	uint64_t caller; /* caller_digest */
	struct hash128 hash;
	uint64_t generation; /* generation of the catalog's snapshot */
};

/* A group of a numbering: one field is given, the other is 0. */
struct numbered {
	uint32_t ordinal; /* ordinal in the index */
	uint32_t number; /* number for the caller, from 1 on */
};

/* Limits of the number of numberings, and of the groups in all of them. */
#define KNOWN_NUMBERS_MAX 4096
#define KNOWN_NUMBERS_GROUPS_MAX ((size_t)1 << 20)

struct known_numbers {
	pthread_mutex_t lock;
	struct known_numbering *list; /* array indexed by a hash of the key; NULL if empty */
	size_t groups; /* number of groups in all numberings */
};

void known_numbers_init(struct known_numbers *numbers);
void known_numbers_deinit(struct known_numbers *numbers);

/* Fills in the field that is 0. ordinals: uint32_t, ascending. Returns false if the numbering has
 * no such group. */
MUST_CHECK bool numbered_find(const struct bytes *ordinals, struct numbered *group);

/* Returns false if the numbering is not cached. If it is cached, fills in the field that is 0; this
 * field stays 0 if the numbering has no such group. */
MUST_CHECK bool known_numbers_get(struct known_numbers *numbers, const struct number_key *key,
				  struct numbered *group, uint64_t now_ns);

/* Stores a numbering, which was computed from began_ns to now_ns. Takes the ordinals. */
void known_numbers_put(struct known_numbers *numbers, const struct number_key *key,
		       struct bytes *ordinals, uint64_t began_ns, uint64_t now_ns);

/* ---- figures of folders ------------------------------------------------------------- */

/* How many folders are whole copies, for .twinfs/. The index does not count them: this cache counts
 * them again when a folder group has changed. That takes 0.3 s for 100,000 groups of two folders,
 * and memory for the folders of one group. A count that took more than 50 ms is used for 50
 * times as long, so counting takes 2 % of the time at most. Any thread. */

struct catalog_reader;
struct catalog_totals;

/* The rules of folder_count_add_whole() (choose/folder_tree.h) count, except that no folder is
 * spared. */
struct folder_figures {
	uint64_t groups; /* those that `list --folders` prints */
	uint64_t redundant; /* folders that are whole copies */
	uint64_t redundant_bytes; /* sizes of the files in them; each name counts */
};

struct folder_cache {
	pthread_mutex_t lock;
	bool known;
	uint64_t changes; /* catalog_totals.folder_changes for which the figures are valid */
	struct folder_figures figures;
	uint64_t valid_until_ns; /* CLOCK_MONOTONIC; the figures are used until then in any case */
};

void folder_cache_init(struct folder_cache *cache);
void folder_cache_deinit(struct folder_cache *cache);

/* Gets the figures; totals must be those of the reader. If a count takes long, the figures can be
 * those of an earlier state. redundant_bytes is never more than those of
 * the totals: hard links do not make more bytes redundant than the redundant files have. Returns 0
 * or -errno. */
MUST_CHECK int folder_figures_get(struct folder_cache *cache, struct catalog_reader *reader,
				  const struct catalog_totals *totals,
				  struct folder_figures *figures);

#endif
