/* SPDX-License-Identifier: MIT */
#include "base/inotify_limits.h"

#include "base/inotify_queues.h"
#include "base/numbers.h"

/* Lowest value that a raised limit gets. */
#define RAISED_MIN 65536

static struct inotify_limit read_limit(const char *file, const char *setting)
{
	return (struct inotify_limit){number_read_file(file), setting};
}

static struct inotify_limit lower(struct inotify_limit a, struct inotify_limit b)
{
	return b.max < a.max ? b : a;
}

struct inotify_limit inotify_watches_max(void)
{
	return lower(read_limit("/proc/sys/fs/inotify/max_user_watches",
				"fs.inotify.max_user_watches"),
		     read_limit("/proc/sys/user/max_inotify_watches", "user.max_inotify_watches"));
}

struct inotify_limit inotify_instances_max(void)
{
	return lower(read_limit("/proc/sys/fs/inotify/max_user_instances",
				"fs.inotify.max_user_instances"),
		     read_limit("/proc/sys/user/max_inotify_instances",
				"user.max_inotify_instances"));
}

struct inotify_limit inotify_events_max(void)
{
	return read_limit("/proc/sys/fs/inotify/max_queued_events", "fs.inotify.max_queued_events");
}

/* ---- use ----------------------------------------------------------------------------- */

static void count_queue(void *context)
{
	struct inotify_use *use = context;

	use->instances++;
}

static void count_watch(void *context, const char *line)
{
	struct inotify_use *use = context;

	(void)line;
	use->watches++;
}

void inotify_use_of(uid_t user, struct inotify_use *use)
{
	const struct inotify_visitor visitor = {count_queue, count_watch, use};

	*use = (struct inotify_use){0};
	inotify_queues_visit(&user, &visitor);
}

uint64_t inotify_raised(uint64_t max, uint64_t missing)
{
	uint64_t wanted = (max == UINT64_MAX ? 0 : max) + 2 * missing, number = RAISED_MIN;

	while (number < wanted)
		number *= 2;
	return number;
}
