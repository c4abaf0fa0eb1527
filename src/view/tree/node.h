/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_NODE_H
#define VIEW_TREE_NODE_H

/* Node numbers. The low 48 bits are the id in the catalog and the next 4 bits are the kind. For a
 * file the top 12 bits are the low bits of its content's version. A file whose content changes
 * therefore becomes another node. Pages of the old and of the new content never share an inode in
 * the kernel. A number is used again after 4096 versions. The higher bits of the version are the
 * generation of the inode (fuse_entry_param). By the generation, the kernel distinguishes versions
 * with equal numbers (view/fuse/kernel_cache.h).
 *
 * In folders/, a directory occurs below each of its parents that equals another folder. The kernel
 * allows only one name for the inode of a directory, so each occurrence has a node: for a directory
 * in folders/ the top 12 bits are its depth below the equal folder.
 *
 * Programs see another number of the node without its version or depth (view_inode). It stays the
 * same while the file exists. It is below 2^53, so programs that store inode numbers in a double
 * store them exactly. While all ids of files are below 2^31, and the others below 2^27, it is
 * below 2^32: programs without support of large files get EOVERFLOW for a larger one. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "index/record.h"

#define NODE_ID_BITS 48
#define NODE_INODE_BITS 52
#define NODE_VERSION_BITS 12
#define NODE_VERSION_MASK 0xfffU

enum node_kind {
	NODE_FIXED = 0, /* enum fixed_node */
	NODE_DIR = 1, /* a directory of a source in uniques/; dir id */
	NODE_GROUP = 2, /* a folder in dups/; group id */
	NODE_FILE = 3, /* a file of a source, by any of its names; file id */
	NODE_REDUNDANT = 4, /* a directory of a source in redundant/; dir id */
	NODE_RANKS = 5, /* a folder in by-size/; its number, from 1 on */
	NODE_LINK = 6, /* a link in by-size/; group id */
	NODE_DEEP_LINK = 7, /* a link in a folder in by-size/; group id */
	NODE_PLACEHOLDER = 8, /* not in the view; reserved for the frontend */
	NODE_FOLDER_RANKS = 9, /* a folder of ranks in folders/; its number, from 1 on */
	NODE_EQUALS = 10, /* the folder of a group of equal folders; folder group id */
	NODE_FOLDER = 11, /* a directory of a source in folders/; dir id */
};

/* FUSE requires root number 1. */
enum fixed_node {
	FIXED_ROOT = 1,
	FIXED_DUPS = 2,
	/* FIXED_UNIQUES and FIXED_REDUNDANT exist only with several sources; the root of a single
	 * source takes their places */
	FIXED_UNIQUES = 3,
	FIXED_REDUNDANT = 4,
	FIXED_BY_SIZE = 5,
	FIXED_FOLDERS = 6,
	FIXED_TWINFS = 7,
	FIXED_FILES = 8, /* first of the files */
	FIXED_STATUS = FIXED_FILES,
	FIXED_ERRORS,
	FIXED_PENDING,
	FIXED_METRICS,
	FIXED_SYNC,
	FIXED_REMAP,
	FIXED_EVENTS,
	FIXED_REPORT,
	/* in the root */
	FIXED_README,
	FIXED_ROOT_REPORT,
};

static inline uint64_t node_make(uint64_t kind, uint64_t id)
{
	return kind << NODE_ID_BITS | id;
}

/* Returns the node of a file whose content has this version (content_version of its record). */
static inline uint64_t node_make_file(uint64_t id, uint32_t version)
{
	return (uint64_t)(version & NODE_VERSION_MASK) << NODE_INODE_BITS |
	       node_make(NODE_FILE, id);
}

/* Highest depth of a directory in folders/. A path with more names exceeds PATH_MAX. */
#define NODE_DEPTH_MAX NODE_VERSION_MASK

/* Returns the node of a directory in folders/ at this depth below an equal folder; 0: itself. */
static inline uint64_t node_make_folder(uint64_t id, uint64_t depth)
{
	return depth << NODE_INODE_BITS | node_make(NODE_FOLDER, id);
}

/* Returns the node without its version or depth. */
static inline uint64_t node_inode(uint64_t node)
{
	return node & ((UINT64_C(1) << NODE_INODE_BITS) - 1);
}

static inline uint32_t node_version(uint64_t node)
{
	return (uint32_t)(node >> NODE_INODE_BITS);
}

static inline uint64_t node_depth(uint64_t node)
{
	return node >> NODE_INODE_BITS;
}

/* Returns the bits of the version that do not fit into a node number. */
static inline uint32_t node_generation(uint32_t version)
{
	return version >> NODE_VERSION_BITS;
}

