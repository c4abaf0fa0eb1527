/* SPDX-License-Identifier: MIT */
#ifndef INDEX_RECORD_H
#define INDEX_RECORD_H

/* The records of the index and their encoding. Pure code, any thread.
 *
 * index/store/value.h adds a version and a checksum to the fields of each record.
 *
 * table     key                              fields (-: none)
 * meta      text                             see meta.h
 * dir       dir id                           struct dir_record
 * entry     dir id, cookie                   struct entry_record
 * file      file id                          struct file_record
 * bykey     file system, inode / 32          struct inode_block
 * bysize    size, prefix, group id, file id  -
 * content   file id                          struct content_record
 * group     group id                         struct group_record
 * member    group id, file id                -
 * byhash    hash (16 bytes), ordinal         group id
 * rank      8 bytes, group id                -           the 8 bytes are ~group_reclaimable()
 * link      file id, dir id, cookie          name id     names of a file beyond its first
 * place     group id, name id                struct file_name, for each name with an id of its own
 * error     kind, id                         errno
 * orphan    file id                          catalog_totals.comparisons when it lost its last name
 * redundant dir id                           struct redundant_record
 * target    file id                          target of a symlink, of at most TARGET_BYTES_MAX bytes
 * folder    dir id                           struct folder_record, see folders.h
 * bytree    sum (16 bytes), group, dir id    -           complete directories; group 0: none
 * folders   folder group id                  struct folder_group
 * folderrank 8 bytes, folder group id        -           the 8 bytes are ~folder_group.ranked
 * extent    file id                          struct extent_record, see query.h
 * unmapped  group id                         time (s since 1970) at which its extents have to be
 *                                            mapped, see query.h; 0: now
 * blocks    file id, number                  hashes of the blocks of a file, see hashes.h
 * digest    file id or group id              struct digest_record, see hashes.h
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "base/attributes.h"
#include "base/hash.h"
#include "base/numbers.h"
#include "base/path.h"
#include "index/store/value.h"

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
	bool encrypted; /* not recorded: by the kernel (scan/walk.c) */
	struct timespec mtime;
	struct timespec ctime;
	/* as of the last change of another attribute; later accesses are not recorded */
	struct timespec atime;
	struct timespec btime; /* {0, 0} if the file system has no birth time */
};

/* Compares the signature: file system, inode, file type, birth time (inode numbers are reused),
 * size, mtime and ctime. True means the same inode with the same bytes, as far as stat(2) shows. */
bool attributes_same_signature(const struct attributes *a, const struct attributes *b);

/* Returns a hash of the signature in 64 bits. Equal hashes are treated as equal signatures. */
uint64_t attributes_digest(const struct attributes *attributes);

/* Compares only file system, inode, file type and birth time. */
bool attributes_same_inode(const struct attributes *a, const struct attributes *b);

/* Compares the signature and all other attributes except atime. */
bool attributes_equal(const struct attributes *a, const struct attributes *b);

/* A name: borrowed bytes without '/' and NUL, not NUL-terminated. */
struct name {
	const char *bytes;
	uint32_t length;
};

/* Maximum length of the target of a symlink that is recorded, in bytes. */
#define TARGET_BYTES_MAX 480

enum dir_flag {
	/* Another file system or mount that walks do not enter. The view lists it as an empty
	 * directory. */
	DIR_NOT_ENTERED = 1,
	/* The directory could be listed, but stat(2) failed on some names (ENTRY_UNKNOWN). error is
	 * the reason. */
	DIR_NOT_SEARCHED = 2,
	/* The index lacks names of the directory: they are excluded, or the user did not name them,
	 * or they belong to an index or a view, or the new directory was not listed yet. */
	DIR_PARTIAL = 4,
	/* The directory has a tag of a cache (index/emptied_place.h), or is a source below such a
	 * directory. */
	DIR_IS_CACHE = 8,
	/* Set on the root of a source, and where another file system begins: the file system is in
	 * memory, or is a read-only snapshot. */
	DIR_IN_MEMORY = 16,
	DIR_IN_SNAPSHOT = 32,
	/* Set on the root of a source, and where another file system begins: it is a bind mount of
	 * a folder in a trash, which the path does not show. */
	DIR_IN_TRASH = 64,
};

/* The flags that say what a place is, rather than what the index lacks. */
#define DIR_PLACE (DIR_IS_CACHE | DIR_IN_MEMORY | DIR_IN_SNAPSHOT | DIR_IN_TRASH)

struct dir_record {
	uint64_t id;
	uint64_t parent; /* 0: the root of a source */
	uint32_t source; /* number of the source, from 0 */
	uint32_t flags; /* enum dir_flag */
	int32_t error; /* positive errno of its last listing or of stat(2) on a name in it, or 0 */
	struct attributes attributes;
	struct name name; /* "" for a root */
};

