/* SPDX-License-Identifier: MIT */
#include "cli/cmd_mount.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/output.h"
#include "base/stop.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/counted.h"
#include "cli/known_index.h"
#include "cli/selection.h"
#include "index/mount_point.h"
#include "scan/status_file.h"
#include "view/follow/daemon.h"
#include "view/tree/caller.h"

/* ---- settings -------------------------------------------------------------------------------- */

/* Default time between two rescans of polled sources. */
#define INTERVAL_MS_DEFAULT 60000

/* Refuses an interval of 0: rescanning without a pause would use the whole machine. */
static int set_interval(void *member, const char *text)
{
	uint64_t *interval_ms = member;
	int r = duration_parse(text, interval_ms);

	return r == 0 && *interval_ms == 0 ? -EINVAL : r;
}

static int set_keep(void *member, const char *value)
{
	struct mount_settings *settings = member;
	bool is_default = strcmp(value, "default") == 0;

	/* "default" must be alone */
	if (settings->keep_given && (is_default || settings->keep.count == 0))
		return -EINVAL;
	settings->keep_given = true;
	return is_default ? 0 : keep_option_apply(&settings->keep, value);
}

static int set_duration(void *member, const char *text)
{
	return duration_parse(text, member);
}

static int set_debug(void *member, const char *value)
{
	struct daemon_settings *settings = member;

	(void)value;
	log_set_level(LOG_LEVEL_DEBUG);
	settings->session.debug = true;
	settings->foreground = true;
	return 0;
}

static int add_text(void *member, const char *value)
{
	return text_list_add(member, value, strlen(value));
}

static const struct option_spec mount_options[] = {
	{.heading = "Following changes"},
	{
		.name = "watch",
		.argument = "auto|inotify|fanotify|poll|none",
		.help = "how to detect changes of the sources: auto (inotify where it reports all "
			"changes, otherwise poll; for root, fanotify where inotify has too few "
			"watches; the default), inotify (a watch for each directory), fanotify "
			"(whole file systems, needs root), poll (rescan the sources at intervals) "
			"or none (only on request, by .twinfs/sync or SIGHUP)",
		.at = offsetof(struct mount_settings, daemon.watch),
	},
	{
		.name = "interval",
		.argument = "TIME",
		.help = "time between two rescans of polled sources: seconds, or a number with s, "
			"m, h or d (default: 60)",
		.at = offsetof(struct mount_settings, daemon.interval_ms),
		.set = set_interval,
		.expects = DURATION_EXPECTED,
	},
	{
		.name = "rescan-interval",
		.argument = "TIME",
		.help = "rescan all sources at this interval, to find changes that the kernel does "
			"not report, see CAVEATS in twinfs(5) (default: 0, never)",
		.at = offsetof(struct mount_settings, daemon.rescan_ms),
		.set = set_duration,
		.expects = DURATION_EXPECTED,
	},
	{.heading = "Kept copies"},
	{
		.name = "keep",
		.argument = "RULE[,RULE]",
		.help = "store in the index which copy of each group is kept, for the view, "
			"reports "
			"and acts; a later rule decides only where all earlier rules "
			"tie: " KEEP_RULE_WORDS
			"; default removes the rules (default: the rules that the "
			"index has)",
		.set = set_keep,
		.expects = KEEP_RULES_EXPECTED "; or the word default alone",
	},
	{.heading = "Mounting"},
	{
		.name = "foreground",
		.letter = 'f',
		.help = "stay in the foreground until unmounted or interrupted",
		.at = offsetof(struct mount_settings, daemon.foreground),
	},
	{
		.name = "debug",
		.letter = 'd',
		.help = "print every request of the kernel on stderr; implies --foreground",
		.at = offsetof(struct mount_settings, daemon),
		.set = set_debug,
	},
	{
		.name = "single-thread",
		.letter = 's',
		.help = "serve one request at a time",
		.at = offsetof(struct mount_settings, daemon.session.single_threaded),
	},
	{
		.name = "wait",
		.help = "return when all files are compared, instead of when the view is mounted",
		.at = offsetof(struct mount_settings, daemon.wait),
	},
	{
		.name = "source",
		.argument = "DIR",
		.help = "a further source, after those before the mount point; for fstab and "
			"units, which name one",
		.at = offsetof(struct mount_settings, more_sources),
		.set = add_text,
	},
	{
		.name = "options",
		.letter = 'o',
		.argument = "OPTION[,OPTION]",
		.help = "options as in fstab: NAME or NAME=VALUE for every long option of this "
			"command, and allow_other, auto_unmount, passthrough, io_uring, nonempty, "
			"trusted_xattrs and other options of FUSE; \\, is a comma in a value",
		.at = offsetof(struct mount_settings, option_lists),
		.set = add_text,
	},
	{0},
};

