/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_MANIFEST_H
#define BACKUP_MANIFEST_H

/* The lines of a manifest, and their reader. Each line is a JSON object.
 *
 *	{"twinfs_manifest":1,"version":...,"generation":...,"sources":[{"path":...,"tree":...}]}
 *	{"path":...,"content":...,"hash":...,"size":...,"mode":"0644","uid":...,"gid":...,
 *	 "mtime":...,"mtime_ns":...,"inode":...,"links":...,
 *	 "xattrs":[{"name":...,"value_base64":...}]}
 *	...
 *	{"lines":...,"hash":...}
 *
 * The first line describes the index. The last line has the number of names, and the hash of all
 * bytes before it, by which a reader detects truncation and changes. The lines between are names in
 * the order of path_order(): in MANIFEST_REDUNDANT the names that uniques/ leaves out, in
 * MANIFEST_ALL every name of the sources. Older programs refuse MANIFEST_ALL by its number.
 *
 * "content" is the path in uniques/ of a file with the same bytes. "inode" is a number that all
 * names of one inode share, and "links" is the number of its names in the sources. If an inode has
 * one name, both members are missing. If a name has no extended attributes, "xattrs" is missing.
 * Paths and names of attributes follow row/json_path.h.
 *
 * In MANIFEST_ALL, a name that uniques/ has is without "content". If its bytes could not be proved,
 * it is without "hash". "read" identifies the state of the file of which the hash is
 * (content_hash.h). Names other than regular files have "type", and no "hash" and "size"; a symlink
 * has "target", a device "device":"MAJOR:MINOR". A directory that could not be listed has
 * "unread":true.
 *
 * A manifest is untrusted input, which the decoders check. Any thread, but one thread at a time for
 * a struct.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/metadata.h"
#include "row/line_reader.h"

struct catalog_reader;
struct sources;

/* What a manifest lists: the value of "twinfs_manifest". */
enum manifest_format {
	MANIFEST_REDUNDANT = 1, /* the names that uniques/ leaves out */
	MANIFEST_ALL = 2, /* every name of the sources */
};

/* Highest number of bytes of a line, with its newline. It bounds the memory of a reader. The
 * attributes of a file on any current file system fit. */
#define MANIFEST_LINE_MAX ((size_t)8 << 20)

/* The state of a file that was read, in the index. */
struct manifest_read {
	uint64_t file; /* id; 0: it is not known */
	uint64_t digest; /* file_digest() */
};

/* A name of the sources. All zero is empty and valid. */
struct manifest_name {
	struct bytes path; /* relative, in the layout of uniques/ */
	/* path in uniques/ of a file with the same bytes; empty: uniques/ has the name itself */
	struct bytes content;
	struct bytes target; /* of a symlink */
	uint32_t type; /* S_IFREG and so on, as in st_mode */
	bool hashed; /* hash is known */
	bool unread; /* a directory that could not be listed, so names in it are missing */
	struct hash128 hash;
	uint64_t size; /* bytes */
	uint64_t device; /* number of a device, as in st_rdev */
	uint32_t mode; /* permission bits only, up to 07777 */
	uint32_t uid;
	uint32_t gid;
	struct timespec mtime;
	uint64_t inode; /* equal for all names of an inode; 0 if links is 1 */
	uint64_t links; /* number of names that the inode has in the sources */
	struct manifest_read read;
	uint32_t flags; /* enum inode_flag (base/metadata.h) */
	struct xattrs xattrs;
};

void manifest_name_free(struct manifest_name *name);
#define CLEANUP_MANIFEST_NAME CLEANUP(manifest_name_free)

/* Empties path, content, target and xattrs and keeps their memory. Sets links to 1, the type to
 * S_IFREG, and all other numbers to 0. */
void manifest_name_clear(struct manifest_name *name);

struct manifest_end {
	uint64_t lines; /* names */
	struct hash128 hash; /* hash of all bytes before the last line */
};

/* Each function appends a line with its newline. root: of uniques/; its path is empty if it is not
 * that of a source. Returns 0, -EOVERFLOW if the line of a name would
 * be longer than MANIFEST_LINE_MAX, or another -errno. */
MUST_CHECK int manifest_header_encode(struct bytes *line, enum manifest_format format,
				      struct catalog_reader *reader, const struct sources *sources,
				      const struct manifest_name *root);