/* An inode that is not a directory: regular file, symlink, device, FIFO or socket. */
struct file_record {
	uint64_t id;
	/* directory and cookie of its first name; undefined if names is 0 */
	uint64_t dir, cookie;
	uint32_t names; /* number of known names; 0: an orphan */
	uint32_t first_seen; /* number of the scan or recheck that found it */
	/* version of its content: incremented after each change, or possible change, of it */
	uint32_t content_version;
	uint64_t name; /* id of the first name (file.h); 0: this name has the id of the file */
	bool copy_mark; /* has_copy_mark() of the first name; false if names is 0 */
	/* Hash of the last group that it left while it was the kept copy, and
	 * catalog_totals.generation then; zero: none. If it joins a group of this hash, it is the
	 * kept copy again (group_keep_again()). */
	struct hash128 kept_hash;
	uint64_t kept_until;
	/* Time of the last commit that brought it into uniques/ or redundant/ without a change of
	 * its ctime: it stopped being redundant or became so, or it has its old name again. Its
	 * ctime in the view is at least this time. Zero: none. */
	struct timespec shown_since;
	struct attributes attributes;
};

/* Returns true if the file left a group while it was the kept copy. */
static inline bool file_was_kept(const struct file_record *file)
{
	return file->kept_hash.high != 0 || file->kept_hash.low != 0;
}

/* Sets shown_since to now, or to a later time than what its ctime in the view was. */
void file_set_shown(struct file_record *file, struct timespec now);

/* Returns true if the file has a hard link that the index does not know, such as one outside of the
 * sources. Then removing its known names frees nothing. */
static inline bool file_is_held_outside(const struct file_record *file)
{
	return file->names > 0 && file->attributes.links > file->names;
}

/* Returns true if a name of the file has its own id. */
static inline bool file_has_links(const struct file_record *file)
{
	return file->names > 1 || file->name;
}

/* Files by inode number. Inodes that were made together have adjacent numbers, so a record for each
 * of them would have more bytes of key and seal than of file id. */
#define INODE_BLOCK_NUMBERS 32

struct inode_block {
	uint64_t files[INODE_BLOCK_NUMBERS]; /* file id by inode % 32; 0: none */
};

/* Returns a hash of signature and content version in 64 bits. While the digest of a file is
 * unchanged, bytes that were read earlier are its content. */
uint64_t file_digest(const struct file_record *file);

enum entry_kind {
	ENTRY_DIR = 1,
	ENTRY_FILE = 2,
	/* The name exists, but stat(2) on it failed: child is the positive errno. */
	ENTRY_UNKNOWN = 3,
};

/* A name in a directory. The cookie is a 44-bit hash of the name, seeded with a secret of the
 * index, and 4 bits that number names of equal hash. It is at least 16 and below 2^48. A cookie
 * does not change while the name exists, so a listing can continue after a cookie. */
struct entry_record {
	uint64_t dir;
	uint64_t cookie;
	enum entry_kind kind;
	uint64_t child;
	struct name name;
};

/* A user who reads cookies in a view would have to make about 2^44 names to find more names of
 * equal hash than there are slots. */
#define ENTRY_HASH_BITS 44
#define ENTRY_COOKIE_SLOTS 16
#define ENTRY_COOKIE_MIN 16

/* A name of a file, with an id of its own (file.h). */
struct file_name {
	uint64_t id;
	uint64_t file;
	uint64_t dir;
	uint64_t cookie;
};

/* The known content of a regular file that has the attributes of its file_record. A file has no
 * content_record if it was not read since its content possibly changed. */
struct content_record {
	uint64_t prefix; /* prefix hash, never 0: files with different values differ */
	uint64_t group; /* id of its class of byte-equal files; 0: no equal file is known */
	/* Hash of all bytes, if the file is in no group and a comparison read it to its end. Zero:
	 * unknown. */
	struct hash128 hash;
};

static inline bool content_has_hash(const struct content_record *content)
{
	return !hash128_is_zero(content->hash);
}

/* A class of byte-equal files. It is visible to users, as dups/<hash>, while it has two or more
 * inodes. Its id always stands for the same bytes. */
