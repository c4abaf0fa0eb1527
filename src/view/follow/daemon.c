/* SPDX-License-Identifier: MIT */

/* Threads of a process that serves a view:
 *
 *	main thread	opens the index, walks the names, mounts, waits for the end
 *	follower	keeps names and attributes of the index equal to the sources (follower.h)
 *	2 comparers	read files, commit groups (lanes.h)
 *	mapper		finds what removing the redundant copies would free (lanes.c)
 *	drain thread	moves events from the kernel's queues to memory (view/follow/watch.h)
 *	session		several threads answer requests, each with a snapshot of the index; the
 *			notifier thread invalidates caches of the kernel (view/fuse/notifier.h)
 *	service status	reports progress to the service manager (service.h)
 *	signals		SIGINT, SIGTERM: sets the stop flag and ends the session; SIGHUP: requests a
 *			walk of all sources and a retry of all unreadable files
 *
 * A separate process mounts and unmounts (view/fuse/mounter.h). The daemon drops the rights to
 * mount, and all other rights that it does not need, before it starts threads (confinement, below).
 *
 *	events -> follower -> commit --commit delta--> notifier, lanes, follower's watches
 *	sync   -> follower -> comparers -> mapper -> session -> the program that waits
 *
 * The parts are built in order. A thread is joined before the parts that it uses are freed.
 * Readiness is reported at the first answer of the session and, with --wait, only after the first
 * comparison. A comparison that fails is retried, and the view stays.
 */
#include "view/follow/daemon.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/confine.h"
#include "base/log.h"
#include "base/output.h"
#include "base/stop.h"
#include "choose/folder_tree.h"
#include "choose/rules.h"
#include "index/change.h"
#include "index/commit_delta.h"
#include "index/source.h"
#include "page/page.h"
#include "scan/index_folder.h"
#include "scan/indexing.h"
#include "scan/ingest.h"
#include "view/follow/follower.h"
#include "view/follow/lanes.h"
#include "view/follow/service.h"
#include "view/follow/source_state.h"
#include "view/fuse/features.h"
#include "view/fuse/mount.h"
#include "view/fuse/mounter.h"
#include "view/tree/node.h"
#include "view/tree/view.h"

/* ---- confinement --------------------------------------------------------------------- */

/* Confines the daemon with Landlock, seccomp and a reduced set of capabilities. While the view is
 * mounted, the daemon reads untrusted files, and needs only these rights:
 *
 *	writing		only below its index folder (Landlock), and no attribute of any file
 *			(seccomp), so the daemon cannot write to the sources
 *	system calls	those that reading files needs (seccomp): no new socket, no new process
 *	programs	none (Landlock, seccomp), and no new rights by them (no_new_privs)
 *	capabilities	those that root needs to read all files (see below)
 *
 * If the kernel lacks or refuses Landlock or seccomp, the daemon runs without that part. A separate
 * process, which is started before the confinement, mounts and unmounts (view/fuse/mounter.h). The
 * index is opened before the confinement, as opening can need other folders.
 */

/* Capabilities that root's daemon needs to show all files that root can read:
 *
 *	DAC_READ_SEARCH	reads every folder and file
 *	FOWNER		reads other users' files without changing their atime (O_NOATIME)
 *	LEASE		takes leases on other users' files, to detect writers (scan/reading.h)
 *	SYS_ADMIN	only with -o trusted_xattrs, to read attributes trusted.*, with
 *			-o passthrough, and for passthrough of a source that can never be written.
 *			Without an option it is kept only if the call filter is active.
 *	SETUID, SETGID	only if other users may access the view: permission checks of the kernel
 *			run as the caller (view/tree/access.h)
 *
 * DAC_OVERRIDE, CHOWN, KILL, SYS_PTRACE and all other capabilities are dropped. Without
 * DAC_OVERRIDE root cannot write to files against their mode.
 */
#define KEPT (CAPABILITY(CAP_DAC_READ_SEARCH) | CAPABILITY(CAP_FOWNER) | CAPABILITY(CAP_LEASE))
#define KEPT_SHARED (CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID))

static bool has_sealed_source(const struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		if (sources->list[i].fd >= 0 && backing_is_sealed(sources->list[i].fd))
			return true;
	}
	return false;
}