MUST_CHECK int manifest_name_encode(struct bytes *line, const struct manifest_name *name);
MUST_CHECK int manifest_end_encode(struct bytes *line, const struct manifest_end *end);

/* Each function decodes a line, given without its newline. manifest_header_decode() sets *format,
 * and *root with the path ".", or with an empty path if the manifest lacks it.
 * manifest_line_decode() sets *name; for a last line it sets *end and returns MANIFEST_END.
 *
 * format	of the manifest: which members a line must have
 * why		if the result is -EPROTO, set to a static message about the fault
 *
 * Returns 0, MANIFEST_END, -EPROTO or -ENOMEM. */
enum {
	MANIFEST_END = 1
};
MUST_CHECK int manifest_header_decode(const char *line, size_t length, enum manifest_format *format,
				      struct manifest_name *root, const char **why);

/* The result of manifest_line_decode(). */
struct manifest_line {
	struct manifest_name *name;
	struct manifest_end *end;
};
MUST_CHECK int manifest_line_decode(const char *line, size_t length, enum manifest_format format,
				    struct manifest_line result, const char **why);

/* Compares paths. Returns a number below 0, 0, or above 0. A directory is before its descendants,
 * and no other path is between these. */
int path_order(const struct bytes *a, const struct bytes *b);

/* Returns whether a path is below a directory. "" is the root, and below itself. */
bool path_is_below(const struct bytes *path, const struct bytes *directory);

/* ---- manifest reader ------------------------------------------------------------------------ */

/* Reads a manifest line by line. Checks the order of the names, so that no name is repeated. Checks
 * that the last line exists and has the number of names and the hash. Takes memory for one line.
 * One thread at a time; blocks on the disk.
 */

struct manifest_reader {
	const char *path; /* for messages, borrowed */
	enum manifest_format format;
	struct manifest_name root; /* its path is empty if the manifest lacks it */
	struct line_reader lines; /* read from offset 0 on */
	uint64_t names; /* read so far */
	uint64_t flagged; /* of them, those with flags */
	uint64_t bytes; /* sum of the sizes of those that uniques/ leaves out */
	struct hash_state *hash; /* of all lines so far */
	struct bytes before; /* path of the previous name */
	struct manifest_name name; /* the last name read */
	bool at_end; /* manifest_reader_advance() found no further name */
	struct manifest_end end; /* set by the last line */
};

/* Opens a manifest, which must be a regular file, because it is read more than once. Returns a
 * descriptor that the caller closes, or -errno (logged). */
MUST_CHECK int manifest_open(const char *path);

/* Begins a manifest and reads its header. Returns 0, -ENOMEM, or another -errno (logged). The
 * caller must call manifest_reader_deinit() in all cases. */
MUST_CHECK int manifest_reader_init(struct manifest_reader *reader, int fd, const char *path);
void manifest_reader_deinit(struct manifest_reader *reader);
#define CLEANUP_MANIFEST_READER CLEANUP(manifest_reader_deinit)

/* Checks that an open file begins as a manifest does. Returns 0, -EPROTO (logged), or another
 * -errno (logged unless -ENOMEM). */
MUST_CHECK int manifest_check_header(int fd, const char *path);

/* Reads the next name into reader->name, valid until the next call. Returns 0, MANIFEST_END after
 * the last name of a valid manifest, -EPROTO if the manifest is not valid (logged with the number
 * of the line), -ENOMEM, or another -errno (logged). */
MUST_CHECK int manifest_reader_next(struct manifest_reader *reader);

/* As manifest_reader_next(), but sets reader->at_end after the last name. Returns 0 or -errno. */
MUST_CHECK int manifest_reader_advance(struct manifest_reader *reader);

/* Passes over the names before a path, for a caller with paths in the order of path_order(). Begins
 * with the last name read.
 *
 * path		NULL: passes over all names
 * passed	called for each name that is passed over; NULL: nothing is called
 * found	set to whether the name is the path
 *
 * Returns 0, the failure of passed(), or -errno of manifest_reader_next(). */
MUST_CHECK int manifest_reader_seek(struct manifest_reader *reader, const struct bytes *path,
				    int (*passed)(void *context), void *context, bool *found);

#endif