static const struct option_spec helper_options[] = {
	{.heading = "Mounting"},
	{
		.name = "options",
		.letter = 'o',
		.argument = "OPTION[,OPTION]",
		.help = "options as in fstab: NAME or NAME=VALUE for every long option of 'twinfs "
			"mount', and options of FUSE",
		.at = offsetof(struct mount_settings, option_lists),
		.set = add_text,
	},
	{
		.name = "fake",
		.letter = 'f',
		.help = "check everything, but do not mount",
		.at = offsetof(struct mount_settings, fake),
	},
	{
		.name = "sloppy",
		.letter = 's',
		.help = "ignore unknown options",
		.at = offsetof(struct mount_settings, sloppy),
	},
	{.heading = "Accepted without effect"},
	{.name = "no-mtab", .letter = 'n', .help = "no mtab is written", .set = option_ignore},
	{.name = "verbose",
	 .letter = 'v',
	 .help = "errors are always complete",
	 .set = option_ignore},
	{
		.name = "read-only",
		.letter = 'r',
		.help = "a view is always read-only",
		.set = option_ignore,
	},
	{.name = "read-write",
	 .letter = 'w',
	 .help = "a view is always read-only",
	 .set = option_ignore},
	{
		.name = "types",
		.letter = 't',
		.argument = "TYPE",
		.help = "file system type given to mount(8)",
		.set = option_ignore,
	},
	{
		.name = "namespace",
		.letter = 'N',
		.argument = "NAMESPACE",
		.help = "mount(8) has already entered the namespace",
		.set = option_ignore,
	},
	{0},
};

/* Applies one item of -o.
 *
 * raw	the item with its backslashes, as FUSE expects it
 * item	the item without them
 */
static int apply_item(struct mount_settings *settings, const struct option_table *table,
		      const char *raw, const char *item)
{
	const char *reason = NULL;
	int r = OPTIONS_NOT_MINE;

	/* refuses "-o options=...": it would recurse without end */
	if (strncmp(item, "options=", strlen("options=")) != 0)
		r = options_apply_item(&mount_command.options, item, settings);
	if (r != OPTIONS_NOT_MINE)
		return r;
	switch (mount_option_classify(item, &reason)) {
	case MOUNT_OPTION_FUSE:
		return text_list_add(&settings->daemon.session.fuse, raw, strlen(raw));
	case MOUNT_OPTION_NONEMPTY:
		settings->daemon.session.nonempty = true;
		return 0;
	case MOUNT_OPTION_PASSTHROUGH:
		settings->daemon.session.passthrough = true;
		return 0;
	case MOUNT_OPTION_TRUSTED_XATTRS:
		settings->daemon.trusted_xattrs = true;
		return 0;
	case MOUNT_OPTION_IO_URING:
		settings->daemon.session.io_uring = true;
		return 0;
	case MOUNT_OPTION_SHARED:
		settings->daemon.session.shared = true;
		return 0;
	case MOUNT_OPTION_AUTO_UNMOUNT:
		settings->daemon.session.auto_unmount = true;
		return 0;
	case MOUNT_OPTION_IGNORED:
		return 0;
	case MOUNT_OPTION_REFUSED:
		options_complain(table, "the mount option %s cannot be used: %s", quote_path(item),
				 reason);
		return -EINVAL;
	case MOUNT_OPTION_UNKNOWN:
		break;
	}
	if (settings->sloppy)
		return 0;
	options_complain(table, "unknown mount option %s", quote_path(item));
	return -EINVAL;
}

/* Removes the backslashes, in place. */
static void unescape(char *item)
{
	char *end = item;

	for (; *item != '\0'; item++) {
		if (*item == '\\' && item[1] != '\0')
			item++;
		*end++ = *item;
	}
	*end = '\0';
}

