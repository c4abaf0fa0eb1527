/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_KERNEL_CACHE_H
#define VIEW_FUSE_KERNEL_CACHE_H

/* What the kernel can have cached of a view: marks of nodes, listed folders of groups, generations
 * and contents of files, how long it may keep replies, and which attributes listings give it. Any
 * thread. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "view/tree/node.h"

/* ---- listed groups ------------------------------------------------------------------- */

/* The folders of groups whose listings the kernel can have cached. The rename of a directory
 * changes names in such folders without an event for each name. The notifier then takes all folders
 * from this list and invalidates their listings. A folder takes eight bytes here; the kernel's
 * inode and page cost more. */

struct listed_groups {
	pthread_mutex_t lock;
	uint64_t *nodes; /* can contain duplicates */
	size_t count, capacity;
};

void listed_groups_init(struct listed_groups *listed);
void listed_groups_deinit(struct listed_groups *listed);

/* Records a folder. Must be called before the view is queried for the listing. Returns 0 or
 * -ENOMEM. */
MUST_CHECK int listed_groups_add(struct listed_groups *listed, uint64_t node);

/* Removes all folders and returns their number, without duplicates. The caller frees *nodes by
 * free(3). */
size_t listed_groups_take(struct listed_groups *listed, uint64_t **nodes);

/* ---- cached marks -------------------------------------------------------------------- */

/* Marks nodes of which the kernel can have cached something, so that changes of other nodes cost no
 * system call. The directory of a lookup or listing, and the node of a getattr, is marked before
 * the view is queried. If such a node has no mark after a commit, all later replies about it
 * contain this commit. The node that a name refers to is marked after the query, but before the
 * reply.
 *
 * Marks are never removed, and two nodes can share a mark. With 400,000 marked nodes, 5 in 100
 * other nodes share one of the 2^23 marks. */

#define CACHED_WORDS 131072 /* 1 MiB */

/* All zero: no marks. */
struct cached_marks {
	_Atomic uint64_t words[CACHED_WORDS];
};

/* Fibonacci hashing (Knuth, The Art of Computer Programming 6.4): distributes consecutive ids
 * evenly. The upper 23 bits are used. */
static inline uint64_t cached_marks_slot(uint64_t inode)
{
	return inode * UINT64_C(0x9e3779b97f4a7c15) >> 41;
}

/* inode: the node without the version of its content. */
static inline void cached_marks_set(struct cached_marks *cached, uint64_t inode)
{
	uint64_t slot = cached_marks_slot(inode), bit = UINT64_C(1) << (slot % 64);
	_Atomic uint64_t *word = &cached->words[slot / 64];

	/* usually set already; a write would move the cache line between processors */
	if (!(atomic_load(word) & bit))
		atomic_fetch_or(word, bit);
}

static inline bool cached_marks_has(struct cached_marks *cached, uint64_t inode)
{
	uint64_t slot = cached_marks_slot(inode);

	return atomic_load(&cached->words[slot / 64]) >> (slot % 64) & 1;
}

/* ---- generations --------------------------------------------------------------------- */

/* The inode generation that the last lookup of each file returned to the kernel.
 *
 * When a lookup returns another generation for a node number, the kernel marks its inode bad. Until
 * then, the kernel can still have the inode of 4096 versions ago, and can open that inode without a
 * lookup (/proc/self/fd). Pages read by this open would mix with those of the old version.
 * Therefore a file with a generation above 0 is opened only if a lookup returned exactly this
 * version. For another version the reply is ESTALE, and the kernel looks the path up again.
 *
 * Files of generation 0 need no entry: their numbers are new. Two other files can share a slot,
 * which costs one of them another lookup. */

#define GENERATIONS_SLOT_BITS 16

/* All zero: empty. */
struct generations {
	/* 32 bits of the file id (above the slot's bits), then the version of its content, above
	 * 0 */
	_Atomic uint64_t recorded[1 << GENERATIONS_SLOT_BITS];
};

_Static_assert(NODE_ID_BITS - GENERATIONS_SLOT_BITS == 32, "an id and a version fit into a slot");

static inline _Atomic uint64_t *generations_slot(struct generations *generations, uint64_t file)
{
	return &generations->recorded[file & ((1 << GENERATIONS_SLOT_BITS) - 1)];
}

static inline uint64_t generations_entry(uint64_t file, uint32_t version)
{
	return file >> GENERATIONS_SLOT_BITS << 32 | version;
}

/* Records that a lookup returns this version of a file to the kernel. */
static inline void generations_record(struct generations *generations, uint64_t file,
				      uint32_t version)
{
	if (node_generation(version) > 0)
		atomic_store(generations_slot(generations, file), generations_entry(file, version));
}

/* Returns whether the last lookup of the file returned this version. Always true for generation
 * 0. */
static inline bool generations_has(struct generations *generations, uint64_t file, uint32_t version)
{
	return node_generation(version) == 0 ||
	       atomic_load(generations_slot(generations, file)) == generations_entry(file, version);
}

/* ---- page gate ----------------------------------------------------------------------- */

