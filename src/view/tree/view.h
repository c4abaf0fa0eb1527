/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_VIEW_H
#define VIEW_TREE_VIEW_H

/* The virtual tree that a mount shows, computed from the catalog. Independent of FUSE.
 *
 *	dups/<hash>/<copy>	verified groups
 *	uniques/<tree>		the source trees without redundant copies
 *	redundant/<tree>	the redundant copies only, at their paths
 *	by-size/<rank> ...	links to the groups, most reclaimable bytes first
 *	folders/<rank> .../<copy>/	equal folders, with all names
 *	.twinfs/		status.json, errors, pending, metrics, sync, events, report.html
 *	README.txt, report.html
 *
 * A node number encodes the kind of a node and its id in the catalog (view/tree/node.h), so the
 * view needs no memory per node. The number of a file stays valid while its content stays the same.
 * Other numbers stay valid while the object is in the index. The same file has one number in dups/,
 * uniques/ and redundant/. In this interface, st_ino is the node number; programs must be shown the
 * result of view_inode(). For a file of a source, st_dev is the version of its content; the node
 * number holds the lower bits of the version.
 *
 * Any thread may call any function at any time. Each call reads one snapshot of the catalog.
 * Without a caller, only view_open, view_read, view_readlink, view_access and the extended
 * attributes access the source. Failures are -errno values for a system call. The failures include
 * -ESTALE if the node no longer exists or its file differs from the index, and -EIO for a damaged
 * record.
 *
 * In a shared view each call names its caller (struct view_call). The caller sees only what it
 * could find in the source itself (view/tree/access.h, view/tree/visible_copies.h). These checks
 * access the source.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "index/keep_rules.h"
#include "index/source.h"
#include "view/tree/caches.h"
#include "view/tree/event_log.h"

struct caller;
struct cancellation;
struct hash128;
struct progress_counts;

#define VIEW_ROOT UINT64_C(1)

/* Listing cookies of "." and "..", and the smallest cookie of any other name. */
#define VIEW_COOKIE_SELF 1
#define VIEW_COOKIE_PARENT 2
#define VIEW_COOKIE_MIN 16

/* Maximum number of reports that are generated at the same time. A further request fails with
 * -EBUSY, so that threads remain for other requests. */
#define VIEW_REPORTS_MAX 4

/* Maximum number of files that are rechecked at the same time, so that threads remain for other
 * requests. */
#define VIEW_RECHECKS_MAX 4

/* Larger files are not verified at open (view/tree/content.c): hashing 1 GiB takes some tenths of
 * a second. */
#define VIEW_VERIFIED_MAX (UINT64_C(1) << 30)

/* Fixed size of report.html, which is padded with blanks. Browsers read no more bytes than st_size
 * before the open. */
#define VIEW_REPORT_BYTES (1UL << 20)

/* What the daemon does, and what prevents it from working. */
enum view_state {
	VIEW_WALKING, /* reading names */
	VIEW_COMPARING, /* names are complete, files are being compared */
	VIEW_CURRENT, /* only files that changed recently are not compared yet */
	/* Not set by view_set_state(): */
	VIEW_SOURCE_SILENT, /* the file system of a source does not answer */
	VIEW_SOURCE_MISSING, /* a source is missing (index/source.h) */
	VIEW_STUCK, /* changes cannot be written to the index */
};

/* How current something is that follows events: the age of the oldest event that is not applied
 * yet, and the time of the last complete check. Any thread; no function blocks. */

struct currency {
	/* private, monotonic times: the first event since the last currency_take_events(), and the
	 * first event that was taken and is not applied; 0: none */
	_Atomic uint64_t arrived_ns, taken_ns;
	_Atomic int64_t checked_s; /* wall-clock time of the last complete check; 0: never */
	_Atomic uint64_t overflows; /* how often events of a source were lost */
};

/* Notes that an event arrived. */
void currency_note_event(struct currency *currency);

/* Must be called by the thread that applies events, before it takes them. */
void currency_take_events(struct currency *currency);

/* Notes that all events that were taken are applied. By the thread that applies events. */
void currency_note_applied(struct currency *currency);

/* Returns the age of the oldest event that is not applied, or 0. */
uint64_t currency_lag_ns(const struct currency *currency);

/* Callbacks of the daemon, each of which may be NULL. Any thread can call them. Callbacks that can
 * block are called without a snapshot. */
