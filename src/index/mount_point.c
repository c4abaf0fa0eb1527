/* SPDX-License-Identifier: MIT */
#include "index/mount_point.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/timed_call.h"
#include "index/mount_prerequisites.h"
#include "index/mount_table.h"
#include "index/unmount.h"

/* Maximum number of stacked dead mounts that are detached. */
#define DEAD_MOUNTS_MAX 64

/* Timeout for the answer to statvfs(2). A daemon that takes longer is stopped, but not dead. */
#define ANSWER_TIMEOUT_MS 2000

/* Finds the absolute path without symlinks. The kernel knows the path of a mount point without a
 * request to the daemon, so this works for a dead mount. */
static int resolve(const char *given, int flags, char **absolute)
{
	AUTO_CLOSE int fd = open(given, O_PATH | O_CLOEXEC | flags);
	char path[PATH_MAX];
	ssize_t length;

	if (fd < 0)
		return -errno;
	length = readlink(fd_path(fd).text, path, sizeof(path));
	if (length < 0)
		return -errno;
	if ((size_t)length == sizeof(path))
		return -ENAMETOOLONG;
	*absolute = strndup(path, (size_t)length);
	return *absolute ? 0 : -ENOMEM;
}

static int get_statvfs(void *context)
{
	struct statvfs figures;

	return statvfs(context, &figures) == 0 ? 0 : -errno;
}

dev_t mount_point_device(const char *point)
{
	struct statx status;

	if (statx(AT_FDCWD, point, AT_STATX_DONT_SYNC | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0,
		  &status) < 0)
		return 0;
	return makedev(status.stx_dev_major, status.stx_dev_minor);
}

bool mount_point_is_dead(const char *point)
{
	int r = call_with_timeout(get_statvfs, (void *)(uintptr_t)point, -1, ANSWER_TIMEOUT_MS);

	return r == -ENOTCONN || r == -ECONNABORTED;
}

/* ---- mounted views ------------------------------------------------------------------- */

int mount_points_list(struct text_list *points)
{
	CLEANUP_TABLE struct mount_table table = {0};
	int r = mount_table_read(&table);

	for (size_t i = 0; r == 0 && i < table.count; i++) {
		const struct mount_entry *entry = &table.entries[i];

		if (mount_entry_is_view(entry))
			r = text_list_add(points, entry->point, strlen(entry->point));
	}
	return r;
}

/* Finds the view for an absolute path without symlinks. */
static int point_of_absolute(const char *absolute, char **point)
{
	CLEANUP_TABLE struct mount_table table = {0};
	const struct mount_entry *entry;
	int r = mount_table_read(&table);

	*point = NULL;
	if (r < 0)
		return r;
	entry = mount_table_covering(&table, absolute);
	if (!entry || !mount_entry_is_view(entry))
		return 0;
	*point = strdup(entry->point);
	return *point ? 0 : -ENOMEM;
}

int mount_point_of(const char *path, char **point)
{
	AUTO_FREE char *absolute = NULL;
	int r = resolve(path, 0, &absolute);

	*point = NULL;
	return r < 0 ? r : point_of_absolute(absolute, point);
}

/* ---- preparing a mount point --------------------------------------------------------- */

static int detach(const char *point)
{
	int r = mount_point_unmount(point, true);

	if (r < 0) {
		log_error(
			"cannot detach the mount of a killed twinfs from %s: %s; unmount it first",
			quote_path(point), error_text(r));
		return MOUNT_POINT_UNFIT;
	}
	log_info("detached the mount of a killed twinfs from %s", quote_path(point));
	return 0;
}

