/* SPDX-License-Identifier: MIT */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

/* The virtual tree that a mount shows, computed from the catalog; knows nothing of FUSE.
 *
 *	dups/<hash>/<copy>	verified groups
 *	uniques/<tree>		the source trees without redundant copies
 *	redundant/<tree>	those copies alone, at their paths
 *	by-size/<rank> ...	links to the groups, what would give back most first
 *	.twinfs/		status.json, errors, pending, metrics, sync, events, report.html
 *
 * A node is named by a number that says what it is and under which id the catalog knows it
 * (view/node.h). So nothing is held per node: a number stays right for as long as the thing is in
 * the index, of a file with the same content, and names the same file in dups/, in uniques/ and in
 * redundant/. st_ino, as it is given here, is that number; programs are to be shown view_inode() of
 * it. st_dev of a file of a source is the version of its content, of which the node has the lower bits.
 *
 * Any thread may call anything at any time; each call reads one snapshot of the catalog. Only
 * opening, reading a symlink and asking for attributes that the index does not keep (xattrs) touch
 * the source. Failures are -errno, fit for a system call's caller: -ESTALE for a node that is gone
 * or whose file is no longer what the index says, -EIO for a damaged record.
 *
 * Where a view is shared, who looks at it is given with each call (struct view_call), and is shown
 * what he would find at the source himself: see view/access.h and view/visible_copies.h. That touches the
 * source, too.
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
#include "source/source.h"
#include "view/event_log.h"
#include "view/known_numbers.h"
#include "view/listing_times.h"
#include "view/ranking.h"
#include "view/visible_cache.h"

struct caller;
struct interruption;

#define VIEW_ROOT UINT64_C(1)

/* Listing cookies of "." and "..", and the smallest of others. */
#define VIEW_COOKIE_SELF 1
#define VIEW_COOKIE_PARENT 2
#define VIEW_COOKIE_MIN 16

/* Reports that are made at a time; who wants one more is told -EBUSY, so that threads are left for
 * everything else. */
#define VIEW_REPORTS_MAX 4

/* Files that are rechecked at a time: the other threads answer other requests. */
#define VIEW_RECHECKS_MAX 4

/* A larger file is not read when it is opened, see view/silent.h: a gibibyte takes some tenths of a second. */
#define VIEW_VERIFIED_MAX (UINT64_C(1) << 30)

/* Browsers read no more of a file than it says to have before it is opened: so report.html has always
 * as many bytes, with blanks at its end. */
#define VIEW_REPORT_BYTES (1UL << 20)

/* How far the daemon is. */
enum view_state {
	VIEW_WALKING, /* names are read */
	VIEW_COMPARING, /* names are complete, groups are still found */
	VIEW_CURRENT, /* nothing waits to be compared but what changed lately */
};

/* All strings borrowed. What is not atomic or locked is constant once threads run. */
struct view {
	struct catalog *catalog;
	const struct sources *sources;
	const char *mount_point; /* absolute */
	struct timespec since; /* wall clock time of view_init */
	_Atomic(enum view_state) state;
	_Atomic int problem; /* positive errno that keeps the daemon from going on, 0 */
	atomic_bool stale; /* see view_set_stale() */
	/* For status.json, all static: how the mount reads, by which way requests come, and what to
	 * do for more speed, ended with NULL */
	_Atomic(const char *) read_mode;
	_Atomic(const char *) transport;
	_Atomic(const char *const *) advice;
	_Atomic(const char *) watch; /* for status.json: what watches the sources */
	_Atomic(const char *) confined; /* for status.json: what the daemon gave up; NULL */
	_Atomic uint64_t refreshed; /* for status.json: folders whose watchers hear of changes */
	_Atomic uint64_t unwatched; /* directories that are polled, as there are no more watches */

	/* Called, when it is not NULL, where the source of a file was found to be not as the index
	 * says, so that somebody looks at it. Any thread, more than once for a file; it must not
	 * block. */
	void (*suspect)(void *context, uint64_t file);
	/* Called, when it is not NULL, where the source of a file has another signature than the
	 * index. If only its ctime moved, brings the index up to date: 0, -EINTR when the program was
	 * interrupted (base/interruption.h), or -errno. Called without a snapshot, by
	 * VIEW_RECHECKS_MAX threads at most. Blocks on the source. */
	int (*recheck)(void *context, uint64_t file, const struct interruption *interruption);
	_Atomic unsigned int rechecks; /* that are being made */
	/* The same where a program has the file open for writing, and may have changed it while its
	 * times stayed: its content must be compared again. */
	void (*written)(void *context, uint64_t file);
	void *suspect_context; /* of these */

