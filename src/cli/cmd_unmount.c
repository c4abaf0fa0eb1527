/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/path.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/known_index.h"
#include "index/mount_point.h"
#include "index/mount_table.h"
#include "index/source.h"
#include "scan/index_folder.h"

/* Time limit for the end of a daemon. Its longest work is to make its index smaller. */
#define END_TIMEOUT_MS 60000

struct unmount_settings {
	struct common_settings common;
	bool lazily;
};

static const struct option_spec helper_options[] = {
	{
		.name = "lazy",
		.letter = 'l',
		.help = "detach the view even if it is in use, and do not wait for its daemon",
		.at = offsetof(struct unmount_settings, lazily),
	},
	{.heading = "Accepted without effect"},
	{.name = "force", .letter = 'f', .help = "not needed", .set = option_ignore},
	{.name = "no-mtab", .letter = 'n', .help = "no mtab is written", .set = option_ignore},
	{
		.name = "read-only",
		.letter = 'r',
		.help = "a view is always read-only",
		.set = option_ignore,
	},
	{.name = "verbose",
	 .letter = 'v',
	 .help = "errors are always complete",
	 .set = option_ignore},
	{
		.name = "types",
		.letter = 't',
		.argument = "TYPE",
		.help = "file system type given to umount(8)",
		.set = option_ignore,
	},
	{
		.name = "namespace",
		.letter = 'N',
		.argument = "NAMESPACE",
		.help = "umount(8) has already entered the namespace",
		.set = option_ignore,
	},
	{0},
};

struct named_view {
	const struct mountinfo *mount; /* borrowed from the table */
	struct served_sources served; /* if known */
	bool known;
	bool chosen; /* to be unmounted */
	bool by_source; /* the user did not name the mount point */
	bool unmounted;
	int process; /* pidfd of the daemon; -1: unknown */
};

struct views {
	struct mount_table table;
	struct named_view *list;
	size_t count, capacity;
	size_t failures; /* operands and views that could not be unmounted */
	size_t unended; /* daemons that have not ended */
};

static void views_free(struct views *views)
{
	for (size_t i = 0; i < views->count; i++) {
		served_sources_free(&views->list[i].served);
		if (views->list[i].process >= 0)
			(void)close(views->list[i].process);
	}
	free(views->list);
	mount_table_free(&views->table);
}

/* Lists the views of this mount namespace. Returns 0 or -errno. */
static int views_find(struct views *views)
{
	int r = mount_table_read(&views->table);

	for (size_t i = 0; r == 0 && i < views->table.count; i++) {
		const struct mountinfo *mount = &views->table.entries[i];

		if (!mount_entry_is_view(mount))
			continue;
		r = array_reserve(&views->list, &views->capacity, views->count + 1,
				  sizeof(*views->list));
		if (r == 0)
			views->list[views->count++] =
				(struct named_view){.mount = mount, .process = -1};
	}
	return r;
}

/* Reads once what the view serves. */
static int learn(struct named_view *view)
{
	if (view->known)
		return 0;
	view->known = true;
	return served_sources_read(&view->served, view->mount->point);
}

/* ---- which views the user named -------------------------------------------------------- */

/* Logs that no view has the source, and the view that the user possibly meant. */
static void explain_source(const struct views *views, const char *operand, const char *path)
{
	for (size_t i = 0; i < views->count; i++) {
		const struct named_view *view = &views->list[i];
		const char *point = view->mount->point;

		for (size_t j = 0; j < view->served.paths.count; j++) {
			if (!path_below(path, view->served.paths.items[j]))
				continue;
			log_error("cannot unmount %s: it is in %s, a source of the view at %s; "
				  "give that source or mount point",
				  quote_path(operand), quote_path(view->served.paths.items[j]),
				  quote_path(point));
			return;
		}
		if (view->served.paths.count == 0) {
			log_error("cannot unmount %s: it is no mount point of a view, and the view "
				  "at %s does not answer which sources it has; give a mount point",
				  quote_path(operand), quote_path(point));
			return;
		}
	}
	log_error("cannot unmount %s: it is neither the mount point nor a source of a mounted view",
		  quote_path(operand));
}

