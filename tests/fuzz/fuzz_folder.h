/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_FUZZ_FOLDER_H
#define TESTS_FUZZ_FUZZ_FOLDER_H

/* A folder with one file, for targets that read a folder. The folder is removed at the end of the
 * process, with all files in it. One thread. */

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "fuzz.h"

static char fuzz_folder[64];
static char fuzz_path[128]; /* of the file; empty: there is no folder yet */

static inline void fuzz_folder_remove(void)
{
	DIR *folder = opendir(fuzz_folder);
	const struct dirent *entry;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream belongs to this thread */
	while (folder && (entry = readdir(folder)))
		(void)unlinkat(dirfd(folder), entry->d_name, 0); /* fails for . and .. */
	if (folder)
		(void)closedir(folder);
	(void)rmdir(fuzz_folder);
}

/* Makes the folder, unless it exists, in memory if possible: a sync of tmpfs takes no time. */
static inline void fuzz_folder_make(const char *name)
{
	if (fuzz_path[0] != '\0')
		return;
	(void)snprintf(fuzz_folder, sizeof(fuzz_folder), "%s/twinfs-fuzz-XXXXXX",
		       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	REQUIRE(mkdtemp(fuzz_folder) != NULL);
	(void)snprintf(fuzz_path, sizeof(fuzz_path), "%s/%s", fuzz_folder, name);
	REQUIRE(atexit(fuzz_folder_remove) == 0);
}

/* Replaces the content of the file. */
static inline void fuzz_folder_put(const void *data, size_t length)
{
	AUTO_CLOSE int fd = open(fuzz_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	REQUIRE(fd >= 0 && write_fully(fd, data, length) == 0);
}

#endif
