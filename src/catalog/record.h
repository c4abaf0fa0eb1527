/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_RECORD_H
#define CATALOG_RECORD_H

/* The records of the index and their encoding. Pure code, any thread.
 *
 * store/value.h adds a version and a checksum to the fields of each record.
 *
 * table     key                              fields
 * meta      text                             see meta.h
 * dir       dir id                           struct dir_record
 * entry     dir id, cookie                   struct entry_record
 * file      file id                          struct file_record
 * bykey     file system, inode               file id
 * bysize    size, prefix, group id, file id  -
 * content   file id                          struct content_record
 * group     group id                         struct group_record
 * member    group id, file id                -
 * byhash    hash (16 bytes), ordinal         group id
 * rank      ~reclaimable (8 bytes), group id -
 * link      file id, dir id, cookie          name id     names of a file beyond its first
 * place     group id, name id                struct file_name, of each name that has an id
 * error     kind, id                         errno
 * orphan    file id                          catalog_totals.comparisons when it lost its last name
 * redundant dir id                           number of its names that are redundant copies, and
 *                                            of its subdirectories with such a record; never 0
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

/* Maximum length of a name in a directory, in bytes. */
#define NAME_BYTES_MAX 255

/* Result of stat(2). filesystem is the catalog's number for the file system (or btrfs subvolume),
 * as st_dev can change at the next mount. */
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
	/* when the other attributes last changed; later accesses are not tracked */
	struct timespec atime;
	struct timespec btime; /* {0, 0} if the file system has no birth time */
};

/* Compares the signature: file system, inode, birth time (inode numbers are reused), size, mtime
 * and ctime. True means the same inode with the same bytes, as far as stat(2) shows. */
bool attributes_same_signature(const struct attributes *a, const struct attributes *b);

/* Returns a hash of the signature in 64 bits. Equal hashes are treated as equal signatures. */
uint64_t attributes_digest(const struct attributes *attributes);

/* Returns true if both are the same inode. */
bool attributes_same_inode(const struct attributes *a, const struct attributes *b);

/* Compares the signature and all other attributes except atime. */
bool attributes_equal(const struct attributes *a, const struct attributes *b);

/* A name: borrowed bytes without '/' and NUL, not NUL-terminated. */
struct name {
	const char *bytes;
	uint32_t length;
};

enum dir_flag {
	/* Another file system or mount that walks do not enter. The view lists it as an empty
	 * directory. */
	DIR_NOT_ENTERED = 1,
	/* Its names could be listed, but some could not be examined (ENTRY_UNKNOWN). error is the
	 * reason; the directory can still be listed. */
	DIR_NOT_SEARCHED = 2,
};

struct dir_record {
	uint64_t id;
	uint64_t parent; /* 0: the root of a source */
	uint32_t source; /* index into the catalog's sources */
	uint32_t flags; /* enum dir_flag */
	int32_t error; /* positive errno of its last listing or of stat(2) on a name in it, or 0 */
	struct attributes attributes;
	struct name name; /* "" for a root */
};

/* An inode that is not a directory: regular file, symlink, device, FIFO or socket. */
struct file_record {
	uint64_t id;
	uint64_t dir; /* directory of its first name; undefined if names is 0 */
	uint64_t cookie;
	uint32_t names; /* number of known names; 0: an orphan */
	uint32_t first_seen; /* number of the scan or recheck that found it */
	/* Version of its content: incremented after each certain or possible change of the
	 * content. */
	uint32_t content_version;
	uint64_t name; /* id of the first name, see catalog/link.h; 0: the file's id */
	struct attributes attributes;
};

/* Returns a hash of signature and version in 64 bits. While the digest of a file is unchanged,
 * bytes that were read earlier are its content. */
uint64_t file_digest(const struct file_record *file);

enum entry_kind {
	ENTRY_DIR = 1,
	ENTRY_FILE = 2,
	/* The name exists, but stat(2) on it failed: child is the positive errno. */
	ENTRY_UNKNOWN = 3,
};

