/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_RECORD_H
#define CATALOG_RECORD_H

/* What the index keeps of each thing, and how it is written. Pure code, any thread.
 *
 * store/value.h puts a version and a checksum around the fields of each record.
 *
 * table     key                              fields
 * meta      text                             see meta.h
 * dir       dir id                           struct dir_record
 * entry     dir id, cookie                   struct entry_record
 * file      file id                          struct file_record
 * bykey     file system, inode               file id
 * bysize    size, head, group id, file id    -
 * content   file id                          struct content_record
 * group     group id                         struct group_record
 * member    group id, file id                -
 * byhash    hash (16 bytes), ordinal         group id
 * rank      ~reclaimable (8 bytes), group id -
 * link      file id, dir id, cookie          name id     names of a file beyond its first
 * place     group id, name id                struct file_name, of each name that has an id
 * error     kind, id                         errno
 * orphan    file id                          catalog_totals.comparisons when it lost its last name
 * redundant dir id                           how many names in it are of redundant copies, and
 *                                            subdirectories have such a record; none for 0
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "base/attributes.h"
#include "base/hash.h"
#include "base/size.h"
#include "store/key.h"
#include "store/value.h"

/* The largest name of a directory entry, in bytes. */
#define NAME_BYTES_MAX 255

/* What stat(2) said. filesystem is the catalog's own number for the file system (or btrfs
 * subvolume): st_dev does not survive a remount. */
struct attributes {
	uint64_t inode;
	uint64_t size; /* bytes */
	uint64_t blocks; /* of 512 bytes */
	uint64_t rdev;
	uint32_t filesystem;
	uint32_t mode;
	uint32_t uid;
	uint32_t gid;
	uint32_t links;
	struct timespec mtime;
	struct timespec ctime;
	struct timespec atime; /* when the rest last changed; a later access is not followed */
	struct timespec btime; /* {0, 0} where the file system has none */
};

/* Are these the same inode with, as far as stat can tell, the same bytes? Compares file system,
 * inode and its time of birth (inode numbers are used again), size, mtime and ctime. */
bool attributes_same_signature(const struct attributes *a, const struct attributes *b);

/* The signature in 64 bits, to hold many of them: equal ones are taken for the same. */
uint64_t attributes_digest(const struct attributes *attributes);

/* Is it the same inode? */
bool attributes_same_inode(const struct attributes *a, const struct attributes *b);

/* The signature, and everything else but atime. */
bool attributes_equal(const struct attributes *a, const struct attributes *b);

/* A name: borrowed bytes without '/' and NUL, not terminated. */
struct name {
	const char *bytes;
	uint32_t length;
};

enum dir_flag {
	/* another file system or mount, not entered: it is listed as an empty directory */
	DIR_NOT_ENTERED = 1,
	/* its names could be listed, but not all looked up (those are ENTRY_UNKNOWN): error says
	 * why, and does not keep anybody from listing it */
	DIR_NOT_SEARCHED = 2,
};

struct dir_record {
	uint64_t id;
	uint64_t parent; /* 0: the root of a source */
	uint32_t source; /* index into the catalog's sources */
	uint32_t flags; /* enum dir_flag */
	int32_t error; /* positive errno of its last listing or of a look-up in it, 0 */
	struct attributes attributes;
	struct name name; /* of a root: "" */
};

/* A file is an inode that is no directory: regular file, symlink, device, FIFO, socket. */
struct file_record {
	uint64_t id;
	uint64_t dir; /* where its first name is; meaningless where names is 0 */
	uint64_t cookie;
	uint32_t names; /* known ones, 0 for an orphan */
	uint32_t first_seen; /* number of the scan or look that found it */
	/* Version of its content: one more each time that it changed, or may have changed. */
	uint32_t touches;
	uint64_t name; /* id of the first name, see catalog/link.h; 0: it has the file's id */
	struct attributes attributes;
};

/* Signature and version in 64 bits: who read a file when it had this digest knows what it holds for
 * as long as it has it. */
uint64_t file_digest(const struct file_record *file);

enum entry_kind {
	ENTRY_DIR = 1,
	ENTRY_FILE = 2,
	/* the name is known, but stat(2) on it failed: child is the positive errno */
	ENTRY_UNKNOWN = 3,
};