struct group_record {
	uint64_t id;
	struct hash128 hash;
	uint32_t ordinal; /* 1; 2 for <hash>~2 and so on */
	uint64_t size; /* of one copy, bytes */
	uint64_t inodes;
	uint64_t kept; /* file id of the kept copy, which uniques/ shows; 0 only if inodes is 0 */
	/* time of the last commit that set or removed a member, or changed whether a member has
	 * unknown hard links */
	struct timespec changed;
	/* A member possibly has holes, shares extents, has hard links that the index does not know,
	 * or is in a place that something else empties (query.h). */
	bool maps;
	/* Bytes of the redundant copies that stay allocated, or never were, if these copies are
	 * removed: holes, and extents or whole files that are in use elsewhere. */
	uint64_t retained; /* below UINT64_MAX */
};

/* What a directory contributes to redundant/, and the times of its listings in the view
 * (redundant.h). A directory without a record has neither. */
struct redundant_record {
	/* number of its names that are redundant copies, and of its subdirectories with such a
	 * number; 0 only if there are times */
	uint64_t count;
	/* Times of the last commits that changed its listing in uniques/ or in redundant/, unless
	 * its ctime shows these changes. Its ctime in the tree is at least this time. Zero: none.
	 * The time in redundant/ is not the earlier one. */
	struct timespec in_uniques, in_redundant;
};

/* Returns the bytes of all redundant copies. */
static inline uint64_t group_redundant(const struct group_record *group)
{
	return group->inodes < 2 ? 0 : size_multiply(group->inodes - 1, group->size);
}

/* Returns the bytes that would be freed if only the kept copy remained. */
static inline uint64_t group_reclaimable(const struct group_record *group)
{
	return size_subtract(group_redundant(group), group->retained);
}

static inline bool group_is_visible(const struct group_record *group)
{
	return group->inodes >= 2;
}

/* What is known of the tree of a directory (folders.h). */
struct folder_record {
	/* False: the entry with the cookie witness equals no other entry, and the fields below are
	 * not known. */
	bool counted;
	bool listed; /* the table bytree has the directory */
	uint64_t witness;
	uint64_t unequal; /* number of entries that equal no other entry */
	uint64_t subfolders; /* number of entries that are in a folder group */
	struct hash128 sum; /* of the hashes of the other entries, modulo 2^128 */
	uint64_t files; /* regular files of their trees; each name counts */
	uint64_t bytes; /* sizes of these files; modulo 2^64 */
	uint64_t group; /* folder group; 0: no equal directory is known */
};

/* A class of directories with equal trees. */
struct folder_group {
	uint64_t id; /* never reused */
	uint64_t folders; /* 2 or more after each commit */
	uint64_t files; /* regular files in the tree of one folder; each name counts */
	uint64_t bytes; /* their sizes; 0: folders without content, which are not reported */
	struct hash128 sum; /* of each folder, see struct folder_record */
	/* Bytes by which the group is ranked (folder_group_reclaimable()). 0: it has no rank, as it
	 * has no bytes, or is implied. A group is implied if the parents of all its folders are in
	 * one folder group, or if its folders are one directory that is mounted several times. */
	uint64_t ranked;
};

/* Returns the bytes of all folders but one. Less would be freed if files have names elsewhere. */
static inline uint64_t folder_group_reclaimable(const struct folder_group *group)
{
	return group->folders < 2 ? 0 : size_multiply(group->folders - 1, group->bytes);
}

/* What is known of the extents of a file in a group that maps. A file without a record shares
 * nothing and has no holes. All bytes are bytes of content, which end at the size of the file. */
struct extent_record {
	uint64_t own; /* allocated bytes that no other file holds */
	/* The lowest id of the members of the group with which it shares extents, directly or
	 * through other members, and of itself; 0: it shares none with them. */
	uint64_t sharing;
	uint64_t sharers; /* number of these members */
	uint64_t joint; /* bytes that only these members hold, each range once */
};

/* Hashes of the blocks of a file (hashes.h). */

/* Blocks of a part: as many hashes as a record has room for. */
#define BLOCKS_PART 60U

/* Powers of two that a block size can be, in bytes: 4 KiB to 16 MiB. */
#define BLOCKS_BITS_MIN 12U
#define BLOCKS_BITS_MAX 24U

struct blocks_state {
	uint64_t digest; /* file_digest() when the blocks were read */
	uint32_t block_bits; /* the blocks have 2^block_bits bytes; the last one can be shorter */
};

struct blocks_part {
	uint64_t first; /* number of the first block in the file, a multiple of BLOCKS_PART */
	uint32_t count;
	uint64_t hashes[BLOCKS_PART]; /* 0: a hole, or zeros only */
};

/* SHA-256 of a content (hashes.h). */
struct digest_record {
	uint64_t state; /* file_digest() of the file when it was read; 0: the digest of a group */
	uint8_t bytes[SHA256_BYTES];
};

enum error_kind {
	ERROR_DIR = 1,
	ERROR_FILE = 2
};