struct view_hooks {
	/* A source file differs from the index, so the file must be rechecked. Must not block. Can
	 * be called several times for a file. */
	void (*source_changed)(void *context, uint64_t file);
	/* Rechecks a file whose signature differs from the index, and updates the index if only the
	 * ctime changed. Returns 0, -EINTR if the caller was interrupted (base/stop.h), or
	 * -errno. Blocks on the source and on other transactions. Called by at most
	 * VIEW_RECHECKS_MAX threads. */
	int (*recheck)(void *context, uint64_t file, const struct cancellation *cancellation);
	/* A program has the file open for writing, or its bytes changed while its times did not, so
	 * its content must be compared again. Must not block. Can be called several times. */
	void (*writer_found)(void *context, uint64_t file);
	/* Appends the content of report.html, at most VIEW_REPORT_BYTES. view_root is the path of
	 * the root from the folder of the page. Returns 0, -EINTR, or -errno. Begins its own
	 * snapshots. Called by at most VIEW_REPORTS_MAX threads. */
	int (*report)(void *context, const char *view_root, struct bytes *page,
		      const struct cancellation *cancellation);
	/* Computes the tree hash of a directory (twinfs(5)). Returns 0, -ENODATA if the tree has a
	 * file that was never read, or another -errno. Linear in the names. */
	int (*tree_hash)(void *context, struct catalog_reader *reader, uint64_t dir,
			 struct hash128 *hash);
	/* Counts what the first comparison has done and has to do. Must not block. */
	void (*count_compared)(void *context, struct progress_counts *counts);
	void *context;
};

/* Folders that programs watch without getting all events, and why. */
enum unserved_reason {
	UNSERVED_NONE,
	UNSERVED_NAMES, /* too many names to store */
	UNSERVED_CHANGES, /* too many changes before the watch was found */
	UNSERVED_MEMORY, /* no memory */
	UNSERVED_REASONS,
};

/* Maximum number of folders that status.json names. */
#define UNSERVED_PATHS_MAX 16

struct unserved {
	uint64_t folders[UNSERVED_REASONS]; /* numbers of folders */
	struct unserved_path {
		enum unserved_reason reason;
		char *path; /* in the view, owned */
	} paths[UNSERVED_PATHS_MAX];
	size_t count; /* of paths */
	int failure; /* -errno because of which no watcher gets events, or 0 */
};

/* Return the word of a reason in status.json, a cause, and a remedy: static strings. */
const char *unserved_name(enum unserved_reason reason);
const char *unserved_cause(enum unserved_reason reason);
const char *unserved_remedy(enum unserved_reason reason);

/* Frees the paths. */
void unserved_free(struct unserved *unserved);

/* Adds a folder. Without memory for the path, it is only counted. */
void unserved_add(struct unserved *unserved, enum unserved_reason reason, const char *path);

/* Pointers are borrowed for as long as the view. Fields that are neither atomic nor locked are
 * constant after the threads start: view_init() sets them, and its caller sets hooks, currency,
 * keep_rules, shared and shows_trusted. Other layers set the atomic fields that say so. */
struct view {
	struct catalog *catalog;
	const struct sources *sources;
	const char *mount_point; /* absolute */
	struct timespec since; /* wall clock time of view_init */
	struct view_hooks hooks; /* none */
	const struct currency *currency; /* how current the view is; NULL: unknown */
	const struct keep_rules *keep_rules; /* of the index; at first, there are none */
	bool shared; /* users other than the owner of the mount have access */
	bool shows_trusted; /* attributes whose names begin with "trusted." are shown */

	_Atomic(enum view_state) state; /* see view_set_state() */
	/* CLOCK_MONOTONIC of the begin of the first comparison; 0 before it, and when it has
	 * ended */
	_Atomic uint64_t first_comparison_ns;

	/* Set by the daemon: */

	/* positive errno of what stops the daemon from updating the index, or 0 if it can
	 * continue */
	_Atomic int problem;
	/* The sources have changes that cannot be written to the index. The state is VIEW_STUCK.
	 * Listing uniques/, redundant/ or a directory in them fails with -EIO, because the names
	 * can be incomplete. Known names and contents are still served. */
	atomic_bool stale;
	/* what watches the sources, a static string: "inotify", "fanotify", "poll", "none" */
	_Atomic(const char *) watch;
	_Atomic uint64_t unwatched; /* directories that are polled for lack of inotify watches */
	_Atomic(const char *) confined; /* how the daemon is confined; or NULL */

	/* Set by the frontend, for status.json: */