/* Decides whether the kernel may keep its page cache of a file at an open (keep_cache).
 *
 * The kernel may keep the pages if the previous open of the file had the same content: all cached
 * pages were read after that open. A file with another content is another node, but node numbers
 * repeat after 4096 versions. The gate stores the last content of as many files as it has slots. If
 * two open files share a slot, their pages are discarded more often, which costs only time. */

#define PAGE_GATE_SLOTS 65536

/* All zero: empty. */
struct page_gate {
	_Atomic uint64_t contents[PAGE_GATE_SLOTS];
};

/* Returns whether the pages may be kept, and stores the content for the next open. content is a
 * digest of the file and the version of its content. The digests of two contents are equal with a
 * probability of 2^-64. */
static inline bool page_gate_may_keep(struct page_gate *gate, uint64_t file, uint64_t content)
{
	return atomic_exchange(&gate->contents[file % PAGE_GATE_SLOTS], content) == content;
}

/* ---- timeouts ------------------------------------------------------------------------ */

/* Entry and attribute timeouts, in seconds: how long the kernel may cache a reply, unless the
 * notifier invalidates it earlier (view/fuse/notifier.h).
 *
 * The kernel caches the listings of all directories. The name of a copy in its group's folder, in
 * dups/ or folders/, changes when any directory above the copy is renamed. Such a rename causes no
 * event for each file. Therefore the listings of all groups' folders are invalidated then, and
 * names in these folders are not cached (timeout 0). Files in .twinfs/ are not cached either. Names
 * in by-size/ and folders/ are not cached, as any change can move ranks.
 *
 * In a shared mount, listings are not cached and all timeouts are 0. With a cache, the kernel would
 * answer one user from the reply to another.
 */

/* Replies are valid until they are invalidated. If an invalidation is missing because of a bug, the
 * hour limits the effect. */
#define TIMEOUT_LONG 3600.0

/* Entry timeout of names in a directory, and of names that do not exist there. */
static inline double entry_timeout_of(uint64_t parent, bool shared)
{
	if (shared)
		return 0.0;
	if (node_has_copies(parent) || node_is_ranked(parent) || parent == FIXED_TWINFS)
		return 0.0;
	return TIMEOUT_LONG;
}

/* Attribute timeout of a node. */
static inline double attr_timeout_of(uint64_t node, bool shared)
{
	if (shared)
		return 0.0;
	return node_kind(node) == NODE_FIXED && node >= FIXED_FILES ? 0.0 : TIMEOUT_LONG;
}

/* ---- listing habits ------------------------------------------------------------------ */

/* Decides which entries of a listing get attributes, by what the process did before.
 *
 * Attributes in a listing save one lookup for each file, which tar(1) waits for. But the kernel
 * makes an inode for each of them, which took half of the time of a find(1) that uses none. Both
 * read a whole directory first, so FUSE_READDIRPLUS_AUTO does not distinguish them. It requests
 * attributes for the first 32 KiB only. Here, a process that looks up or opens files gets all
 * attributes. Any other process gets those of its first listings, and then those of directories.
 *
 * A slot holds the last process that uses it. A wrong guess only costs time. */

#define LISTING_HABIT_SLOTS 256

/* Number of directories whose first reply has attributes for a process without known use. */
#define LISTINGS_TRIED 2

enum listing_attributes {
	LISTING_OF_DIRECTORIES, /* directories only: a program that walks a tree looks them up */
	LISTING_OF_ALL,
};

/* All zero: no process. The upper 32 bits of a slot are the thread id, the lower 32 bits the number
 * of directories listed, or LISTING_USED. */
struct listing_habits {
	_Atomic uint64_t slots[LISTING_HABIT_SLOTS];
};

#define LISTING_USED UINT32_MAX

static inline _Atomic uint64_t *listing_habits_slot(struct listing_habits *habits, pid_t process)
{
	return &habits->slots[(uint32_t)process % LISTING_HABIT_SLOTS];
}

static inline uint32_t listing_habits_count(uint64_t slot, pid_t process)
{
	return slot >> 32 == (uint32_t)process ? (uint32_t)slot : 0;
}

/* Records that a process looked up or opened a file. */
static inline void listing_habits_note_use(struct listing_habits *habits, pid_t process)
{
	_Atomic uint64_t *slot = listing_habits_slot(habits, process);
	uint64_t used = (uint64_t)(uint32_t)process << 32 | LISTING_USED;

	if (atomic_load(slot) != used)
		atomic_store(slot, used);
}

/* Chooses the attributes for the next part of a listing. is_begin: the part begins with the first
 * entry. */
static inline enum listing_attributes listing_habits_choose(struct listing_habits *habits,
							    pid_t process, bool is_begin)
{
	_Atomic uint64_t *slot = listing_habits_slot(habits, process);
	uint32_t count = listing_habits_count(atomic_load(slot), process);

	if (count == LISTING_USED)
		return LISTING_OF_ALL;
	if (!is_begin || count >= LISTINGS_TRIED)
		return LISTING_OF_DIRECTORIES;
	atomic_store(slot, (uint64_t)(uint32_t)process << 32 | (count + 1));
	return LISTING_OF_ALL;
}

#endif