static uint64_t wanted_capabilities(const struct daemon_settings *settings,
				    const struct sources *sources, bool filtered)
{
	uint64_t wanted = KEPT | (settings->session.shared ? KEPT_SHARED : 0);

	if (settings->session.passthrough || settings->trusted_xattrs ||
	    (filtered && features_may_use_passthrough() && has_sealed_source(sources)))
		wanted |= CAPABILITY(CAP_SYS_ADMIN);
	return wanted;
}

#ifdef TWINFS_INSTRUMENTED
/* A build with sanitizers or coverage writes its reports to other folders. */
static int restrict_writing(const struct daemon_settings *settings, const char *folder,
			    struct bytes *summary, bool *filtered)
{
	(void)settings;
	(void)folder;
	(void)summary;
	*filtered = true; /* tests expect the capabilities of other builds */
	return 0;
}
#else
/* Adds an active part to the summary. If the kernel refuses the part, the daemon runs without
 * it. */
static int add_to_summary(struct bytes *summary, const char *what, int result)
{
	if (result == 0)
		return bytes_format(summary, "%s%s", summary->length > 0 ? ", " : "", what);
	if (result == -ENOSYS || result == -EOPNOTSUPP)
		log_debug("cannot use %s: not supported by the kernel; continuing without", what);
	else
		log_warning("cannot use %s: %s; continuing without", what, error_text(result));
	return 0;
}

static unsigned int needed_calls(const struct daemon_settings *settings)
{
	return (settings->session.io_uring ? CONFINE_WITH_RINGS : 0) |
	       (settings->session.shared ? CONFINE_WITH_CALLERS : 0);
}

/* Sets *filtered to whether the kernel filters system calls. */
static int restrict_writing(const struct daemon_settings *settings, const char *folder,
			    struct bytes *summary, bool *filtered)
{
	int r = add_to_summary(summary, "landlock", confine_writing(folder));
	int result;

	if (r < 0)
		return r;
	result = confine_calls(needed_calls(settings));
	*filtered = result == 0;
	return add_to_summary(summary, "seccomp", result);
}
#endif

static int confine(const struct daemon_settings *settings, const char *folder,
		   const struct sources *sources, struct bytes *summary)
{
	bool filtered = false;
	int r = confine_no_new_privileges();

	if (r == 0)
		r = restrict_writing(settings, folder, summary, &filtered);
	if (r == 0)
		r = confine_capabilities(wanted_capabilities(settings, sources, filtered));
	if (r == 0)
		r = bytes_format(summary,
				 "%sno_new_privs; capabilities: ", summary->length > 0 ? ", " : "");
	return r < 0 ? r : confine_name_capabilities(summary);
}

/* Confines the process, which must not have other threads yet. If it runs in the background, first
 * connects to syslog.
 *
 * folder	of the index, must exist
 * sources	open; whether they can be written to decides on a capability
 * summary	receives the active parts as text, for status.json
 *
 * Returns 0, or -errno (logged) if the process could not drop its privileges. */
static int confinement_begin(const struct daemon_settings *settings, const char *folder,
			     const struct sources *sources, struct bytes *summary)
{
	int r;

	if (!settings->foreground)
		log_connect_to_syslog();
	r = confine(settings, folder, sources, summary);
	if (r < 0)
		log_error("cannot drop privileges: %s", error_text(r));
	return r;
}

/* ---- daemon -------------------------------------------------------------------------- */

/* Maximum number of further rounds for a ticket if comparers found files that differ from their
 * index entries. This limit bounds the wait while a program keeps changing files. */
#define REPEATS_MAX 4

/* Maximum duration of a comparison in a thread that answers a request. */
#define RECHECK_NS (2 * SECOND_NS)

/* Parts that report a problem that blocks their progress. */
enum {
	PROBLEM_FOLLOWING,
	PROBLEM_COMPARING,
	PROBLEMS,
};

struct daemon {
	const struct daemon_settings *settings; /* borrowed, like the next three fields */
	struct indexing *indexing;
	const char *mount_point;
	struct readiness *readiness;
	struct mounter *mounter;
	struct bytes confined; /* text: the active parts of the confinement */
	struct signal_watch *signals;
	struct service_status *service_status; /* NULL: no service manager */
	struct view view;
	struct session *session;
	struct fanotify_groups groups;
	struct follower *follower;
	struct lanes *lanes;
	_Atomic int problems[PROBLEMS]; /* positive errno, or 0 */
	/* Used only by the thread that calls on_contents_reached(): the ticket of the last call,
	 * and the number of its rounds after the first. */
	uint64_t repeated_ticket;
	unsigned int repeats;
};

