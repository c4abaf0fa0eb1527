/* SPDX-License-Identifier: MIT */
#include "cli/mount_settings.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "cli/common_options.h"
#include "cli/moment.h"
#include "cli/rule_options.h"
#include "index/mount_options.h"

enum {
	OPT_FOREGROUND = OPTION_ID_OWN,
	OPT_DEBUG,
	OPT_SINGLE_THREADED,
	OPT_WAIT,
	OPT_WATCH,
	OPT_KEEP,
	OPT_INTERVAL,
	OPT_RESCAN_INTERVAL,
	OPT_OPTIONS,
	OPT_SOURCE,
	OPT_FAKE,
	OPT_SLOPPY,
	OPT_IGNORED,
};

/* Default time between two rescans of polled sources. */
#define INTERVAL_MS_DEFAULT 60000

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
		.id = OPT_WATCH,
	},
	{
		.name = "interval",
		.argument = "TIME",
		.help = "time between two rescans of polled sources: seconds, or a number with s, "
			"m, h or d (default: 60)",
		.id = OPT_INTERVAL,
		.expects = DURATION_EXPECTED,
	},
	{
		.name = "rescan-interval",
		.argument = "TIME",
		.help = "rescan all sources at this interval, to find changes that the kernel does "
			"not report, see CAVEATS in twinfs(5) (default: 0, never)",
		.id = OPT_RESCAN_INTERVAL,
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
		.id = OPT_KEEP,
		.expects = KEEP_RULES_EXPECTED "; or the word default alone",
	},
	{.heading = "Mounting"},
	{
		.name = "foreground",
		.letter = 'f',
		.help = "stay in the foreground until unmounted or interrupted",
		.id = OPT_FOREGROUND,
	},
	{
		.name = "debug",
		.letter = 'd',
		.help = "print every request of the kernel on stderr; implies --foreground",
		.id = OPT_DEBUG,
	},
	{
		.name = "single-thread",
		.letter = 's',
		.help = "serve one request at a time",
		.id = OPT_SINGLE_THREADED,
	},
	{
		.name = "wait",
		.help = "return when all files are compared, instead of when the view is mounted",
		.id = OPT_WAIT,
	},
	{
		.name = "source",
		.argument = "DIR",
		.help = "a further source, after those before the mount point; for fstab and "
			"units, "
			"which name one",
		.id = OPT_SOURCE,
	},
	{
		.name = "options",
		.letter = 'o',
		.argument = "OPTION[,OPTION]",
		.help = "options as in fstab: NAME or NAME=VALUE for every long option of this "
			"command, and allow_other, auto_unmount, passthrough, io_uring, nonempty, "
			"trusted_xattrs and other options of FUSE; \\, is a comma in a value",
		.id = OPT_OPTIONS,
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
		.id = OPT_OPTIONS,
	},
	{
		.name = "fake",
		.letter = 'f',
		.help = "check everything, but do not mount",
		.id = OPT_FAKE,
	},
	{
		.name = "sloppy",
		.letter = 's',
		.help = "ignore unknown options",
		.id = OPT_SLOPPY,
	},
	{.heading = "Accepted without effect"},
	{.name = "no-mtab", .letter = 'n', .help = "no mtab is written", .id = OPT_IGNORED},
	{.name = "verbose", .letter = 'v', .help = "errors are always complete", .id = OPT_IGNORED},
	{
		.name = "read-only",
		.letter = 'r',
		.help = "a view is always read-only",
		.id = OPT_IGNORED,
	},
	{.name = "read-write",
	 .letter = 'w',
	 .help = "a view is always read-only",
	 .id = OPT_IGNORED},
	{
		.name = "types",
		.letter = 't',
		.argument = "TYPE",
		.help = "file system type given to mount(8)",
		.id = OPT_IGNORED,
	},
	{
		.name = "namespace",
		.letter = 'N',
		.argument = "NAMESPACE",
		.help = "mount(8) has already entered the namespace",
		.id = OPT_IGNORED,
	},
	{0},
};

static int parse_watch(const char *word, enum follower_mode *mode)
{
	static const char *const words[] = {
		[FOLLOW_AUTO] = "auto",         [FOLLOW_INOTIFY] = "inotify",
		[FOLLOW_FANOTIFY] = "fanotify", [FOLLOW_POLL] = "poll",
		[FOLLOW_NONE] = "none",
	};
	int found = options_find_word(word, words, ARRAY_SIZE(words));

	if (found < 0)
		return found;
	*mode = (enum follower_mode)found;
	return 0;
}