	/* Appends what report.html says, at most VIEW_REPORT_BYTES: 0, -EINTR, or -errno. Called without a snapshot, as it takes some of
	 * its own, and by VIEW_REPORTS_MAX threads at most. */
	int (*report)(void *context, struct bytes *page, const struct interruption *interruption);
	void *report_context;
	_Atomic unsigned int reports; /* that are being made */

	struct event_log events;
	uint64_t cookie_secret; /* random, see listing_cookie.h */
	uint64_t inode_secret; /* of view_inode() */
	struct listing_times times;
	struct ranking ranking;
	struct visible_cache visible_cache;
	struct known_numbers numbers;
	bool shared; /* others than who mounted it may come */
};

/* Who looks at which view, all borrowed. A call whose caller is interrupted returns -EINTR before its
 * next access to the source. */
struct view_call {
	struct view *view;
	const struct caller *caller; /* whose rights at the source count; NULL: all may be seen */
	const struct interruption *interruption; /* NULL: none */
};

/* Fills the view in, state VIEW_WALKING, read_mode "copy", transport "device", no advice, watch
 * "none", nobody who looks at suspects. Then view_deinit frees what it holds, when nobody uses it
 * any more. */
void view_init(struct view *view, struct catalog *catalog, const struct sources *sources,
	       const char *mount_point);
void view_deinit(struct view *view);

/* What programs are shown as the inode number of a node (node.h). In a shared view it tells nothing of how
 * many others there are: it is permuted (permutation.h) by a secret of the index, so that it is the same
 * when the view is mounted again. */
uint64_t view_inode(const struct view *view, uint64_t node);

/* Says how far the daemon is. Call it after the commit that completes the state. */
void view_set_state(struct view *view, enum view_state state);
enum view_state view_get_state(const struct view *view);

/* Says what keeps the daemon from going on: a positive errno; 0: nothing any more. */
void view_set_problem(struct view *view, int problem);

/* Says whether there are changes in the sources that cannot be written to the index. Meanwhile the state is
 * VIEW_WALKING, and listing a folder in uniques/ or redundant/ fails with -EIO, so that nobody takes the
 * names that are known for all that there are. What is known is served all the same. */
void view_set_stale(struct view *view, bool stale);
bool view_is_stale(const struct view *view);

/* Says what watches the sources (static: "inotify", "poll", "none"), and how many directories are
 * polled because there are no more watches. */
void view_set_watch(struct view *view, const char *name);
void view_set_unwatched(struct view *view, uint64_t directories);

/* Says how many folders of the view programs watch, and hear of their changes. */
void view_set_refreshed(struct view *view, uint64_t folders);

/* Says how the daemon is confined (borrowed for as long as the view). */
void view_set_confined(struct view *view, const char *how);

/* Says how the mount reads (static: "copy" ...), by which way requests come ("device", "io_uring"),
 * and what to do for more speed (borrowed for as long as the view; ended with NULL). */
void view_set_reading(struct view *view, const char *mode, const char *const *advice);
void view_set_transport(struct view *view, const char *name);

/* A name in a directory: its node (st_ino) with its attributes. -ENOENT, -ENOTDIR. */
MUST_CHECK int view_lookup(const struct view_call *call, uint64_t parent, const char *name,
			   struct stat *attributes);

MUST_CHECK int view_getattr(const struct view_call *call, uint64_t node, struct stat *attributes);

/* May who looks do this with a node: R_OK, X_OK? (W_OK: nobody may.) Of a view that is not shared,
 * where nobody says who looks: may who this process is? 0, -EACCES, or -errno. */
MUST_CHECK int view_access(const struct view_call *call, uint64_t node, int access);

/* Appends where a folder is in the view: "" of the root, else without a slash before it. -ESTALE
 * where it is gone, or is no folder. */
MUST_CHECK int view_path(struct view *view, uint64_t node, struct bytes *path);

/* ---- listings ------------------------------------------------------------------------ */

/* One name of a directory; valid during emit. Of "." and ".." only the node and that they are
 * directories are given. */