/* Notes an event that readiness requires: the first answer of the session or, with --wait, the end
 * of the comparison. After the last one, reports readiness and, on a terminal in the foreground,
 * how to unmount. */
static void report(struct daemon *daemon, enum twinfs_exit status)
{
	const struct daemon_settings *settings = daemon->settings;

	if (!readiness_note(daemon->readiness, &status))
		return;
	if (settings->foreground && terminal_width(STDERR_FILENO) > 0)
		log_info("%s is mounted; Ctrl-C unmounts it", quote_path(settings->mount_point));
	readiness_report(daemon->readiness, status);
}

/* Runs when the session answers its first request. */
static void answer_ready(void *context)
{
	report(context, TWINFS_EXIT_COMPLETE);
}

/* ---- connections between the parts --------------------------------------------------- */

static void set_problem(struct daemon *daemon, size_t part, int problem)
{
	atomic_store(&daemon->problems[part], problem);
	for (size_t i = 0; i < PROBLEMS && !problem; i++)
		problem = atomic_load(&daemon->problems[i]);
	daemon->view.problem = problem;
}

static void on_compared(void *context, int result)
{
	struct daemon *daemon = context;
	const struct ingest_result *counts = &daemon->indexing->ingest.result;
	bool whole = result == 0 && counts->errors == 0 && counts->pending == 0;

	if (!daemon->settings->wait)
		return;
	if (result < 0)
		log_warning("%s is mounted, but its files are not all compared; see 'twinfs "
			    "status'",
			    quote_path(daemon->settings->mount_point));
	report(daemon, whole ? TWINFS_EXIT_COMPLETE : TWINFS_EXIT_INCOMPLETE);
}

static void on_busy(void *context, bool busy, int problem)
{
	struct daemon *daemon = context;

	set_problem(daemon, PROBLEM_COMPARING, problem);
	view_set_state(&daemon->view, busy ? VIEW_COMPARING : VIEW_CURRENT);
	service_status_update(daemon->service_status);
}

/* Answers a ticket. If a file differed from its index entry, requests another round instead. */
static void on_contents_reached(void *context, uint64_t ticket, int error, bool moved)
{
	struct daemon *daemon = context;

	daemon->repeats = ticket == daemon->repeated_ticket ? daemon->repeats + 1 : 0;
	daemon->repeated_ticket = ticket;
	if (moved && !error && daemon->repeats < REPEATS_MAX)
		follower_barrier_again(daemon->follower, ticket);
	else
		session_synced(daemon->session, ticket, error);
}

static void on_names_reached(void *context, uint64_t ticket, int error)
{
	struct daemon *daemon = context;

	if (error) {
		session_synced(daemon->session, ticket, error);
		return;
	}
	session_rechecked(daemon->session, ticket);
	lanes_barrier(daemon->lanes, ticket);
}

/* Marks the view as stale or current. When the view becomes stale, invalidates cached listings. */
static void set_stale(struct daemon *daemon, bool stale)
{
	struct invalidation *invalidation = NULL;
	int r;

	if (stale == daemon->view.stale)
		return;
	daemon->view.stale = stale;
	r = stale && daemon->session ? invalidation_new_all(&invalidation, &daemon->view) : 0;
	if (r < 0)
		log_error("cannot invalidate cached listings of the view: %s; unmount the view and "
			  "mount it again",
			  error_text(r));
	else if (invalidation)
		session_invalidate(daemon->session, invalidation);
}

static void on_report(void *context, uint64_t unwatched, int problem)
{
	struct daemon *daemon = context;

	daemon->view.unwatched = unwatched;
	set_stale(daemon, problem != 0);
	set_problem(daemon, PROBLEM_FOLLOWING, problem);
}

static void on_source_changed(void *context, uint64_t file)
{
	struct daemon *daemon = context;

	follower_recheck_file(daemon->follower, file);
}

static int on_recheck(void *context, uint64_t file, const struct cancellation *cancellation)
{
	const struct daemon *daemon = context;

	return ingest_recheck_file(daemon->indexing->catalog, &daemon->indexing->sources, file,
				   clock_monotonic_ns() + RECHECK_NS, cancellation);
}

static void on_writer_met(void *context, uint64_t file)
{
	struct daemon *daemon = context;

	follower_note_writer(daemon->follower, file);
}

