/* SPDX-License-Identifier: MIT */
#include "source/view_mounts.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

void view_mounts_load(struct view_mounts *mounts)
{
	AUTO_FCLOSE FILE *file = fopen("/proc/self/mountinfo", "re");
	AUTO_FREE char *line = NULL;
	unsigned int major_number, minor_number;
	size_t size = 0;

	mounts->count = 0;
	while (file && mounts->count < ARRAY_SIZE(mounts->devices) &&
	       getline(&line, &size, file) > 0) {
		if (strstr(line, " - fuse.twinfs ") &&
		    sscanf(line, "%*u %*u %u:%u", &major_number, &minor_number) == 2)
			mounts->devices[mounts->count++] = makedev(major_number, minor_number);
	}
}

bool view_mounts_have_device(const struct view_mounts *mounts, dev_t device)
{
	for (size_t i = 0; i < mounts->count; i++) {
		if (mounts->devices[i] == device)
			return true;
	}
	return false;
}

bool view_mounts_have(const struct view_mounts *mounts, int fd)
{
	struct stat st;

	return mounts->count > 0 && fstat(fd, &st) == 0 &&
	       view_mounts_have_device(mounts, st.st_dev);
}
