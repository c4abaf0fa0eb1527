/* SPDX-License-Identifier: MIT */

/* Who does what in a process that serves a view:
 *
 *	first thread	opens the index, walks the names, mounts, serves requests until the end
 *	comparer	ingest_contents(): reads files, commits groups; then ends
 *	signals		waits for SIGINT and SIGTERM: sets the stop flag, ends the session
 *	libfuse's	answer requests, each with a snapshot of the index
 *
 * Built in order and taken down in reverse; the comparer is joined before what it uses goes. The
 * one who waits for us is told by the session's first answer, or, with --wait, by the comparer: one
 * thread in either case.
 */
#include "cli/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/stop.h"
#include "cli/threads.h"
#include "mount/mount.h"
#include "mount/signals.h"
#include "view/view.h"

/* Between two tries to go on after a failure, and how soon a stop ends that. */
#define RETRY_MS_MIN 1000
#define RETRY_MS_MAX 4000
#define RETRY_STEP_MS 100

struct daemon {
	const struct mount_settings *settings; /* these four borrowed */
	struct indexing *indexing;
	const char *mount_point;
	struct readiness *readiness;
	struct signal_watch *signals;
	struct view view;
	struct session *session;
	pthread_t comparer;
	bool comparer_runs;
};

/* The session answers. */
static void answer_ready(void *context)
{
	struct daemon *daemon = context;

	if (!daemon->settings->wait)
		readiness_report(daemon->readiness, TWINFS_EXIT_COMPLETE);
}

static enum twinfs_exit comparing_status(const struct daemon *daemon, int result)
{
	const struct ingest_result *counts = &daemon->indexing->ingest.result;

	if (result < 0)
		return TWINFS_EXIT_FAILED;
	return counts->errors > 0 || counts->pending > 0 ? TWINFS_EXIT_INCOMPLETE
							 : TWINFS_EXIT_COMPLETE;
}

/* The index cannot be written (a full disk, mostly): what is known is served meanwhile. False at a
 * stop.
 */
static bool pause_before_retry(unsigned int *pause_ms)
{
	for (unsigned int slept = 0; slept < *pause_ms && !stop_requested(); slept += RETRY_STEP_MS)
		clock_sleep_ms(RETRY_STEP_MS);
	if (*pause_ms < RETRY_MS_MAX)
		*pause_ms *= 2;
	return !stop_requested();
}

/* The comparer's thread. */
static void *compare(void *context)
{
	struct daemon *daemon = context;
	const struct mount_settings *settings = daemon->settings;
	bool watched = settings->foreground || settings->wait;
	unsigned int pause_ms = RETRY_MS_MIN;
	bool waited_for = settings->wait;
	int r;

	do {
		r = indexing_contents(daemon->indexing,
				      watched ? settings->common.progress : PROGRESS_NEVER);
		/* who waits for one that is stopped waits for its end */
		if (daemon->indexing->ingest.result.stopped)
			return NULL;
		view_set_problem(&daemon->view, -r);
		if (r == 0)
			view_set_state(&daemon->view, VIEW_CURRENT);
		if (waited_for)
			readiness_report(daemon->readiness, comparing_status(daemon, r));
		waited_for = false;
	} while (r < 0 && r != -EUCLEAN && pause_before_retry(&pause_ms));
	return NULL;
}

static int tell_mount_point(struct daemon *daemon)
{
	struct indexing *indexing = daemon->indexing;
	int r = catalog_set_mount_point(indexing->catalog, daemon->mount_point);

	if (r < 0)
		log_error("cannot write to the index %s: %s", quote_path(indexing->folder),
			  error_text(r));
	return r;
}

/* Makes the names of the index complete. */
static enum twinfs_exit update_names(struct daemon *daemon)
{
	struct indexing *indexing = daemon->indexing;
	int r;

	if (tell_mount_point(daemon) < 0)
		return TWINFS_EXIT_FAILED;
	r = indexing_names(indexing, daemon->settings->common.progress);
	if (r == 0 && stop_requested())
		log_error("interrupted before the view was mounted");
	if (r < 0 || stop_requested())
		return TWINFS_EXIT_FAILED;
	/* again, as a damaged index may have been made anew */
	return tell_mount_point(daemon) < 0 ? TWINFS_EXIT_FAILED : TWINFS_EXIT_COMPLETE;
}

/* Mounts the view and starts to compare. */
static int start(struct daemon *daemon)
{
	const struct mount_settings *settings = daemon->settings;
	const struct sources *sources = &daemon->indexing->sources;
	const struct session_settings session_settings = {
		.mount_point = daemon->mount_point,
		.source = sources->list[0].path,
		.options = settings->fuse_options.items,
		.single_threaded = settings->single_threaded,
		.debug = settings->debug,
		.signals = daemon->signals,
		.ready = answer_ready,
		.context = daemon,
	};
	int r;

	view_init(&daemon->view, daemon->indexing->catalog, sources, daemon->mount_point);
	view_set_state(&daemon->view, VIEW_COMPARING);
	r = session_new(&daemon->session, &daemon->view, &session_settings);
	if (r < 0)
		return r;
	r = thread_start(&daemon->comparer, compare, daemon);
	if (r < 0)
		log_error("cannot start a thread: %s", error_text(r));
	daemon->comparer_runs = r == 0;
	return r;
}

static enum twinfs_exit serve(struct daemon *daemon)
{
	enum twinfs_exit status;

	status = update_names(daemon);
	if (status != TWINFS_EXIT_COMPLETE)
		return status;
	if (start(daemon) < 0)
		return TWINFS_EXIT_FAILED;
	return session_run(daemon->session) < 0 ? TWINFS_EXIT_FAILED : TWINFS_EXIT_COMPLETE;
}

static void take_down(struct daemon *daemon)
{
	stop_request();
	if (daemon->comparer_runs)
		(void)pthread_join(daemon->comparer, NULL);
	session_free(daemon->session);
	signal_watch_free(daemon->signals);
}

/* Each file that a program has open in the view is open here too; the soft limit is for programs
 * that use select(2).
 */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		log_debug("cannot raise the limit of open files: %s", error_text(errno));
}

enum twinfs_exit daemon_run(const struct mount_settings *settings, struct indexing *indexing,
			    const char *mount_point, struct readiness *readiness)
{
	struct daemon daemon = {
		.settings = settings,
		.indexing = indexing,
		.mount_point = mount_point,
		.readiness = readiness,
	};
	enum twinfs_exit status = TWINFS_EXIT_FAILED;
	int r;

	/* a working directory would keep its file system from being unmounted */
	(void)umask(S_IRWXG | S_IRWXO);
	if (chdir("/") < 0)
		log_warning("cannot change to '/': %s", error_text(errno));
	raise_descriptor_limit();
	/* checking the index may fork, which a process with threads must not */
	r = indexing_open(indexing);
	if (r == INDEXING_IN_USE)
		indexing_explain(indexing->folder, CATALOG_IN_USE);
	if (r != 0)
		return TWINFS_EXIT_FAILED;
	r = signal_watch_new(&daemon.signals, settings->foreground);
	if (r < 0)
		log_error("cannot watch for signals: %s", error_text(r));
	else
		status = serve(&daemon);
	take_down(&daemon);
	return status;
}