/* Refuses an interval of 0: rescanning without a pause would use the whole machine. */
static int parse_interval(const char *text, uint64_t *interval_ms)
{
	int r = duration_parse(text, interval_ms);

	return r == 0 && *interval_ms == 0 ? -EINVAL : r;
}

static int parse_keep(struct mount_settings *settings, const char *value)
{
	bool is_default = strcmp(value, "default") == 0;

	/* "default" must be alone */
	if (settings->keep_given && (is_default || settings->keep.count == 0))
		return -EINVAL;
	settings->keep_given = true;
	return is_default ? 0 : keep_option_apply(&settings->keep, value);
}

static int mount_apply(void *context, int id, const char *value)
{
	struct mount_settings *settings = context;

	switch (id) {
	case OPT_DEBUG:
		log_set_level(LOG_LEVEL_DEBUG);
		settings->daemon.session.debug = true;
		settings->daemon.foreground = true;
		return 0;
	case OPT_FOREGROUND:
		settings->daemon.foreground = true;
		return 0;
	case OPT_SINGLE_THREADED:
		settings->daemon.session.single_threaded = true;
		return 0;
	case OPT_WAIT:
		settings->daemon.wait = true;
		return 0;
	case OPT_WATCH:
		return parse_watch(value, &settings->daemon.watch);
	case OPT_KEEP:
		return parse_keep(settings, value);
	case OPT_INTERVAL:
		return parse_interval(value, &settings->daemon.interval_ms);
	case OPT_RESCAN_INTERVAL:
		return duration_parse(value, &settings->daemon.rescan_ms);
	case OPT_OPTIONS:
		return text_list_add(&settings->option_lists, value, strlen(value));
	case OPT_SOURCE:
		return text_list_add(&settings->more_sources, value, strlen(value));
	case OPT_FAKE:
		settings->fake = true;
		return 0;
	case OPT_SLOPPY:
		settings->sloppy = true;
		return 0;
	case OPT_IGNORED:
		return 0;
	default:
		return common_apply(&settings->common, id, value);
	}
}

const struct option_table mount_table = {
	.command = "twinfs mount",
	.usage = {"SOURCE... MOUNTPOINT"},
	.summary = "Mounts a read-only view of the verified duplicates in the sources. Files are "
		   "compared in the background. The word 'mount' can be omitted. Unmount with "
		   "'twinfs unmount MOUNTPOINT'.",
	.options = {mount_options, scan_options, walk_options, index_option, message_options},
	.apply = mount_apply,
};

const struct option_table mount_helper_table = {
	.command = "mount.fuse.twinfs",
	.usage = {"SOURCE MOUNTPOINT"},
	.summary = "Mounts a view on behalf of mount(8), for an fstab line of type fuse.twinfs. "
		   "See 'twinfs mount --help' for the options.",
	.options = {helper_options, version_option},
	.apply = mount_apply,
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
		r = options_apply_item(&mount_table, item, settings);
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

int mount_settings_parse(struct mount_settings *settings, const struct option_table *table,
			 int argc, char *argv[])
{
	int operands;
	int r;

	memset(settings, 0, sizeof(*settings));
	common_settings_init(&settings->common);
	settings->daemon.interval_ms = INTERVAL_MS_DEFAULT;
	settings->is_mount_helper = table == &mount_helper_table;
	r = options_parse(table, argc, argv, settings, &operands);
	for (size_t i = 0; r == 0 && i < settings->option_lists.count; i++)
		r = apply_list(settings, table, settings->option_lists.items[i]);
	if (r != 0)
		return r;
	if (argc - operands < 2)
		return usage_check(table, argc == operands ? "no SOURCE and no MOUNTPOINT given"
							   : "no MOUNTPOINT given");
	settings->daemon.mount_point = argv[argc - 1];
	for (; r == 0 && operands < argc - 1; operands++)
		r = text_list_add(&settings->sources, argv[operands], strlen(argv[operands]));
	return r < 0 ? r : text_list_add_all(&settings->sources, settings->more_sources.items);
}

void mount_settings_deinit(struct mount_settings *settings)
{
	common_settings_deinit(&settings->common);
	keep_rules_free(&settings->keep);
	text_list_free(&settings->sources);
	text_list_free(&settings->more_sources);
	text_list_free(&settings->option_lists);
	text_list_free(&settings->option_items);
	text_list_free(&settings->daemon.session.fuse);
}