struct view_entry {
	const char *name;
	uint64_t cookie; /* below 2^63 */
	bool known; /* else only the name is known: st_ino and st_mode are 0 */
	struct stat attributes;
};

/* Takes an entry; false: it does not fit, and the listing ends before it. */
typedef bool view_emit_fn(const struct view_entry *entry, void *context);

/* Emits the names that follow the one with this cookie (0: all), until emit has enough. Nothing has
 * to be opened before.
 *
 * A cookie may come from any earlier call on the same directory, for any caller. A name that stays
 * is neither lost nor given twice while others come and go: the cookie says where to continue, and
 * nothing is held for a listing. (In by-size/ a name stays while its group has the same rank.)
 *
 * A source directory that could not be read gives the errno that it gave then; -ENOENT for a
 * directory that is gone, -ENOTDIR. */
MUST_CHECK int view_list(const struct view_call *call, uint64_t node, uint64_t after,
			 view_emit_fn *emit, void *context);

/* ---- content ------------------------------------------------------------------------- */

/* An open file. */
struct view_file {
	uint64_t node;
	int fd; /* of the source file, read only; -1: twinfs itself writes it */
	/* Of a source file. */
	uint32_t version; /* of its content */
	uint64_t content_digest; /* another one where another file or version is opened */
	/* Its bytes may change while its times stay (filesystem_times_are_reliable): neither may the kernel
	 * keep its pages beyond this open, nor read the source by itself. */
	bool silent;
	bool probed; /* silent, and a lease tells of writers: each read asks for one */
	/* attributes_digest() that the source had when it last was what the index says; 0: its
	 * content is another one now, for ever */
	_Atomic uint64_t signature;
	/* Of a file that twinfs writes: as it was at opening, or how far its events were read. */
	struct bytes content;
	struct event_reader events;
};

/* Outcomes of view_open: the file was not opened, as its ctime is not the one that the index has,
 * and nothing else of its signature differs; or as its bytes are not those of its group, though its times
 * are the same. view->suspect, or view->written, was called, so it will be a node with another number. */
enum {
	VIEW_RECHECK = 1, /* it can be opened as soon as it was rechecked */
	VIEW_RECOMPARE = 2, /* it is in a group: its names there are back when it was compared */
};

/* Opens a regular file for reading. The caller closes it with view_close.
 *
 * Blocks on the source. 0, VIEW_RECHECK, VIEW_RECOMPARE, or -ESTALE when the file is not the one,
 * or not with the signature, that the index has; else -errno of the source's open: -EACCES,
 * -EMFILE ... */
MUST_CHECK int view_open(const struct view_call *call, uint64_t node, struct view_file *file);
void view_close(struct view_file *file);

/* Reads up to size bytes at offset: how many, 0 at the end, or -errno. Any thread, several at a
 * time for one file.
 *
 * Blocks on the source, never on a scan. What it gives is the content that the index knew when the
 * file was opened: -ESTALE where the source has, or may have, another one by now. */
MUST_CHECK long view_read(const struct view_call *call, struct view_file *file, void *buffer,
			  size_t size, off_t offset);

/* Appends what .twinfs/sync says now. It is empty to view_read: whoever knows when to answer does
 * so himself. */
MUST_CHECK int view_sync_text(struct view *view, struct bytes *text);

/* Is there something to read for who has read up to here? Only events ever have nothing. */
bool view_has_more(struct view *view, const struct view_file *file);

/* Appends the target of a symlink, of one in a source as that has it now. */
MUST_CHECK int view_readlink(const struct view_call *call, uint64_t node, struct bytes *target);

/* Extended attributes: twinfs's own (user.twinfs.path, .hash, .copies, .size, .reclaimable), which
 * are not listed, and those of the source. As getxattr(2) and listxattr(2): the length, or with
 * size 0 the length that it would take; -ERANGE, -ENODATA. */
MUST_CHECK long view_getxattr(const struct view_call *call, uint64_t node, const char *name,
			      void *value, size_t size);
MUST_CHECK long view_listxattr(const struct view_call *call, uint64_t node, char *list,
			       size_t size);

/* How much the view holds: each inode of the sources counted once. Never waits for a scan. */
MUST_CHECK int view_statfs(const struct view_call *call, struct statvfs *statfs);

#endif
