/* SPDX-License-Identifier: MIT */
#include "cli/mount_settings.h"

#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/quote.h"
#include "cli/common_options.h"
#include "mountpoint/options.h"

enum {
	OPT_FOREGROUND = OPTION_ID_OWN,
	OPT_DEBUG,
	OPT_SINGLE_THREADED,
	OPT_WAIT,
	OPT_WATCH,
	OPT_INTERVAL,
	OPT_RESCAN_INTERVAL,
	OPT_OPTIONS,
	OPT_FAKE,
	OPT_SLOPPY,
	OPT_IGNORED,
};

/* Changes that the kernel does not tell are found so soon. */
#define INTERVAL_MS_DEFAULT 60000

static const struct option_spec mount_options[] = {
	{.heading = "How changes of the sources are seen"},
	{
		.name = "watch",
		.argument = "auto|inotify|poll|none",
		.help = "auto (inotify where it sees everything, else poll), inotify, poll (walk "
			"the sources at intervals) or none (only when somebody asks by "
			".twinfs/sync or SIGHUP)",
		.id = OPT_WATCH,
	},
	{
		.name = "interval",
		.argument = "TIME",
		.help = "between two walks of what is polled: seconds, or with s, m, h, d "
			"(default: 60)",
		.id = OPT_INTERVAL,
		.expects = DURATION_EXPECTED,
	},
	{
		.name = "rescan-interval",
		.argument = "TIME",
		.help = "walk everything so often, to find what the kernel does not tell: see "
			"CAVEATS in twinfs(5) (default: 0, never)",
		.id = OPT_RESCAN_INTERVAL,
		.expects = DURATION_EXPECTED,
	},
	{.heading = "How it is mounted"},
	{
		.name = "foreground",
		.letter = 'f',
		.help = "stay in front, until unmounted or interrupted",
		.id = OPT_FOREGROUND,
	},
	{
		.name = "debug",
		.letter = 'd',
		.help = "print every request of the kernel on stderr; stays in front",
		.id = OPT_DEBUG,
	},
	{
		.name = "single-thread",
		.letter = 's',
		.help = "answer one request at a time",
		.id = OPT_SINGLE_THREADED,
	},
	{
		.name = "wait",
		.help = "return only when all files are compared, not when the view answers",
		.id = OPT_WAIT,
	},
	{
		.name = "options",
		.letter = 'o',
		.argument = "OPTION[,OPTION]",
		.help = "options as in fstab: NAME or NAME=VALUE for every long option above and "
			"below; allow_other, auto_unmount, passthrough, io_uring, nonempty, "
			"trusted_xattrs and others of FUSE; \\, is a comma in a value",
		.id = OPT_OPTIONS,
	},
	{0},
};

static const struct option_spec helper_options[] = {
	{.heading = "How it is mounted"},
	{
		.name = "options",
		.letter = 'o',
		.argument = "OPTION[,OPTION]",
		.help = "options as in fstab: NAME or NAME=VALUE for every long option of 'twinfs "
			"mount', and those of FUSE",
		.id = OPT_OPTIONS,
	},
	{
		.name = "fake",
		.letter = 'f',
		.help = "check everything, mount nothing",
		.id = OPT_FAKE,
	},
	{
		.name = "sloppy",
		.letter = 's',
		.help = "pass over options that are not known",
		.id = OPT_SLOPPY,
	},
	{.heading = "Taken, and without effect"},
	{.name = "no-mtab", .letter = 'n', .help = "there is no mtab to write", .id = OPT_IGNORED},
	{.name = "verbose", .letter = 'v', .help = "errors always say all", .id = OPT_IGNORED},
	{
		.name = "read-only",
		.letter = 'r',
		.help = "a view is never written to",
		.id = OPT_IGNORED,
	},
	{.name = "read-write", .letter = 'w', .help = "as above", .id = OPT_IGNORED},
	{
		.name = "types",
		.letter = 't',
		.argument = "TYPE",
		.help = "the type by which mount(8) found us",
		.id = OPT_IGNORED,
	},
	{
		.name = "namespace",
		.letter = 'N',
		.argument = "NAMESPACE",
		.help = "mount(8) has entered it already",
		.id = OPT_IGNORED,
	},
	{0},
};