	_Atomic(const char *) read_mode; /* how files are read, a static string: "copy" ... */
	/* how requests arrive, a static string: "device" or "io_uring" */
	_Atomic(const char *) transport;
	_Atomic(const char *const *) advice; /* NULL-terminated list of hints for more speed */
	/* folders of the view that are watched by programs that get synthetic events */
	_Atomic uint64_t watched_folders;
	_Atomic uint64_t watched_files; /* files that are watched themselves */
	pthread_mutex_t unserved_lock;
	struct unserved unserved; /* view_set_unserved() */

	/* Only for src/view: */

	_Atomic unsigned int rechecks; /* running calls of hooks.recheck */
	_Atomic unsigned int reports; /* running calls of hooks.report */
	struct event_log events;
	uint64_t cookie_secret; /* random, see listing_cookie() */
	uint64_t inode_secret; /* secret of view_inode() */
	struct listing_times times;
	struct ranking ranking; /* of by-size/ */
	struct ranking folder_ranking; /* of folders/ */
	/* greatest depth of a directory below an equal folder that was ever looked up (node.h) */
	_Atomic uint64_t folder_depth;
	struct folder_cache folders;
	struct visible_cache visible_cache;
	struct directory_paths directory_paths;
	struct known_numbers numbers;
};

/* Replaces what the view shows of this by *unserved, which it takes. Any thread. */
void view_set_unserved(struct view *view, struct unserved *unserved);

/* The view and the caller of a request, all borrowed. If the caller is interrupted, the call
 * returns -EINTR before its next access to the source. */
struct view_call {
	struct view *view;
	/* whose permissions on the source apply, or NULL if all of the view is visible */
	const struct caller *caller;
	const struct cancellation *cancellation; /* NULL: cannot be interrupted */
};

/* Initialises the view: state VIEW_WALKING, read_mode "copy", transport "device", no advice, watch
 * "none", no hooks. view_deinit frees its resources. No thread may use the view then. */
void view_init(struct view *view, struct catalog *catalog, const struct sources *sources,
	       const char *mount_point);
void view_deinit(struct view *view);

/* Returns the st_ino that programs see for a node (node.h). In a shared view the number is permuted
 * (permute()) by a secret of the index. The differences of plain numbers would reveal how many
 * hidden files exist. A new mount of the same index shows the same numbers. */
uint64_t view_inode(const struct view *view, uint64_t node);

/* Sets the progress of the daemon. The commits that the state promises must have been made. */
void view_set_state(struct view *view, enum view_state state);

/* Returns the progress, or VIEW_STUCK, VIEW_SOURCE_MISSING or VIEW_SOURCE_SILENT, in this order.
 * view_get_progress() returns only the progress. */
enum view_state view_get_state(const struct view *view);
enum view_state view_get_progress(const struct view *view);

/* Returns whether the first comparison since the mount is running, and if so, its progress. */
bool view_first_comparison(const struct view *view, struct progress_counts *counts,
			   uint64_t *elapsed_ns);

/* Looks up a name in a directory; fills in its node number (st_ino) and attributes. Returns 0,
 * -ENOENT, -ENOTDIR, or another -errno. */
MUST_CHECK int view_lookup(const struct view_call *call, uint64_t parent, const char *name,
			   struct stat *attributes);

MUST_CHECK int view_getattr(const struct view_call *call, uint64_t node, struct stat *attributes);

/* Checks whether the caller may access a node: R_OK, X_OK. Ignores W_OK, which the frontend must
 * refuse. If the view is not shared, the permissions of this process apply. Returns 0, -EACCES, or
 * another -errno. */
MUST_CHECK int view_access(const struct view_call *call, uint64_t node, int access);

/* Appends the path of a folder in the view, without a leading slash: "" for the root. Returns 0,
 * -ESTALE if the node does not exist or is not a folder, or -errno. */
MUST_CHECK int view_path(struct view *view, uint64_t node, struct bytes *path);

/* A name of a file of a source in uniques/ or redundant/. */
struct file_place {
	uint64_t folder; /* node */
	struct bytes path; /* of the folder, as of view_path */
	struct bytes name;
};
void file_place_free(struct file_place *place);

/* Finds the first name of a file of a source. The place must be all zero. Returns 0, -ESTALE if the
 * node does not exist or has no name, or another -errno. */
MUST_CHECK int view_find_file(struct view *view, uint64_t node, struct file_place *place);

/* ---- listings ----------------------------------------------------------------------- */

/* One name of a directory, valid during emit. For "." and ".." only the node number and the file
 * type are set. */
struct view_entry {
	const char *name;
	uint64_t cookie; /* below 2^63 */
	bool known; /* false: st_ino and st_mode are 0 */
	struct stat attributes;
};

