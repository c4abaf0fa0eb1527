/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/output.h"
#include "cli/command.h"
#include "cli/known_index.h"
#include "cli/mount_settings.h"
#include "index/mount_point.h"
#include "index/mount_prerequisites.h"
#include "index/unmount.h"
#include "scan/status_file.h"
#include "view/follow/daemon.h"
#include "view/tree/caller.h"

/* ---- welcome -------------------------------------------------------------------------------- */

/* The message on a terminal when a view is mounted: its figures, and hints for its use. */

/* Column of the explanations. Longer commands shift their explanation to the right. */
#define COLUMN 30

/* Appends one line: a command or path, and its explanation. */
static int append_line(struct bytes *text, const struct bytes *what, const char *meaning)
{
	size_t gap = what->length < COLUMN - 2 ? COLUMN - what->length : 2;
	int r = bytes_append(text, "  ", 2);

	if (r == 0)
		r = bytes_append(text, what->data, what->length);
	return r < 0 ? r : bytes_format(text, "%*s%s\n", (int)gap, "", meaning);
}

/* Appends a line for a command with the mount point as its operand. */
static int append_command(struct bytes *text, const char *command, const char *point,
			  const char *meaning)
{
	CLEANUP_BYTES struct bytes what = {0};
	int r = bytes_format(&what, "%s %s", command, quote_path(point));

	return r < 0 ? r : append_line(text, &what, meaning);
}

static int append_folder(struct bytes *text, const char *point, const char *name,
			 const char *meaning)
{
	CLEANUP_BYTES struct bytes what = {0}, path = {0};
	size_t length = strlen(point);
	int r;

	while (length > 1 && point[length - 1] == '/')
		length--;
	r = bytes_format(&path, "%.*s/%s", (int)length, point, name);
	if (r == 0)
		r = bytes_append_text(&what, quote_bytes((const char *)path.data, path.length));
	return r < 0 ? r : append_line(text, &what, meaning);
}

static void print_figures(const char *point, const json_t *status)
{
	char files[NUMBER_TEXT_MAX], groups[NUMBER_TEXT_MAX], size[SIZE_TEXT_MAX];
	uint64_t count = status_file_number(status, "files");
	uint64_t found = status_file_number(status, "groups");

	(void)number_format(files, count);
	if (strcmp(status_file_text(status, "state"), "current") != 0)
		log_info("%s is mounted; comparing its %s %s in the background", quote_path(point),
			 files, plural(count, "file", "files"));
	else
		log_info("%s is mounted: %s %s; removing the redundant copies of %s %s would free "
			 "up to %s",
			 quote_path(point), files, plural(count, "file", "files"),
			 number_format(groups, found), plural(found, "group", "groups"),
			 size_format(size, status_file_number(status, "reclaimable_bytes")));
}

/* Writes the message to stderr if stderr is a terminal, and neither mount(8) nor --quiet prevents
 * it. Starts a process that reads the figures from the view, so the program must have one thread.
 *
 * mount_point	absolute
 */
static void welcome_print(const struct mount_settings *settings, const char *mount_point)
{
	const char *point = settings->daemon.mount_point;
	CLEANUP_BYTES struct bytes text = {0};
	json_auto_t *status = NULL;
	int r;

	if (settings->is_mount_helper || settings->common.quiet ||
	    terminal_width(STDERR_FILENO) == 0)
		return;
	if (status_file_read(mount_point, &status) < 0)
		log_info("%s is mounted", quote_path(point));
	else
		print_figures(point, status);
	r = append_command(&text, "twinfs status", point, "prints progress and results");
	if (r == 0)
		r = append_folder(&text, point, "by-size",
				  "groups of equal files, most reclaimable bytes first");
	if (r == 0)
		r = append_folder(&text, point, "uniques",
				  "the tree with each content once, for rsync");
	if (r == 0)
		r = append_command(&text, "twinfs unmount", point, "unmounts it");
	if (r == 0)
		r = write_fully(STDERR_FILENO, text.data, text.length);
	if (r < 0)
		log_debug("cannot print the hints: %s", error_text(r));
}

/* ---- cmd mount ------------------------------------------------------------------------------ */

/* Refuses a mount point inside a source of another view. Returns 0, -EBUSY (logged) or -errno. */
static int check_other_views(const char *mount_point)
{
	CLEANUP(showing_view_free) struct showing_view showing = {0};
	int r;

	r = showing_view_find(mount_point, &showing);
	if (r < 0 || !showing.view)
		return r;
	log_error("cannot mount on %s: it is in %s, a source of the view at %s; choose a mount "
		  "point outside of that source",
		  quote_path(mount_point), quote_path(bytes_text(&showing.source)),
		  quote_path(showing.view));
	return -EBUSY;
}