static inline uint64_t node_kind(uint64_t node)
{
	return node_inode(node) >> NODE_ID_BITS;
}

/* Is the node a folder of the view? */
bool node_is_folder(uint64_t node);

/* Is the node a directory of a source, in uniques/, redundant/ or folders/? */
static inline bool node_is_source_dir(uint64_t node)
{
	uint64_t kind = node_kind(node);

	return kind == NODE_DIR || kind == NODE_REDUNDANT || kind == NODE_FOLDER;
}

/* Is the node a link in by-size/ or in a folder of it? */
static inline bool node_is_link(uint64_t node)
{
	uint64_t kind = node_kind(node);

	return kind == NODE_LINK || kind == NODE_DEEP_LINK;
}

/* Is the node a folder whose names contain ranks of groups? */
static inline bool node_is_ranked(uint64_t node)
{
	return node == FIXED_BY_SIZE || node_kind(node) == NODE_RANKS || node == FIXED_FOLDERS ||
	       node_kind(node) == NODE_FOLDER_RANKS;
}

/* Is the node a folder whose names are paths in the sources? */
static inline bool node_has_copies(uint64_t node)
{
	return node_kind(node) == NODE_GROUP || node_kind(node) == NODE_EQUALS;
}

static inline uint64_t node_id(uint64_t node)
{
	return node & ((UINT64_C(1) << NODE_ID_BITS) - 1);
}

/* Returns the inode number that programs see in a view that is not shared. A small id gives a small
 * number: files have the odd numbers, as there are the most of them. */
static inline uint64_t node_seen_inode(uint64_t node)
{
	uint64_t kind = node_kind(node), id = node_id(node);

	return kind == NODE_FILE ? id << 1 | 1 : id << 5 | kind << 1;
}

/* The inverse of node_seen_inode(). The result has no version and no depth. */
static inline uint64_t node_from_seen_inode(uint64_t inode)
{
	return inode & 1 ? node_make(NODE_FILE, inode >> 1)
			 : node_make(inode >> 1 & 0xf, inode >> 5);
}

/* ---- numbers that programs see ------------------------------------------------------ */

/* Permutes numbers with a secret, so that the distance of two numbers cannot be computed without
 * the secret. A Feistel network is a permutation with any round function. Pure code, any thread. */

/* Argument and result have 2 * half_bits bits; half_bits is at most 32. */
uint64_t permute(uint64_t secret, unsigned int half_bits, uint64_t number);

/* The inverse of permute(). */
uint64_t permute_back(uint64_t secret, unsigned int half_bits, uint64_t permuted);

/* Permutes ids of at most 48 bits so that a small id stays small: ids below 2^26 among themselves,
 * and larger ids among those with the same number of pairs of bits. */
uint64_t permute_id(uint64_t secret, uint64_t id);

/* ---- listing cookie ----------------------------------------------------------------- */

/* Cookies of listings in the order of ids: dups/ and the folders in it.
 *
 * A cookie is an encrypted id: a permutation with a secret of the view. The cookie
 * alone determines where a listing continues, so a listing has no other state. Any number of
 * readers can continue from any cookie at any time. Pure code, any thread. */

/* Returns a cookie of at least VIEW_COOKIE_MIN, below 2^63. */
uint64_t listing_cookie(uint64_t secret, uint64_t id);

/* Returns the id of a cookie, or 0 for the beginning. Returns UINT64_MAX - 1 if no id has this
 * cookie, so that no name follows. */
uint64_t listing_id(uint64_t secret, uint64_t cookie);

/* ---- attributes --------------------------------------------------------------------- */

/* Attributes of nodes, as for stat(2). Pure code, any thread. */

/* Sets the attributes of a directory or file of a source. A directory always has one link. From a
 * larger number, find(1) would compute the number of subdirectories, but the view can omit some
 * subdirectories. */
void stat_set_record(struct stat *stat, uint64_t node, const struct attributes *attributes);

/* Sets the attributes of a file of a source. st_dev is the version of its content. A file that lost
 * its last name has no links. The ctime is at least the time since which the file is in uniques/ or
 * redundant/. A caller is shown the ctime of the source: that time can depend on hidden copies, and
 * the caller can see other copies in uniques/. */
struct caller;
void stat_set_file_record(struct stat *stat, const struct file_record *file,
			  const struct caller *caller);

/* Set the attributes of a directory, file or symlink that only the view has. Such an object belongs
 * to the user of this process and is read-only. */
void stat_set_directory(struct stat *stat, uint64_t node, struct timespec changed);
void stat_set_file(struct stat *stat, uint64_t node, struct timespec changed);
void stat_set_symlink(struct stat *stat, uint64_t node, size_t target_length,
		      struct timespec changed);

#endif