/* Returns 0 for an empty directory, -ENOTEMPTY, or another -errno. */
static int check_empty(const char *absolute)
{
	AUTO_CLOSE int fd = open(absolute, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : directory_check_empty(fd, NULL);
}

/* Returns whether fusermount3 would let this user mount here. fusermount3 requires write permission
 * for the directory, and ownership if the directory is sticky. */
static bool may_mount_on(const char *absolute)
{
	struct stat status;

	if (mount_is_privileged())
		return true;
	if (access_effective(AT_FDCWD, absolute, W_OK) < 0 || stat(absolute, &status) < 0)
		return false;
	return !(status.st_mode & S_ISVTX) || status.st_uid == geteuid();
}

/* Judges a directory that is not in a view. */
static void judge_folder(const char *absolute, struct mount_point_judgement *judgement)
{
	int r = check_empty(absolute);

	if (r == -ENOTEMPTY)
		judgement->state = MOUNT_POINT_NOT_EMPTY;
	else if (r < 0)
		judgement->state = MOUNT_POINT_UNREACHABLE;
	judgement->error = r;
	/* the remedy "-o nonempty" would not help such a user */
	if ((r == 0 || r == -ENOTEMPTY) && !may_mount_on(absolute))
		judgement->state = MOUNT_POINT_NOT_YOURS;
}

static void judge_unresolved(int error, struct mount_point_judgement *judgement)
{
	judgement->error = error;
	if (error == -ENOENT)
		judgement->state = MOUNT_POINT_MISSING;
	else if (error == -ENOTDIR)
		judgement->state = MOUNT_POINT_NO_FOLDER;
	else
		judgement->state = MOUNT_POINT_UNREACHABLE;
}

int mount_point_judge(const char *given, struct mount_point_judgement *judgement)
{
	int r;

	*judgement = (struct mount_point_judgement){.state = MOUNT_POINT_FREE};
	r = resolve(given, O_DIRECTORY, &judgement->absolute);
	if (r == -ENOMEM)
		return r;
	if (!judgement->absolute) {
		judge_unresolved(r, judgement);
		return 0;
	}
	r = point_of_absolute(judgement->absolute, &judgement->view);
	if (r < 0)
		return r;
	if (!judgement->view)
		judge_folder(judgement->absolute, judgement);
	else if (strcmp(judgement->view, judgement->absolute) != 0)
		judgement->state = MOUNT_POINT_IN_VIEW;
	else
		judgement->state =
			mount_point_is_dead(judgement->view) ? MOUNT_POINT_DEAD : MOUNT_POINT_LIVE;
	return 0;
}

void mount_point_judgement_free(struct mount_point_judgement *judgement)
{
	free(judgement->absolute);
	free(judgement->view);
	*judgement = (struct mount_point_judgement){.state = MOUNT_POINT_FREE};
}

static const struct {
	const char *cause, *remedy;
} words[] = {
	[MOUNT_POINT_FREE] = {"is free", "mount"},
	[MOUNT_POINT_LIVE] = {"already has a view mounted on it",
			      "unmount it first with 'twinfs unmount'"},
	[MOUNT_POINT_DEAD] = {"has the mount of a killed twinfs on it",
			      "mount again, which replaces it, or run 'twinfs unmount'"},
	[MOUNT_POINT_IN_VIEW] = {"is inside a mounted view", "choose another mount point"},
	[MOUNT_POINT_MISSING] = {"does not exist", "create the folder first"},
	[MOUNT_POINT_NO_FOLDER] = {"is not a folder", "choose an empty folder"},
	[MOUNT_POINT_NOT_EMPTY] =
		{"is not empty",
		 "choose an empty folder, or give -o nonempty to hide its contents"},
	[MOUNT_POINT_NOT_YOURS] = {"is not a folder that you own and may write to",
				   "choose a folder of your own"},
	[MOUNT_POINT_UNREACHABLE] = {"cannot be examined", "choose another mount point"},
};

const char *mount_point_cause(enum mount_point_state state)
{
	return words[state].cause;
}

const char *mount_point_remedy(enum mount_point_state state)
{
	return words[state].remedy;
}

/* Logs in one line why a mount point cannot be used, and the remedy. */
static void explain(const char *given, const struct mount_point_judgement *judgement)
{
	if (judgement->state == MOUNT_POINT_IN_VIEW)
		log_error("cannot mount on %s: it is inside the view mounted on %s; %s",
			  quote_path(given), quote_path(judgement->view),
			  mount_point_remedy(judgement->state));
	else if (judgement->state == MOUNT_POINT_UNREACHABLE)
		log_error("cannot mount on %s: %s", quote_path(given),
			  error_text(judgement->error));
	else
		log_error("cannot mount on %s: it %s; %s", quote_path(given),
			  mount_point_cause(judgement->state),
			  mount_point_remedy(judgement->state));
}

static int judge_or_explain(const char *given, struct mount_point_judgement *judgement)
{
	int r = mount_point_judge(given, judgement);

	if (r < 0)
		log_error("cannot examine the mount point %s: %s", quote_path(given),
			  error_text(r));
	return r;
}

static bool is_fit(enum mount_point_state state, bool nonempty)
{
	return state == MOUNT_POINT_FREE || (state == MOUNT_POINT_NOT_EMPTY && nonempty);
}

int mount_point_prepare(const char *given, bool nonempty, char **absolute)
{
	CLEANUP(mount_point_judgement_free) struct mount_point_judgement judgement = {0};
	int r = judge_or_explain(given, &judgement);

	*absolute = NULL;
	if (r < 0)
		return r;
	if (judgement.state != MOUNT_POINT_LIVE && judgement.state != MOUNT_POINT_DEAD &&
	    !is_fit(judgement.state, nonempty)) {
		explain(given, &judgement);
		return MOUNT_POINT_UNFIT;
	}
	*absolute = TAKE(judgement.absolute);
	return judgement.state == MOUNT_POINT_LIVE ? MOUNT_POINT_SERVED : MOUNT_POINT_READY;
}

int mount_point_clear(const char *absolute, bool nonempty)
{
	CLEANUP(mount_point_judgement_free) struct mount_point_judgement judgement = {0};
	int r = judge_or_explain(absolute, &judgement);

	if (r < 0 || judgement.state != MOUNT_POINT_DEAD)
		return r;
	for (int i = 0; i < DEAD_MOUNTS_MAX && judgement.state == MOUNT_POINT_DEAD; i++) {
		r = detach(judgement.view);
		mount_point_judgement_free(&judgement);
		if (r == 0)
			r = judge_or_explain(absolute, &judgement);
		if (r != 0)
			return r;
	}
	if (is_fit(judgement.state, nonempty))
		return 0;
	explain(absolute, &judgement);
	return MOUNT_POINT_UNFIT;
}