/* A name in a directory. The cookie is a 59-bit hash of the name, seeded with a secret of the
 * index, and 4 bits that number names of equal hash. A cookie does not change while the name
 * exists, and is at least 16 and below 2^63. So a listing can continue after a cookie. */
struct entry_record {
	uint64_t dir;
	uint64_t cookie;
	enum entry_kind kind;
	uint64_t child;
	struct name name;
};

#define ENTRY_COOKIE_SLOTS 16
#define ENTRY_COOKIE_MIN 16

/* A name of a file that has its own id. */
struct file_name {
	uint64_t id;
	uint64_t file;
	uint64_t dir;
	uint64_t cookie;
};

/* The known content of a regular file, while its attributes are those of its file_record. No
 * record: the file was not read yet, or its size is unique. */
struct content_record {
	uint64_t prefix; /* prefix hash, never 0: files with different values differ */
	uint64_t group; /* its class of byte-equal files, 0: no equal file is known */
	/* Hash of all bytes of a file in no group, if a comparison read it to its end; zero: not
	 * known. */
	struct hash128 hash;
};

static inline bool content_has_hash(const struct content_record *content)
{
	return content->hash.high != 0 || content->hash.low != 0;
}

/* A class of byte-equal files. Users see it as a group (dups/<hash>) while it has two or more
 * inodes. Its id always means these bytes. */
struct group_record {
	uint64_t id;
	struct hash128 hash;
	uint32_t ordinal; /* 1; 2 for <hash>~2 and so on */
	uint64_t size; /* of one copy, bytes */
	uint64_t inodes;
	uint64_t kept; /* file id of the kept copy, which uniques/ shows; 0 only if inodes is 0 */
	struct timespec changed; /* when a copy was last added or removed */
};

/* Returns the bytes that would be freed if only one copy remained. */
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

/* Sums over the whole index. Every change updates them. */
struct catalog_totals {
	uint64_t generation; /* commits that changed something */
	uint64_t scans; /* the last number that a scan or recheck got */
	uint64_t comparisons; /* files whose content was recorded after reading */
	uint64_t directories;
	uint64_t files; /* inodes other than directories */
	struct size_sum bytes; /* st_size of regular files, each inode once */
	uint64_t blocks; /* of 512 bytes, of the same files */
	uint64_t names; /* names of files */
	uint64_t groups; /* visible ones */
	uint64_t redundant_files;
	struct size_sum redundant_bytes;
	uint64_t errors;
	uint64_t unlisted; /* files from this id on are not listed by size yet; 0: all are */
	uint64_t order; /* number of changes of the order of groups (table rank) */
	struct timespec changed; /* time of the last commit that changed something */
};

/* Each encodes the fields of a record, without those in its key. */
struct value encode_dir(const struct dir_record *dir);
struct value encode_file(const struct file_record *file);
struct value encode_entry(const struct entry_record *entry);
struct value encode_place(const struct file_name *place);
struct value encode_content(const struct content_record *content);
struct value encode_group(const struct group_record *group);
struct value encode_totals(const struct catalog_totals *totals);

/* Each decodes the fields of a record. Returns false if they are damaged. Names are borrowed from
 * fields. */
MUST_CHECK bool decode_dir(struct span fields, struct dir_record *dir);
MUST_CHECK bool decode_file(struct span fields, struct file_record *file);
MUST_CHECK bool decode_entry(struct span fields, struct entry_record *entry);
MUST_CHECK bool decode_place(struct span fields, struct file_name *place);
MUST_CHECK bool decode_content(struct span fields, struct content_record *content);
MUST_CHECK bool decode_group(struct span fields, struct group_record *group);
MUST_CHECK bool decode_totals(struct span fields, struct catalog_totals *totals);

/* Returns the first cookie that a name can have. Names with equal hashes get the next cookies, at
 * most ENTRY_COOKIE_SLOTS in all. The seed is secret, so no user can choose names that collide. */
uint64_t name_cookie(uint64_t seed, struct name name);

bool names_equal(struct name a, struct name b);

#endif