/* Finds and prepares the mount point. Returns 0 or -errno; failures are logged. */
static int find_mount_point(const struct mount_settings *settings, char **mount_point)
{
	int r;

	r = mount_point_prepare(settings->daemon.mount_point, settings->daemon.session.nonempty,
				mount_point);
	if (r == MOUNT_POINT_SERVED) {
		log_error("a view is already mounted at %s; unmount it first with 'twinfs unmount'",
			  quote_path(*mount_point));
		return -EBUSY;
	}
	if (r != 0)
		return r < 0 ? r : -EINVAL;
	return check_other_views(*mount_point);
}

/* Checks what every mount needs, before anything is scanned. Returns 0 or -EPERM, logged. */
static int check_prerequisites(const struct mount_settings *settings)
{
	enum mount_obstacle obstacle = mount_obstacle_find();

	if (obstacle == MOUNT_NO_OBSTACLE || settings->fake)
		return 0;
	log_error("cannot mount a view on %s: %s; %s (see 'twinfs doctor')",
		  quote_path(settings->daemon.mount_point), mount_obstacle_cause(obstacle),
		  mount_obstacle_remedy(obstacle));
	return -EPERM;
}

/* With allow_other, checks that access checks for other users work. Returns 0 or -EPERM, logged. */
static int check_sharing(const struct mount_settings *settings)
{
	int r;

	r = settings->daemon.session.shared ? caller_try_impersonation() : 0;
	if (r < 0)
		log_error("cannot share a view with allow_other: only root with all capabilities "
			  "can check what other users may read, whatever /etc/fuse.conf allows; "
			  "omit allow_other");
	return r;
}

/* Unmounts the view of a daemon that was killed during its start.
 *
 * before	device at the mount point before the start. A dead mount that was there stays: an
 *		empty folder instead would make a backup of it remove all files. */
static void remove_dead_view(const char *mount_point, dev_t before)
{
	int r = 0;

	if (mount_point_device(mount_point) != before && mount_point_is_dead(mount_point))
		r = mount_point_unmount(mount_point, true);
	if (r < 0)
		log_error("cannot unmount %s: %s; run 'twinfs unmount'", quote_path(mount_point),
			  error_text(r));
}

/* Runs in the foreground process: waits until the daemon has mounted the view. After a failure or a
 * signal, leaves nothing behind. */
static enum twinfs_exit wait_for_view(const struct mount_settings *settings,
				      const char *mount_point, struct readiness *readiness,
				      dev_t before)
{
	enum twinfs_exit status = readiness_wait(readiness);
	bool mounted = status == TWINFS_EXIT_COMPLETE || status == TWINFS_EXIT_INCOMPLETE;

	if (mounted && interrupt_signal() == 0)
		welcome_print(settings, mount_point);
	if (!readiness_conclude(readiness))
		remove_dead_view(mount_point, before);
	return status;
}

static enum twinfs_exit run(const struct mount_settings *settings, struct indexing *indexing,
			    const char *mount_point)
{
	const dev_t before = mount_point_device(mount_point);
	struct readiness readiness;
	int r;

	if (settings->fake)
		return TWINFS_EXIT_COMPLETE;
	readiness_init(&readiness, settings->daemon.wait ? 2 : 1);
	if (settings->daemon.foreground)
		return daemon_run(&settings->daemon, indexing, mount_point, &readiness);
	interrupt_watch();
	r = readiness_fork(&readiness);
	if (r < 0) {
		log_error("cannot start a process: %s", error_text(r));
		return TWINFS_EXIT_FAILED;
	}
	if (readiness.child != 0)
		return wait_for_view(settings, mount_point, &readiness, before);
	/* the terminal can close before the daemon handles signals */
	(void)signal(SIGHUP, SIG_IGN);
	return daemon_run(&settings->daemon, indexing, mount_point, &readiness);
}

static enum twinfs_exit mount_from_command_line(const struct option_table *table, int argc,
						char *argv[])
{
	CLEANUP(mount_settings_deinit) struct mount_settings settings;
	CLEANUP_INDEXING struct indexing indexing = {0};
	AUTO_FREE char *mount_point = NULL;
	int r;

	r = mount_settings_parse(&settings, table, argc, argv);
	if (r != 0)
		return options_exit(r);
	r = check_sharing(&settings);
	if (r == 0)
		r = check_prerequisites(&settings);
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	r = indexing_locate(&indexing, &settings.common.index, settings.sources.items,
			    settings.sources.count);
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	r = find_mount_point(&settings, &mount_point);
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	indexing.given_keep = settings.keep_given ? &settings.keep : NULL;
	return run(&settings, &indexing, mount_point);
}

enum twinfs_exit cmd_mount(int argc, char *argv[])
{
	return mount_from_command_line(&mount_table, argc, argv);
}

enum twinfs_exit cmd_mount_helper(int argc, char *argv[])
{
	return mount_from_command_line(&mount_helper_table, argc, argv);
}
