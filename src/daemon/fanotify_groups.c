/* SPDX-License-Identifier: MIT */
#include "daemon/fanotify_groups.h"

#include <errno.h>

#include "base/filesystem.h"
#include "base/log.h"

static const char *remedy_for(int error)
{
	switch (error) {
	case EPERM:
		return "only root with all capabilities can do this; use --watch=auto";
	case EINVAL:
	case ENOSYS:
		return "this needs Linux 5.17 or later; use --watch=auto";
	case EMFILE:
		return "raise fs.fanotify.max_user_groups, or use --watch=auto";
	default:
		return "use --watch=auto";
	}
}

static int open_group(struct fanotify_group *group, const struct source *source,
		      enum follower_mode mode)
{
	int r;

	if (mode == FOLLOW_AUTO && is_remote_filesystem(source->fd))
		return 0;
	r = fanotify_group_open(group, source->fd);
	if (r < 0 && mode == FOLLOW_AUTO) {
		log_debug("cannot watch %s by fanotify: %s; using inotify only",
			  quote_path(source->path), error_text(r));
		return 0;
	}
	if (r < 0)
		log_error("cannot watch %s by fanotify: %s; %s", quote_path(source->path),
			  error_text(r), remedy_for(-r));
	return r;
}

void fanotify_groups_init(struct fanotify_groups *groups)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups->list); i++)
		groups->list[i].fd = -1;
}

int fanotify_groups_open(struct fanotify_groups *groups, const struct sources *sources,
			 enum follower_mode mode)
{
	int r = 0;

	if (mode != FOLLOW_FANOTIFY && mode != FOLLOW_AUTO)
		return 0;
	for (size_t i = 0; r == 0 && i < sources->count && i < ARRAY_SIZE(groups->list); i++)
		r = open_group(&groups->list[i], &sources->list[i], mode);
	return r;
}

void fanotify_groups_close(struct fanotify_groups *groups)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups->list); i++)
		fanotify_group_close(&groups->list[i]);
}
