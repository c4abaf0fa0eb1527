/* SPDX-License-Identifier: MIT */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

/* The virtual tree that a mount shows, computed from the catalog; knows nothing of FUSE.
 *
 *	dups/<hash>/<copy>	verified groups
 *	uniques/<tree>		the source trees without redundant copies
 *	.twinfs/		status.json, errors
 *
 * A node is named by a number that says what it is and under which id the catalog knows it
 * (view/node.h). So nothing is held per node: a number stays right for as long as the thing is in
 * the index, and names the same file in dups/ and in uniques/. st_ino is that number.
 *
 * Any thread may call anything at any time; each call reads one snapshot of the catalog. Only
 * opening, reading a symlink and asking for attributes that the index does not keep (xattrs) touch
 * the source. Failures are -errno, fit for a system call's caller: -ESTALE for a node that is
 * gone or whose file is no longer what the index says, -EIO for a damaged record.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "catalog/catalog.h"
#include "catalog/source.h"

#define VIEW_ROOT UINT64_C(1)

/* Listing cookies below this are not used here: a frontend may give them to "." and "..". */
#define VIEW_COOKIE_MIN 16

/* How far the daemon is. In VIEW_CURRENT nothing in the view changes any more. */
enum view_state {
	VIEW_WALKING, /* names are read */
	VIEW_COMPARING, /* names are complete, groups are still found */
	VIEW_CURRENT,
};

/* All strings borrowed. Everything but state and problem is constant once threads run. */
struct view {
	struct catalog *catalog;
	const struct sources *sources;
	const char *mount_point; /* absolute */
	const char *read_mode; /* for status.json: how the mount reads */
	const char *watch; /* for status.json: what watches the sources */
	struct timespec since; /* wall clock time of view_init */
	_Atomic(enum view_state) state;
	_Atomic int problem; /* positive errno that keeps the daemon from going on, 0 */
};

/* Fills the view in, state VIEW_WALKING, read_mode "copy", watch "none". */
void view_init(struct view *view, struct catalog *catalog, const struct sources *sources,
	       const char *mount_point);

/* Says how far the daemon is. Call it after the commit that completes the state. */
void view_set_state(struct view *view, enum view_state state);
enum view_state view_get_state(const struct view *view);

/* Says what keeps the daemon from going on: a positive errno; 0: nothing any more. */
void view_set_problem(struct view *view, int problem);

/* A name in a directory: its node (st_ino) with its attributes. -ENOENT, -ENOTDIR. */
MUST_CHECK int view_lookup(struct view *view, uint64_t parent, const char *name,
			   struct stat *attributes);

MUST_CHECK int view_getattr(struct view *view, uint64_t node, struct stat *attributes);

/* ---- listings ------------------------------------------------------------------------ */

/* An open directory. One thread at a time. */
struct view_listing;

/* One name of it, without "." and ".."; valid during emit. */
struct view_entry {
	const char *name;
	uint64_t cookie; /* at least VIEW_COOKIE_MIN, below 2^63 */
	bool known; /* else only the name is known: st_ino and st_mode are 0 */
	struct stat attributes;
};

/* Takes an entry; false: it does not fit, and the listing ends before it. */
typedef bool view_emit_fn(const struct view_entry *entry, void *context);

/* Begins to list a directory; a source directory that could not be read gives the errno that it
 * gave then. *listing is the caller's, for view_list_end. */
MUST_CHECK int view_list_begin(struct view *view, uint64_t node, struct view_listing **listing);

/* Emits the names that follow the one with this cookie (0: all), until emit has enough.
 *
 * A cookie may come from an earlier call on this listing or on another of the same directory. A
 * name that stays is neither lost nor given twice while others come and go. */
MUST_CHECK int view_list(struct view_listing *listing, uint64_t after, view_emit_fn *emit,
			 void *context);

uint64_t view_list_parent(const struct view_listing *listing); /* node of ".." */
void view_list_end(struct view_listing *listing); /* accepts NULL */

/* ---- content ------------------------------------------------------------------------- */

/* An open file. */
struct view_file {
	int fd; /* of the source file, read only; -1: content holds it all */
	uint64_t signature; /* attributes_digest() of the file that the index knows */
	struct bytes content; /* of a file that twinfs itself writes: as it was at opening */
};

/* Opens a regular file for reading. The caller closes it with view_close.
 *
 * Blocks on the source. -ESTALE when the file is not the one, or not with the signature, that
 * the index has; else -errno of the source's open: -EACCES, -EMFILE ... */
MUST_CHECK int view_open(struct view *view, uint64_t node, struct view_file *file);
void view_close(struct view_file *file);

/* Appends the target of a symlink, as the source has it now. */
MUST_CHECK int view_readlink(struct view *view, uint64_t node, struct bytes *target);

/* Extended attributes: twinfs's own (user.twinfs.path, .hash, .copies, .size, .reclaimable), which
 * are not listed, and those of the source. As getxattr(2) and listxattr(2): the length, or with
 * size 0 the length that it would take; -ERANGE, -ENODATA. */
MUST_CHECK long view_getxattr(struct view *view, uint64_t node, const char *name, void *value,
			      size_t size);
MUST_CHECK long view_listxattr(struct view *view, uint64_t node, char *list, size_t size);

/* How much the view holds: each inode of the sources counted once. Never waits for a scan. */
MUST_CHECK int view_statfs(struct view *view, struct statvfs *statfs);

#endif