static int choose_by_source(struct views *views, char *operand)
{
	CLEANUP_TEXT_LIST struct text_list resolved = {0};
	bool found = false;
	int r = source_paths_recall(&operand, 1, &resolved);

	if (r < 0)
		views->failures++; /* logged */
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; r == 0 && i < views->count; i++) {
		struct named_view *view = &views->list[i];

		r = learn(view);
		if (r == 0 && served_sources_are_in(&view->served, resolved.items[0])) {
			view->by_source = !view->chosen;
			view->chosen = true;
			found = true;
		}
	}
	if (r == 0 && !found)
		explain_source(views, operand, resolved.items[0]);
	views->failures += r == 0 && !found;
	return r;
}

/* Chooses the views that an operand names. Returns 0 or -errno. */
static int choose(struct views *views, char *operand)
{
	AUTO_FREE char *point = NULL;
	int r = mount_point_of(operand, &point);

	if (r == -ENOMEM)
		return r;
	if (!point)
		return choose_by_source(views, operand);
	for (size_t i = 0; i < views->count; i++) {
		if (strcmp(views->list[i].mount->point, point) == 0)
			views->list[i].chosen = true;
	}
	return 0;
}

/* ---- unmounting ------------------------------------------------------------------------ */

static void explain_busy(const char *point, struct mount_users *users)
{
	const char *names = users->names.length > 0 ? bytes_text(&users->names) : NULL;

	log_error("cannot unmount %s: it is in use by %s; %sclose what is open there, or detach "
		  "the view with 'fusermount3 -uz'",
		  quote_path(point), names ? names : "a process that this user cannot examine",
		  users->inside ? "cd out of it, " : "");
}

static void explain_failure(const char *point, int error)
{
	if (error == -EPERM)
		log_error("cannot unmount %s: %s; run twinfs as the user who mounted the view",
			  quote_path(point), error_text(error));
	else
		log_error("cannot unmount %s: %s", quote_path(point),
			  error == -ENOENT ? "fusermount3 is missing" : error_text(error));
}

/* Unmounts a view that only readers of its events use: detaches it, and sends SIGTERM to the
 * daemon, which ends their reads. Returns 0 or -errno. */
static int cut_off_readers(const struct named_view *view, struct mount_users *users)
{
	int r = mount_point_unmount(view->mount->point, true);

	if (r == 0 && pidfd_send_signal(view->process, SIGTERM, NULL, 0) < 0 && errno != ESRCH)
		r = -errno;
	if (r == 0)
		log_info("the events of %s have ended for %s", quote_path(view->mount->point),
			 bytes_text(&users->names));
	return r;
}

/* Returns whether something is mounted in the view, or this cannot be found out. */
static bool holds_mounts(const char *point)
{
	CLEANUP_TABLE struct mount_table table = {0};
	const char *below;

	if (mount_table_read(&table) < 0)
		return true;
	for (size_t i = 0; i < table.count; i++) {
		below = path_below(table.entries[i].point, point);
		if (below && *below)
			return true;
	}
	return false;
}

/* Returns whether only readers of its events use the view, and they can be cut off. */
static bool has_only_readers(const struct named_view *view, const struct mount_users *users)
{
	/* a pid that only the index has can belong to another process */
	return users->only_events && !(users->unexamined && view->served.shared) &&
	       view->served.answers && view->process >= 0 && !holds_mounts(view->mount->point);
}

/* Unmounts a view that is in use, if that is possible. Returns 0, or -errno, logged. */
static int unmount_used(const struct named_view *view)
{
	const char *point = view->mount->point;
	struct mount_users users = {0};
	int r = mount_point_find_users(point, &users);

	if (r == 0 && has_only_readers(view, &users))
		r = cut_off_readers(view, &users);
	else if (r == 0)
		r = -EBUSY;
	if (r == -EBUSY)
		explain_busy(point, &users);
	else if (r < 0)
		explain_failure(point, r);
	bytes_free(&users.names);
	return r;
}

static int unmount(struct views *views, struct named_view *view, bool lazily)
{
	int r = learn(view);

	if (r < 0)
		return r;
	/* before the unmount: after it, another process can get the pid of the daemon */
	if (view->served.pid > 0)
		view->process = pidfd_open(view->served.pid, 0);
	r = mount_point_unmount(view->mount->point, lazily);
	if (r == -EBUSY)
		r = unmount_used(view);
	else if (r < 0)
		explain_failure(view->mount->point, r);
	view->unmounted = r == 0;
	views->failures += r < 0;
	if (r == 0 && view->by_source)
		log_info("unmounted the view at %s", quote_path(view->mount->point));
	return 0;
}