static uint64_t on_sync(void *context)
{
	struct daemon *daemon = context;

	return follower_barrier(daemon->follower);
}

static void on_remap(void *context)
{
	struct daemon *daemon = context;

	lanes_remap(daemon->lanes);
}

static void on_hangup(void *context)
{
	struct daemon *daemon = context;

	follower_rescan(daemon->follower);
	lanes_remap(daemon->lanes);
	lanes_retry(daemon->lanes);
}

static void on_commit(struct commit_delta *delta, void *context)
{
	struct daemon *daemon = context;
	struct invalidation *invalidation = NULL;

	lanes_note_commit(daemon->lanes, delta);
	follower_note_commit(daemon->follower, delta);
	if (invalidation_new(&invalidation, delta) == 0)
		session_invalidate(daemon->session, invalidation);
	else
		log_error("cannot invalidate cached names of the view: out of memory; unmount the "
			  "view and mount it again");
	service_status_update(daemon->service_status);
}

/* Observes commits before the view exists. */
static void on_early_commit(struct commit_delta *delta, void *context)
{
	const struct daemon *daemon = context;

	follower_note_commit(daemon->follower, delta);
}

_Static_assert(PAGE_BYTES_MAX <= VIEW_REPORT_BYTES, "a page fits into the file of the view");

/* Appends the path in folders/ of an equal folder, see struct page_settings. */
static int find_equal_path(void *context, uint64_t dir, struct bytes *path)
{
	int r = view_path(context, node_make_folder(dir, 0), path);

	return r == -ENOENT ? -ESTALE : r;
}

/* Appends the report page, see struct view_hooks. */
static int make_report(void *context, const char *view_root, struct bytes *page,
		       const struct cancellation *cancellation)
{
	struct daemon *daemon = context;
	struct view *view = &daemon->view;
	const struct rules rules = {.of_index = &daemon->indexing->keep};
	const struct page_settings settings = {
		.rules = &rules,
		.sources = view->sources,
		.now = clock_now(),
		.view_root = view_root,
		.mount_point = view->mount_point,
		.equal_path = find_equal_path,
		.context = view,
		.cancellation = cancellation,
	};
	struct page_result result;

	return page_make(&settings, page, &result);
}

static int hash_tree(void *context, struct catalog_reader *reader, uint64_t dir,
		     struct hash128 *hash)
{
	int r = folder_tree_hash(reader, dir, hash);

	(void)context;
	return r == FOLDER_TREE_UNREAD ? -ENODATA : r;
}

static void count_compared(void *context, struct progress_counts *counts)
{
	const struct daemon *daemon = context;

	*counts = progress_counts_of(&daemon->indexing->ingest, PROGRESS_CONTENTS);
}

/* ---- starting ------------------------------------------------------------------------ */

static int set_view(struct catalog_writer *w, void *context)
{
	const struct daemon *daemon = context;

	return catalog_set_view(w, daemon->mount_point);
}

/* Stores the mount point in the index, where other processes read it. It stays there after the view
 * is unmounted. */
static int store_mount_point(struct daemon *daemon)
{
	struct indexing *indexing = daemon->indexing;
	int r = catalog_set_mount_point(indexing->catalog, daemon->mount_point);

	if (r == 0)
		r = catalog_write(indexing->catalog, set_view, daemon);
	if (r < 0)
		log_error("cannot write to the index %s: %s", quote_path(indexing->folder),
			  error_text(r));
	return r;
}

static int begin_following(struct daemon *daemon)
{
	const struct follower_settings settings = {
		.indexing = daemon->indexing,
		.mode = daemon->settings->watch,
		.groups = &daemon->groups,
		.interval_ms = daemon->settings->interval_ms,
		.rescan_ms = daemon->settings->rescan_ms,
		.lanes = daemon->lanes,
		.barrier_reached = on_names_reached,
		.report = on_report,
		.context = daemon,
	};
	int r = follower_new(&daemon->follower, &settings);

	if (r < 0)
		log_error("cannot watch for changes: %s; use --watch=poll, or see 'twinfs doctor'",
			  error_text(r));
	return r;
}