static int parse_watch(const char *word, enum follower_mode *mode)
{
	static const char *const words[] = {
		[FOLLOW_AUTO] = "auto",
		[FOLLOW_INOTIFY] = "inotify",
		[FOLLOW_POLL] = "poll",
		[FOLLOW_NONE] = "none",
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(word, words[i]) == 0) {
			*mode = (enum follower_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* Polling without a pause would be all that the machine does. */
static int parse_interval(const char *text, uint64_t *interval_ms)
{
	int r = duration_parse(text, interval_ms);

	return r == 0 && *interval_ms == 0 ? -EINVAL : r;
}

static int mount_apply(void *context, int id, const char *value)
{
	struct mount_settings *settings = context;

	switch (id) {
	case OPT_DEBUG:
		settings->daemon.debug = true;
		settings->daemon.foreground = true;
		return 0;
	case OPT_FOREGROUND:
		settings->daemon.foreground = true;
		return 0;
	case OPT_SINGLE_THREADED:
		settings->daemon.single_threaded = true;
		return 0;
	case OPT_WAIT:
		settings->daemon.wait = true;
		return 0;
	case OPT_WATCH:
		return parse_watch(value, &settings->daemon.watch);
	case OPT_INTERVAL:
		return parse_interval(value, &settings->daemon.interval_ms);
	case OPT_RESCAN_INTERVAL:
		return duration_parse(value, &settings->daemon.rescan_ms);
	case OPT_OPTIONS:
		return text_list_add(&settings->option_lists, value, strlen(value));
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
	.summary = "Mounts a read-only view of the verified duplicates in the sources, which are "
		   "compared in the background. It may be called without the word 'mount'. "
		   "Unmount with 'fusermount3 -u MOUNTPOINT', or as root with umount.",
	.options = {mount_options, scan_options, index_option, talk_options},
	.apply = mount_apply,
};

const struct option_table mount_helper_table = {
	.command = "mount.fuse.twinfs",
	.usage = {"SOURCE MOUNTPOINT"},
	.summary = "Mounts a view when mount(8) asks for it: for a line of type fuse.twinfs in "
		   "fstab. See 'twinfs mount --help' for the options.",
	.options = {helper_options, version_option},
	.apply = mount_apply,
};

/* Takes one item of -o, with its backslashes as they were for FUSE and without them for us. */
static int apply_item(struct mount_settings *settings, const struct option_table *table,
		      const char *raw, const char *item)
{
	const char *reason = NULL;
	int r = OPTIONS_NOT_MINE;

	/* in "-o options=..." there would be no end of it */
	if (strncmp(item, "options=", strlen("options=")) != 0)
		r = options_apply_item(&mount_table, item, settings);
	if (r != OPTIONS_NOT_MINE)
		return r;
	switch (mount_option_classify(item, &reason)) {
	case MOUNT_OPTION_FUSE:
		return text_list_add(&settings->daemon.fuse_options, raw, strlen(raw));
	case MOUNT_OPTION_NONEMPTY:
		settings->daemon.nonempty = true;
		return 0;
	case MOUNT_OPTION_PASSTHROUGH:
		settings->daemon.passthrough = true;
		return 0;
	case MOUNT_OPTION_TRUSTED_XATTRS:
		settings->daemon.trusted_xattrs = true;
		return 0;
	case MOUNT_OPTION_IO_URING:
		settings->daemon.io_uring = true;
		return 0;
	case MOUNT_OPTION_SHARED:
		settings->daemon.shared = true;
		return 0;
	case MOUNT_OPTION_AUTO_UNMOUNT:
		settings->daemon.auto_unmount = true;
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

/* Takes the backslashes off, in place. */
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
	settings->helping = table == &mount_helper_table;
	r = options_parse(table, argc, argv, settings, &operands);
	for (size_t i = 0; r == 0 && i < settings->option_lists.count; i++)
		r = apply_list(settings, table, settings->option_lists.items[i]);
	if (r != 0)
		return r;
	if (argc - operands < 2) {
		options_complain(table, argc == operands ? "no SOURCE and no MOUNTPOINT given"
							 : "no MOUNTPOINT given");
		return -EINVAL;
	}
	settings->sources = argv + operands;
	settings->source_count = (size_t)(argc - operands - 1);
	settings->daemon.mount_point = argv[argc - 1];
	return 0;
}

void mount_settings_deinit(struct mount_settings *settings)
{
	common_settings_deinit(&settings->common);
	text_list_free(&settings->option_lists);
	text_list_free(&settings->option_items);
	text_list_free(&settings->daemon.fuse_options);
}