/* Waits until the daemon has ended. Returns whether it has. */
static bool has_ended(const struct named_view *view)
{
	struct pollfd process = {.fd = view->process, .events = POLLIN};
	const char *point = quote_path(view->mount->point);
	int pid = (int)view->served.pid;

	if (view->process < 0)
		return true;
	if (index_holder_is_stopped(view->served.pid) && poll(&process, 1, 0) == 0) {
		log_warning("the view at %s is unmounted, but its daemon is stopped and keeps its "
			    "sources in use; continue it with 'kill -CONT %d', or end it with "
			    "'kill -KILL %d'",
			    point, pid, pid);
		return false;
	}
	if (poll(&process, 1, END_TIMEOUT_MS) > 0)
		return true;
	log_warning("the view at %s is unmounted, but its daemon, process %d, has not ended after "
		    "%d seconds and keeps its sources in use",
		    point, pid, END_TIMEOUT_MS / 1000);
	return false;
}

/* Waits for the ends of the daemons whose views have no other mount. */
static int wait_for_ends(struct views *views)
{
	CLEANUP_TABLE struct mount_table table = {0};
	int r = mount_table_read(&table);

	for (size_t i = 0; r == 0 && i < views->count; i++) {
		const struct named_view *view = &views->list[i];
		const struct mountinfo *other = mount_table_view_of(&table, view->mount->device);

		if (!view->unmounted)
			continue;
		if (other)
			log_warning("the view at %s is still mounted at %s",
				    quote_path(view->mount->point), quote_path(other->point));
		views->unended += other || !has_ended(view);
	}
	return r;
}

static int unmount_operands(struct views *views, char *operands[], size_t count, bool lazily)
{
	int r = views_find(views);

	for (size_t i = 0; r == 0 && i < count; i++)
		r = choose(views, operands[i]);
	/* the working directory of this process can be in a view, too */
	if (r == 0 && chdir("/") < 0)
		r = -errno;
	/* the last mounted view first: it can be mounted on another one */
	for (size_t i = views->count; r == 0 && i > 0; i--) {
		if (views->list[i - 1].chosen)
			r = unmount(views, &views->list[i - 1], lazily);
	}
	return r < 0 || lazily ? r : wait_for_ends(views);
}

static enum twinfs_exit run(void *context, char **operands, size_t count)
{
	const struct unmount_settings *settings = context;
	CLEANUP(views_free) struct views views = {0};
	bool any = false;
	int r = unmount_operands(&views, operands, count, settings->lazily);

	if (r < 0) {
		log_error("cannot find the mounted views: %s", error_text(r));
		return TWINFS_EXIT_FAILED;
	}
	for (size_t i = 0; i < views.count; i++)
		any = any || views.list[i].unmounted;
	if (views.failures > 0)
		return any ? TWINFS_EXIT_INCOMPLETE : TWINFS_EXIT_FAILED;
	return views.unended > 0 ? TWINFS_EXIT_INCOMPLETE : TWINFS_EXIT_COMPLETE;
}

const struct command unmount_helper_command = {
	.options = {.command = "umount.fuse.twinfs",
		    .usage = {"MOUNTPOINT"},
		    .summary = "Unmounts a view on behalf of umount(8), and waits until its daemon "
			       "has ended.",
		    .options = {helper_options, version_option}},
	.settings_bytes = sizeof(struct unmount_settings),
	.lacks_operand = "no MOUNTPOINT given",
	.run = run,
};

const struct command unmount_command = {
	.options = {.command = "twinfs unmount",
		    .usage = {"MOUNTPOINT...", "SOURCE..."},
		    .summary = "Unmounts views, and waits until their daemons have ended. A source "
			       "names each view that has it, or a folder in it, as a source.",
		    .options = {version_option}},
	.settings_bytes = sizeof(struct unmount_settings),
	.lacks_operand = "no MOUNTPOINT given",
	.run = run,
};