static int make_lanes(struct daemon *daemon)
{
	const struct daemon_settings *settings = daemon->settings;
	bool watched = settings->foreground || settings->wait;
	const struct lanes_settings lanes_settings = {
		.indexing = daemon->indexing,
		.progress = watched ? daemon->indexing->settings->progress : PROGRESS_NEVER,
		.compared = on_compared,
		.busy = on_busy,
		.barrier_reached = on_contents_reached,
		.context = daemon,
	};
	int r = lanes_new(&daemon->lanes, &lanes_settings);

	if (r < 0)
		log_error("cannot prepare the comparison of files: %s", error_text(r));
	return r;
}

/* Logs rules that the user did not give now. */
static void explain_keep_rules(struct indexing *indexing)
{
	const struct bytes *text = &indexing->keep.text;

	if (!indexing->given_keep && indexing->keep.count > 0)
		log_info("the kept copies are chosen by the rules %s, which the index has from an "
			 "earlier mount; 'twinfs mount --keep=default' removes them",
			 quote_bytes((const char *)text->data, text->length));
}

/* Brings the names of the index up to date and starts watching for changes. */
static int update_names(struct daemon *daemon)
{
	struct indexing *indexing = daemon->indexing;
	int r = store_mount_point(daemon);

	explain_keep_rules(indexing);
	if (r == 0)
		r = make_lanes(daemon);
	if (r == 0)
		r = begin_following(daemon);
	if (r < 0)
		return r;
	catalog_observe(indexing->catalog, on_early_commit, daemon);
	r = indexing_names(indexing, daemon->indexing->settings->progress);
	if (r == 0 && !stop_requested())
		r = follower_catch_up(daemon->follower);
	if (r == 0 && stop_requested()) {
		log_error("cannot mount the view: interrupted");
		r = -EINTR;
	}
	/* store the mount point again, as a corrupt index was possibly rebuilt */
	if (r == 0)
		r = store_mount_point(daemon);
	if (r == 0 && catalog_begin_view(indexing->catalog) < 0)
		log_debug("cannot write to the index %s yet", quote_path(indexing->folder));
	return r;
}

/* Starts the threads. From now on each commit delta is passed to the notifier, and the comparers
 * get each file that a commit leaves unread. */
static int start_threads(struct daemon *daemon)
{
	int r;

	catalog_observe(daemon->indexing->catalog, on_commit, daemon);
	r = lanes_start(daemon->lanes);
	if (r == 0)
		r = follower_start(daemon->follower);
	if (r < 0)
		log_error("cannot start a thread: %s", error_text(r));
	else
		signal_watch_on_hangup(daemon->signals, on_hangup, daemon);
	return r;
}

static struct session_settings session_settings_of(struct daemon *daemon)
{
	const struct daemon_settings *settings = daemon->settings;

	return (struct session_settings){
		.mount_point = daemon->mount_point,
		/* other users need not see the path of the source */
		.source = settings->session.shared ? "twinfs" : daemon->indexing->paths.items[0],
		.options = settings->session,
		.mounter = daemon->mounter,
		.signals = daemon->signals,
		.ready = answer_ready,
		.sync = on_sync,
		.remap = on_remap,
		.context = daemon,
	};
}

/* Mounts the view and starts the threads that keep it current. */
static int start(struct daemon *daemon)
{
	const struct sources *sources = &daemon->indexing->sources;
	struct session_settings session_settings = session_settings_of(daemon);
	struct view *view = &daemon->view;
	const struct view_hooks hooks = {
		.source_changed = on_source_changed,
		.recheck = on_recheck,
		.writer_found = on_writer_met,
		.report = make_report,
		.tree_hash = hash_tree,
		.count_compared = count_compared,
		.context = daemon,
	};
	int r;

	view_init(view, daemon->indexing->catalog, sources, daemon->mount_point);
	view->hooks = hooks;
	view->currency = follower_currency(daemon->follower);
	view->keep_rules = &daemon->indexing->keep;
	view->shared = daemon->settings->session.shared;
	view->shows_trusted = daemon->settings->trusted_xattrs;
	view_set_state(view, VIEW_COMPARING);
	view->watch = follower_watch_name(daemon->follower);
	view->confined = bytes_text(&daemon->confined);
	r = session_new(&daemon->session, &daemon->view, &session_settings);
	if (r < 0)
		return r;
	service_status_show(daemon->service_status, &daemon->view);
	return start_threads(daemon);
}

static int serve(struct daemon *daemon)
{
	int r;

	service_status_start(&daemon->service_status, &daemon->readiness->service,
			     daemon->indexing);
	r = update_names(daemon);
	if (r == 0)
		r = start(daemon);
	return r < 0 ? r : session_run(daemon->session);
}