static int apply_list(struct mount_settings *settings, const struct option_table *table,
		      const char *list)
{
	while (*list != '\0') {
		struct text_list *items = &settings->option_items;
		size_t length = list_item_length(list);
		AUTO_FREE char *raw = strndup(list, length);
		int r;

		if (!raw)
			return -ENOMEM;
		r = length > 0 ? text_list_add(items, raw, length) : 0;
		if (r == 0 && length > 0) {
			unescape(items->items[items->count - 1]);
			r = apply_item(settings, table, raw, items->items[items->count - 1]);
		}
		if (r != 0)
			return r;
		list += length + (list[length] == ',');
	}
	return 0;
}

int mount_settings_complete(struct mount_settings *settings, char *const *operands, size_t count)
{
	const struct command *command =
		settings->is_mount_helper ? &mount_helper_command : &mount_command;
	const struct option_table *table = &command->options;
	int r = 0;

	for (size_t i = 0; r == 0 && i < settings->option_lists.count; i++)
		r = apply_list(settings, table, settings->option_lists.items[i]);
	if (r != 0)
		return r;
	if (count < 2)
		return usage_check(table, count == 0 ? "no SOURCE and no MOUNTPOINT given"
						     : "no MOUNTPOINT given");
	settings->daemon.mount_point = operands[--count];
	for (size_t i = 0; r == 0 && i < count; i++)
		r = text_list_add(&settings->sources, operands[i], strlen(operands[i]));
	return r < 0 ? r : text_list_add_all(&settings->sources, settings->more_sources.items);
}

static void init_mount(void *context)
{
	struct mount_settings *settings = context;

	settings->daemon.interval_ms = INTERVAL_MS_DEFAULT;
}

static void init_mount_helper(void *context)
{
	struct mount_settings *settings = context;

	init_mount(settings);
	settings->is_mount_helper = true;
}

static void deinit_mount(void *context)
{
	struct mount_settings *settings = context;

	keep_rules_free(&settings->keep);
	text_list_free(&settings->sources);
	text_list_free(&settings->more_sources);
	text_list_free(&settings->option_lists);
	text_list_free(&settings->option_items);
	text_list_free(&settings->daemon.session.fuse);
}

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
	uint64_t count = status_file_number(status, "files");
	uint64_t found = status_file_number(status, "groups");

	if (strcmp(status_file_text(status, "state"), "current") != 0)
		log_info("%s is mounted; comparing its %s in the background", quote_path(point),
			 counted(count, "file", "files").text);
	else
		log_info("%s is mounted: %s; removing the redundant copies of %s would free up to "
			 "%s",
			 quote_path(point), counted(count, "file", "files").text,
			 counted(found, "group", "groups").text,
			 size_text(status_file_number(status, "reclaimable_bytes")).text);
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

static enum twinfs_exit mount_view(const struct mount_settings *settings, struct indexing *indexing,
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

static enum twinfs_exit run(void *context, char **operands, size_t count)
{
	struct mount_settings *settings = context;
	CLEANUP_INDEXING struct indexing indexing = {0};
	AUTO_FREE char *mount_point = NULL;
	int r = mount_settings_complete(settings, operands, count);

	if (r != 0)
		return options_exit(r);
	r = check_sharing(settings);
	if (r == 0)
		r = check_prerequisites(settings);
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	r = indexing_locate(&indexing, &settings->common.index, settings->sources.items,
			    settings->sources.count);
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	r = find_mount_point(settings, &mount_point);
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	indexing.given_keep = settings->keep_given ? &settings->keep : NULL;
	return mount_view(settings, &indexing, mount_point);
}

const struct command mount_command = {
	.options = {.command = "twinfs mount",
		    .usage = {"SOURCE... MOUNTPOINT"},
		    .summary = "Mounts a read-only view of the verified duplicates in the sources. "
			       "Files are compared in the background. The word 'mount' can be "
			       "omitted. Unmount with 'twinfs unmount MOUNTPOINT'.",
		    .options = {mount_options, scan_options, walk_options, index_option,
				message_options}},
	.settings_bytes = sizeof(struct mount_settings),
	.init = init_mount,
	.deinit = deinit_mount,
	.run = run,
};

const struct command mount_helper_command = {
	.options = {.command = "mount.fuse.twinfs",
		    .usage = {"SOURCE MOUNTPOINT"},
		    .summary = "Mounts a view on behalf of mount(8), for an fstab line of type "
			       "fuse.twinfs. See 'twinfs mount --help' for the options.",
		    .options = {helper_options, version_option}},
	.settings_bytes = sizeof(struct mount_settings),
	.init = init_mount_helper,
	.deinit = deinit_mount,
	.run = run,
};
