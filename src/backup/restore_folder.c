/* SPDX-License-Identifier: MIT */
#include "backup/restore_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"

/* Highest number of bytes of a state file that are read. The task is shorter. */
#define STATE_START_MAX 256

static void make_name(char name[static RESTORE_FOLDER_SIZE], unsigned int place)
{
	if (place == 0)
		(void)snprintf(name, RESTORE_FOLDER_SIZE, "%s", RESTORE_FOLDER);
	else
		(void)snprintf(name, RESTORE_FOLDER_SIZE, RESTORE_FOLDER "~%u", place + 1);
}

void restore_folder_note(struct restore_folder *folder, const void *path, size_t length)
{
	const char *slash = memchr(path, '/', length);
	char name[RESTORE_FOLDER_SIZE];

	if (slash)
		length = (size_t)(slash - (const char *)path);
	if (length < strlen(RESTORE_FOLDER) ||
	    memcmp(path, RESTORE_FOLDER, strlen(RESTORE_FOLDER)) != 0)
		return;
	for (unsigned int i = 0; i < RESTORE_FOLDERS_MAX; i++) {
		make_name(name, i);
		if (length == strlen(name) && memcmp(path, name, length) == 0)
			folder->taken[i] = true;
	}
}

int restore_folder_choose(const struct restore_folder *folder, int backup,
			  char name[static RESTORE_FOLDER_SIZE])
{
	struct stat status;

	for (unsigned int i = 0; i < RESTORE_FOLDERS_MAX; i++) {
		make_name(name, i);
		if (!folder->taken[i] && fstatat(backup, name, &status, AT_SYMLINK_NOFOLLOW) < 0 &&
		    errno == ENOENT)
			return 0;
	}
	return -EEXIST;
}

static int examine_state(int backup, const char *name, const char *task)
{
	static const char any[] = "twinfs restore ";
	AUTO_CLOSE int folder = open_beneath(backup, name, O_PATH | O_DIRECTORY, false);
	AUTO_CLOSE int fd = folder < 0 ? -1 : open_beneath_for_reading(folder, "state", 0, false);
	char start[STATE_START_MAX + 1];
	struct stat status;
	long got;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return 0;
	got = read_fully_at(fd, start, STATE_START_MAX, 0);
	if (got < 0)
		return 0;
	start[got] = '\0';
	if (strncmp(start, task, strlen(task)) == 0)
		return RESTORE_FOLDER_SAME;
	return strncmp(start, any, strlen(any)) == 0 ? RESTORE_FOLDER_OTHER : 0;
}

int restore_folder_in_backup(int backup, const char *task)
{
	char name[RESTORE_FOLDER_SIZE];
	int found = 0;

	for (unsigned int i = 0; i < RESTORE_FOLDERS_MAX && found != RESTORE_FOLDER_SAME; i++) {
		int r;

		make_name(name, i);
		r = examine_state(backup, name, task);
		if (r > 0)
			found = r;
	}
	return found;
}