/* Takes an entry. Returns false if it does not fit; the listing ends before it. */
typedef bool view_emit_fn(const struct view_entry *entry, void *context);

/* Emits the names after the one with this cookie (0: all) until emit returns false. A directory
 * need not be opened before.
 *
 * The cookie may be from any earlier call on the same directory, for any caller. A name that exists
 * throughout is emitted exactly once while other names are added and removed. The cookie itself
 * determines where to continue, and a listing has no other state. In by-size/, a name is emitted
 * exactly once only while its group has the same rank.
 *
 * Returns 0, -ENOENT if the directory does not exist, -ENOTDIR, or another -errno, such as the
 * recorded one of a source directory that could not be read. */
MUST_CHECK int view_list(const struct view_call *call, uint64_t node, uint64_t after,
			 view_emit_fn *emit, void *context);

/* ---- content ------------------------------------------------------------------------ */

/* An open file. */
struct view_file {
	uint64_t node;
	int fd; /* descriptor of the source file, read only, or -1 for a file in .twinfs/ */
	/* Only for source files: */
	uint32_t version; /* version of the content */
	uint64_t size; /* in bytes, at open */
	uint64_t content_digest; /* differs for another file and for another version */
	/* A write can leave the times unchanged (PROMISE_STORES). The kernel must
	 * not cache pages beyond this open, nor read the backing file itself (passthrough). */
	bool times_unreliable;
	/* times_unreliable, and a lease detects writers: each read requests a lease */
	bool lease_checked;
	/* attributes_digest() of the source when it last matched the index; 0 once the content has
	 * changed */
	_Atomic uint64_t signature;
	/* Only for files in .twinfs/: the content at open, and the position of a reader of
	 * events. */
	struct bytes content;
	struct event_reader events;
};

/* Outcomes of view_open if the file was not opened. Either only the ctime differs from the index,
 * and source_changed was called; or a silent write was found (view/tree/content.c), and
 * writer_found was called. After these hooks, the file gets a new node number. */
enum {
	VIEW_RECHECK = 1, /* the file is in no group; it can be opened after a recheck */
	/* the file is in a group; its names there return after the next comparison */
	VIEW_RECOMPARE = 2,
};

/* Opens a regular file for reading. The caller closes it with view_close. Blocks on the source.
 *
 * Returns 0, VIEW_RECHECK, VIEW_RECOMPARE, -ESTALE if the file or its signature differs from the
 * index, or another -errno. */
MUST_CHECK int view_open(const struct view_call *call, uint64_t node, struct view_file *file);
void view_close(struct view_file *file);

/* Reads up to size bytes at offset. Any thread; several may read one file at the same time. Blocks
 * on the source, and on a transaction if the file must be rechecked.
 *
 * Returns the number of bytes, 0 at the end, or -errno. Returns -ESTALE if the content of the
 * source differs, or can differ, from what the index had at open. */
MUST_CHECK long view_read(const struct view_call *call, struct view_file *file, void *buffer,
			  size_t size, off_t offset);

/* Returns whether the index still has the content that the file had at open. */
MUST_CHECK bool view_is_current(struct view *view, struct view_file *file);

/* Appends the content of .twinfs/sync. view_read returns no bytes of it, as the frontend answers
 * after the barrier. */
MUST_CHECK int view_sync_text(struct view *view, struct bytes *text);

/* Returns whether view_read has data at the position of this reader. Only .twinfs/events can have
 * no data there. */
bool view_has_more(struct view *view, const struct view_file *file);

/* Appends the target of a symlink. For a symlink of a source, reads the target from the source. */
MUST_CHECK int view_readlink(const struct view_call *call, uint64_t node, struct bytes *target);

/* Extended attributes: those of twinfs (user.twinfs.path, .hash, .copies, .size, .reclaimable),
 * which are not listed, and those of the source. As getxattr(2) and listxattr(2), they return the
 * length, or with size 0 the length needed. Failures include -ERANGE and -ENODATA. */
MUST_CHECK long view_getxattr(const struct view_call *call, uint64_t node, const char *name,
			      void *value, size_t size);
MUST_CHECK long view_listxattr(const struct view_call *call, uint64_t node, char *list,
			       size_t size);

/* Fills in the sizes and the free space of the file systems of the sources. A caller of a shared
 * view gets zeros. Never waits for a scan; blocks on a source as statfs(2). */
MUST_CHECK int view_statfs(const struct view_call *call, struct statvfs *statfs);

#endif
