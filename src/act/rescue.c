/* SPDX-License-Identifier: MIT */
#include "act/rescue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/file_copy.h"

bool rescue_has_bytes(const struct intent *intent)
{
	struct stat status;

	if (!intent->saved)
		return false;
	if (lstat(intent->saved, &status) == 0)
		return S_ISREG(status.st_mode);
	return errno != ENOENT || !place_is_mounted(&intent->saved_mount);
}

void rescue_forget_part(int directory, const char *name)
{
	AUTO_FREE char *part = NULL;

	if (asprintf(&part, "%s" FILE_COPY_PART, name) < 0)
		part = NULL;
	else
		(void)unlinkat(directory, part, 0);
}

void rescue_forget(const struct intent *intent)
{
	const char *slash = strrchr(intent->saved, '/');
	AUTO_FREE char *folder =
		slash ? strndup(intent->saved, (size_t)(slash - intent->saved)) : NULL;
	const char *name = folder ? strrchr(folder, '/') : NULL;

	(void)unlink(intent->saved);
	rescue_forget_part(AT_FDCWD, intent->saved);
	if (name && strcmp(name + 1, intent->other) == 0)
		(void)rmdir(folder);
}

/* Handles a rescue folder without the bytes. */
static int miss(const struct intent *intent, const struct place *place)
{
	struct stat status;

	if (!place_is_mounted(&intent->saved_mount))
		return RESCUE_ABSENT;
	if (fstatat(place->directory, place->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? RESCUE_MISSING : -errno;
	rescue_forget(intent);
	return 0;
}

int rescue_restore(const struct intent *intent, const struct place *place, struct bytes *leftover)
{
	AUTO_CLOSE int saved = open(intent->saved, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	int r;

	if (saved < 0)
		return errno == ENOENT || errno == ENOTDIR ? miss(intent, place) : -errno;
	if (fstat(saved, &status) < 0 || !S_ISREG(status.st_mode))
		return -EINVAL;
	r = file_copy_save(saved, place->directory, intent->other);
	if (r == 0)
		r = place_restore(place, intent->other, leftover);
	if (r == 0)
		r = sync_directory(place->directory);
	if (r < 0)
		return r;
	rescue_forget(intent);
	return RESCUE_RESTORED;
}
