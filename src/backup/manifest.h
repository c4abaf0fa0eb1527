/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_MANIFEST_H
#define BACKUP_MANIFEST_H

/* The lines of a manifest, which tells what uniques/ leaves out: an object in JSON each.
 *
 *	{"twinfs_manifest":1,"version":...,"generation":...,"sources":[{"path":...,"tree":...}]}
 *	{"path":...,"content":...,"hash":...,"size":...,"mode":"0644","uid":...,"gid":...,
 *	 "mtime":...,"mtime_ns":...,"inode":...,"links":...,"xattrs":[{"name":...,"value_base64":...}]}
 *	...
 *	{"lines":...,"hash":...}
 *
 * The first says of what it is, the last how many stand between and which bytes came before it, so
 * that one that was cut off or changed is found. Each of the others is a name that uniques/ leaves
 * out, in the order of path_order(); "content" is the name in uniques/ that has its bytes. Names of
 * one inode have the same "inode" and each says how many there are; a name whose inode has one name
 * has neither member. Paths and names of attributes follow base/json_path.h.
 *
 * A manifest comes from outside: what is read is checked as the functions say. Pure code, any
 * thread, one at a time for a struct.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/xattrs.h"

#define MANIFEST_FORMAT 1

/* The longest line, with its newline. What the attributes of a file may take on any file system of
 * today fits, and a reader needs a limit. */
#define MANIFEST_LINE_MAX ((size_t)8 << 20)

struct catalog_reader;
struct sources;

/* A name that uniques/ leaves out. All zero is empty and valid. */
struct manifest_name {
	struct bytes path; /* relative, as uniques/ is laid out */
	struct bytes content; /* where its bytes are in uniques/ */
	struct hash128 hash;
	uint64_t size; /* bytes */
	uint32_t mode; /* permissions alone, up to 07777 */
	uint32_t uid;
	uint32_t gid;
	struct timespec mtime;
	uint64_t inode; /* equal for hard links; 0 where links is 1 */
	uint64_t links; /* how many names of the inode the manifest has */
	struct xattrs xattrs;
};

void manifest_name_free(struct manifest_name *name);
#define CLEANUP_MANIFEST_NAME CLEANUP(manifest_name_free)

/* Forgets what it has, not the memory. */
void manifest_name_clear(struct manifest_name *name);

struct manifest_end {
	uint64_t lines; /* names */
	struct hash128 hash; /* of all bytes before the last line */
};

/* Each appends a line with its newline. 0 or -ENOMEM; a name that would be longer than
 * MANIFEST_LINE_MAX is -EOVERFLOW. */
MUST_CHECK int manifest_header_encode(struct bytes *line, struct catalog_reader *reader,
				      const struct sources *sources);
MUST_CHECK int manifest_name_encode(struct bytes *line, const struct manifest_name *name);
MUST_CHECK int manifest_end_encode(struct bytes *line, const struct manifest_end *end);

/* Each reads a line, without its newline.
 *
 * why	what is wrong with it, in words, where the result is -EPROTO; lives for ever
 *
 * 0, -EPROTO or -ENOMEM. The line of a name may be the last one: MANIFEST_END, and end is set. */
enum {
	MANIFEST_END = 1
};
MUST_CHECK int manifest_header_decode(const char *line, size_t length, const char **why);
MUST_CHECK int manifest_line_decode(const char *line, size_t length, struct manifest_name *name,
				    struct manifest_end *end, const char **why);

/* Below, at or above 0. Directories stand before what is below them, and that before other
 * names. */
int path_order(const struct bytes *a, const struct bytes *b);

/* Why these bytes are no path below a directory: "", absolute, with a NUL, with a component that is
 * empty, "." or ".." or too long. NULL: they are one. */
const char *path_fault(const struct bytes *path);

#endif