/* If a signal ended a daemon in the foreground before the view was mounted, notes the signal, so
 * that the process ends by it. */
static void end_by_signal(const struct daemon *daemon)
{
	if (!daemon->session && daemon->settings->foreground && daemon->signals)
		interrupt_note(signal_watch_number(daemon->signals));
}

/* Sends the final status to the service manager. */
static void report_end(const struct daemon *daemon, int result)
{
	char message[128] = "STATUS=unmounted";

	if (result < 0)
		(void)snprintf(message, sizeof(message), "ERRNO=%d\nSTATUS=failed: %s", -result,
			       error_text(result));
	(void)service_manager_try_notify(&daemon->readiness->service, message);
}

/* Records the end as the time of the last scan, if the index has all changes until now. */
static void note_last_scan(const struct daemon *daemon)
{
	if (daemon->session && view_get_state(&daemon->view) == VIEW_CURRENT &&
	    !daemon->view.stale && follower_sees_all(daemon->follower))
		catalog_note_scan(daemon->indexing->catalog, clock_now());
}

static void take_down(struct daemon *daemon)
{
	note_last_scan(daemon);
	stop_request();
	end_by_signal(daemon);
	service_status_end(daemon->service_status);
	(void)service_manager_try_notify(&daemon->readiness->service,
					 "STOPPING=1\nSTATUS=unmounting");
	signal_watch_free(daemon->signals);
	follower_stop(daemon->follower);
	lanes_stop(daemon->lanes);
	if (daemon->indexing->catalog)
		catalog_observe(daemon->indexing->catalog, NULL, NULL);
	service_status_free(daemon->service_status); /* commits used the status until now */
	session_free(daemon->session);
	mounter_free(daemon->mounter);
	lanes_free(daemon->lanes);
	follower_free(daemon->follower);
	fanotify_groups_close(&daemon->groups);
	view_deinit(&daemon->view);
	bytes_free(&daemon->confined);
}

/* Raises the soft limit of open files to the hard limit. Each file that a program has open in the
 * view is open in the daemon, too. The default soft limit exists for programs that use
 * select(2). */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		log_debug("cannot raise the open file limit: %s", error_text(errno));
}

/* Does all work that needs full rights or forks, and then confines the process. indexing_open() can
 * fork a process that checks the index, which must happen before threads are started. */
static int prepare(struct daemon *daemon)
{
	struct indexing *indexing = daemon->indexing;
	struct session_settings session_settings = session_settings_of(daemon);
	int r = mounter_start(&daemon->mounter, &session_settings);

	if (r < 0) {
		log_error("cannot start the mounter process: %s", error_text(r));
		return r;
	}
	readiness_leave_session(daemon->readiness);
	r = indexing_open(indexing);
	if (r == INDEXING_IN_USE)
		index_explain(indexing->folder, CATALOG_IN_USE);
	if (r != 0)
		return r < 0 ? r : -EBUSY;
	r = fanotify_groups_open(&daemon->groups, &indexing->sources, daemon->settings->watch);
	if (r < 0)
		return r;
	r = confinement_begin(daemon->settings, indexing->folder, &indexing->sources,
			      &daemon->confined);
	if (r < 0)
		return r;
	r = signal_watch_new(&daemon->signals,
			     daemon->settings->foreground && isatty(STDERR_FILENO));
	if (r < 0)
		log_error("cannot watch for signals: %s", error_text(r));
	return r;
}

enum twinfs_exit daemon_run(const struct daemon_settings *settings, struct indexing *indexing,
			    const char *mount_point, struct readiness *readiness)
{
	struct daemon daemon = {
		.settings = settings,
		.indexing = indexing,
		.mount_point = mount_point,
		.readiness = readiness,
	};
	int r;

	fanotify_groups_init(&daemon.groups);
	(void)umask(S_IRWXG | S_IRWXO);
	/* a file system cannot be unmounted while it has the working directory of a process */
	if (chdir("/") < 0)
		log_warning("cannot change directory to '/': %s", error_text(errno));
	raise_descriptor_limit();
	(void)service_manager_try_notify(&readiness->service, "STATUS=opening the index");
	r = prepare(&daemon);
	if (r == 0)
		r = serve(&daemon);
	take_down(&daemon);
	report_end(&daemon, r);
	return r < 0 ? TWINFS_EXIT_FAILED : TWINFS_EXIT_COMPLETE;
}