/* Sums over the whole index. Every change updates them. */
struct catalog_totals {
	uint64_t generation; /* commits that changed something */
	uint64_t scans; /* the last number that a scan or recheck got */
	uint64_t unended; /* number of the first scan since the last one that ended; 0: it ended */
	uint64_t comparisons; /* how often the content of a file was recorded after reading it */
	uint64_t directories;
	uint64_t files; /* inodes of regular files */
	uint64_t others; /* inodes of symbolic links and special files */
	struct size_sum bytes; /* st_size of regular files, each inode once */
	uint64_t blocks; /* of 512 bytes, of the same files */
	uint64_t names; /* names of files */
	uint64_t groups; /* visible ones */
	uint64_t redundant_files;
	struct size_sum redundant_bytes;
	struct size_sum reclaimable_bytes;
	uint64_t errors;
	/* files with this id or a higher one are not in the table bysize yet; 0: all files are */
	uint64_t unlisted;
	/* catalog_choose_kept() has to check groups with this id or a higher one; 0: none */
	uint64_t choose_from;
	/* The keep rules changed: the kept copies of these groups do not stay kept. */
	bool choose_anew;
	uint64_t order; /* how often the order of groups (table rank) changed */
	uint64_t folder_groups; /* those with a rank */
	uint64_t folder_order; /* how often the order of folder groups (table folderrank) changed */
	struct timespec changed; /* time of the last commit that changed something */
	/* The last commit that changed something ended a scan that left no file pending. */
	bool none_pending;
	bool folders_known; /* a scan ended, and since then the folder groups are kept current */
	uint64_t folder_changes; /* how often a folder group got or lost a directory */
	/* A view has shown files and directories with lower ids, or can have shown them. */
	uint64_t viewed;
};

/* Returns whether a file is deferred: it is not in the list by size and no member of its group yet
 * (catalog_defer_lists()). */
static inline bool catalog_defers(const struct catalog_totals *totals, uint64_t file)
{
	return totals->unlisted && file >= totals->unlisted;
}

/* Each function encodes the fields of a record, without those in its key. */
struct value encode_dir(const struct dir_record *dir);
struct value encode_file(const struct file_record *file);
struct value encode_inodes(const struct inode_block *inodes);
struct value encode_entry(const struct entry_record *entry);
struct value encode_place(const struct file_name *place);
struct value encode_content(const struct content_record *content);
struct value encode_group(const struct group_record *group);
struct value encode_folder(const struct folder_record *folder);
struct value encode_folder_group(const struct folder_group *group);
struct value encode_redundant(const struct redundant_record *redundant);
struct value encode_extents(const struct extent_record *extents);
struct value encode_totals(const struct catalog_totals *totals);
struct value encode_blocks_state(const struct blocks_state *state);
struct value encode_blocks_part(const struct blocks_part *part);
struct value encode_digest(const struct digest_record *digest);

/* Each function decodes the fields of a record, without those in its key. Returns false if the
 * fields are damaged. Names are borrowed from fields. */
MUST_CHECK bool decode_dir(struct span fields, struct dir_record *dir);
MUST_CHECK bool decode_file(struct span fields, struct file_record *file);
/* As decode_file(), but leaves the attributes as they are. Takes a third of the time. */
MUST_CHECK bool decode_file_name(struct span fields, struct file_record *file);
MUST_CHECK bool decode_inodes(struct span fields, struct inode_block *inodes);
MUST_CHECK bool decode_entry(struct span fields, struct entry_record *entry);
MUST_CHECK bool decode_place(struct span fields, struct file_name *place);
MUST_CHECK bool decode_content(struct span fields, struct content_record *content);
MUST_CHECK bool decode_group(struct span fields, struct group_record *group);
MUST_CHECK bool decode_folder(struct span fields, struct folder_record *folder);
MUST_CHECK bool decode_folder_group(struct span fields, struct folder_group *group);
MUST_CHECK bool decode_redundant(struct span fields, struct redundant_record *redundant);
MUST_CHECK bool decode_extents(struct span fields, struct extent_record *extents);
MUST_CHECK bool decode_totals(struct span fields, struct catalog_totals *totals);
MUST_CHECK bool decode_blocks_state(struct span fields, struct blocks_state *state);
MUST_CHECK bool decode_blocks_part(struct span fields, struct blocks_part *part);
MUST_CHECK bool decode_digest(struct span fields, struct digest_record *digest);

/* Returns the first cookie that a name can have. Names with equal hashes get the next cookies, at
 * most ENTRY_COOKIE_SLOTS in all. The seed is secret, so no user can choose names that collide. */
uint64_t name_cookie(uint64_t seed, struct name name);

bool names_equal(struct name a, struct name b);

#endif