/* A name in a directory. The cookie is a 59-bit hash of the name (seeded with the index's own
 * secret) with 4 more bits that number names of equal hash: it never changes while the name is
 * there, is at least 16 and below 2^63, so that a listing can go on behind it. */
struct entry_record {
	uint64_t dir;
	uint64_t cookie;
	enum entry_kind kind;
	uint64_t child;
	struct name name;
};

#define ENTRY_COOKIE_SLOTS 16
#define ENTRY_COOKIE_MIN 16

/* A name of a file, with an id of its own. */
struct file_name {
	uint64_t id;
	uint64_t file;
	uint64_t dir;
	uint64_t cookie;
};

/* What was learned by reading a regular file with the attributes that its file_record has. No
 * record: not read yet, or its size is its alone. */
struct content_record {
	uint64_t prefix; /* hash of its first bytes, never 0: files with different heads differ */
	uint64_t group; /* its class of byte-equal files, 0: equal to none that is known */
	/* Of all bytes of a file in no group that a comparison read to its end; zero: not known. */
	struct hash128 hash;
};

static inline bool content_has_hash(const struct content_record *content)
{
	return content->hash.high != 0 || content->hash.low != 0;
}

/* A class of byte-equal files. It is a group for users (dups/<hash>) while it has two inodes or
 * more; its id stands for these bytes for ever. */
struct group_record {
	uint64_t id;
	struct hash128 hash;
	uint32_t ordinal; /* 1; 2 for <hash>~2 ... */
	uint64_t size; /* of one copy, bytes */
	uint64_t inodes;
	uint64_t kept; /* file id of the copy that uniques/ shows, 0 only where inodes is 0 */
	struct timespec changed; /* when a copy last came or went */
};

/* Bytes that would be freed if only one copy stayed. */
static inline uint64_t group_reclaimable(const struct group_record *group)
{
	return group->inodes < 2 ? 0 : size_multiply(group->inodes - 1, group->size);
}

static inline bool group_is_visible(const struct group_record *group)
{
	return group->inodes >= 2;
}

enum error_kind {
	ERROR_DIR = 1,
	ERROR_FILE = 2
};

/* Sums over the whole index, kept up to date by every change. */
struct catalog_totals {
	uint64_t generation; /* commits that changed something */
	uint64_t scans; /* and looks: the last number given to one */
	uint64_t comparisons; /* files of which something was learned by reading */
	uint64_t directories;
	uint64_t files; /* inodes that are no directory */
	struct size_sum bytes; /* st_size of regular files, each inode once */
	uint64_t blocks; /* of 512 bytes, of the same */
	uint64_t names; /* of files */
	uint64_t groups; /* visible */
	uint64_t redundant_files;
	struct size_sum redundant_bytes;
	uint64_t errors;
	uint64_t unlisted; /* files from this id on are not listed by size yet; 0: all are */
	uint64_t order; /* how often the order of groups (table rank) changed */
	struct timespec changed; /* the last commit that changed something */
};

/* Each encodes the fields of a record, without what its key has already. */
struct value encode_dir(const struct dir_record *dir);
struct value encode_file(const struct file_record *file);
struct value encode_entry(const struct entry_record *entry);
struct value encode_place(const struct file_name *place);
struct value encode_content(const struct content_record *content);
struct value encode_group(const struct group_record *group);
struct value encode_totals(const struct catalog_totals *totals);

/* Each takes the fields apart; false: damaged. Names stay borrowed from fields. */
MUST_CHECK bool decode_dir(struct span fields, struct dir_record *dir);
MUST_CHECK bool decode_file(struct span fields, struct file_record *file);
MUST_CHECK bool decode_entry(struct span fields, struct entry_record *entry);
MUST_CHECK bool decode_place(struct span fields, struct file_name *place);
MUST_CHECK bool decode_content(struct span fields, struct content_record *content);
MUST_CHECK bool decode_group(struct span fields, struct group_record *group);
MUST_CHECK bool decode_totals(struct span fields, struct catalog_totals *totals);

/* The first cookie that a name may have; names with equal hashes take the ones behind it, up to
 * ENTRY_COOKIE_SLOTS. The seed is the index's secret: nobody can prepare names that collide. */
uint64_t name_cookie(uint64_t seed, struct name name);

bool names_equal(struct name a, struct name b);

#endif
