/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/filesystem.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/numbers.h"
#include "cli/doctor.h"
#include "index/source.h"
#include "scan/index_folder.h"

/* Bytes that a file with its name takes in the index. Measured: 365 with five million files. */
#define BYTES_PER_FILE 400

/* Bytes of an empty index and its first growth. */
#define BYTES_MIN ((uint64_t)1 << 20)

/* Finds the folder of the index. Returns 0 or -errno. */
static int locate(const struct doctor *doctor, char **folder)
{
	CLEANUP_TEXT_LIST struct text_list resolved = {0};
	int r;

	if (doctor->index)
		return index_folder_given(doctor->index, folder);
	if (doctor->sources.count == 0)
		return index_folders_parent(folder);
	r = source_paths_resolve(doctor->sources.items, doctor->sources.count, &resolved);
	if (r == 0)
		r = index_folder_for_sources(resolved.items, folder);
	return r;
}

/* Opens the folder, or its nearest existing parent, and shortens path to it. */
static int open_nearest(char *path)
{
	for (;;) {
		int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		char *slash = strrchr(path, '/');

		if (fd >= 0 || !slash || strcmp(path, "/") == 0)
			return fd;
		slash[slash == path] = '\0';
	}
}

static void examine_rights(struct doctor *doctor, int fd, const char *nearest)
{
	struct stat status;

	if (access_effective(AT_FDCWD, nearest, W_OK | X_OK) != 0) {
		findings_add(&doctor->findings, VERDICT_PROBLEM, "rights",
			     "no permission to write to %s", quote_path(nearest));
		findings_remedy(&doctor->findings, "name a folder of your own: --index=DIR");
		return;
	}
	if (fstat(fd, &status) == 0 && strcmp(nearest, doctor->findings.path) == 0 &&
	    status.st_mode & (S_IRWXG | S_IRWXO)) {
		findings_add(&doctor->findings, VERDICT_NOTE, "rights",
			     "other users can enter the folder and see the names of all files");
		findings_remedy(&doctor->findings, "chmod 700 %s", quote_path(nearest));
		return;
	}
	findings_add(&doctor->findings, VERDICT_OK, "rights", "the folder is writable");
}

static void examine_filesystem(struct doctor *doctor, int fd)
{
	if (filesystem_kind_at(fd) != FILESYSTEM_REMOTE) {
		findings_add(&doctor->findings, VERDICT_OK, "file system", "local");
		return;
	}
	findings_add(&doctor->findings, VERDICT_PROBLEM, "file system",
		     "remote, or served by a program: its locks are not reliable");
	findings_remedy(&doctor->findings, "name a folder on a local disk: --index=DIR");
}

static void examine_room(struct doctor *doctor, int fd)
{
	uint64_t needed = BYTES_MIN + doctor->files * BYTES_PER_FILE, left;
	char first[SIZE_TEXT_MAX], second[SIZE_TEXT_MAX];
	struct statvfs figures;

	if (fstatvfs(fd, &figures) < 0)
		return;
	left = (uint64_t)figures.f_bavail * figures.f_frsize;
	findings_add(&doctor->findings, left < needed ? VERDICT_PROBLEM : VERDICT_OK, "room",
		     "%s free, about %s needed", size_format(first, left),
		     size_format(second, needed));
	if (left < needed)
		findings_remedy(&doctor->findings,
				"free space, or name a folder on a larger disk: --index=DIR");
}

void doctor_examine_index(struct doctor *doctor)
{
	AUTO_FREE char *folder = NULL, *nearest = NULL;
	AUTO_CLOSE int fd = -1;

	if (locate(doctor, &folder) < 0 || !folder) {
		findings_add(&doctor->findings, VERDICT_PROBLEM, "index",
			     "cannot find a folder for the index");
		findings_remedy(&doctor->findings, "set HOME, or name a folder: --index=DIR");
		return;
	}
	nearest = strdup(folder);
	fd = nearest ? open_nearest(nearest) : -1;
	findings_about(&doctor->findings, "index", folder);
	if (fd < 0) {
		findings_add(&doctor->findings, VERDICT_PROBLEM, "rights",
			     "cannot open the folder");
		findings_remedy(&doctor->findings, "name a folder of your own: --index=DIR");
	} else {
		examine_filesystem(doctor, fd);
		examine_rights(doctor, fd, nearest);
		examine_room(doctor, fd);
	}
	findings_about(&doctor->findings, "machine", NULL);
}
