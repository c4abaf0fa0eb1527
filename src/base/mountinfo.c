/* SPDX-License-Identifier: MIT */
#include "base/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

void mountinfo_decode(char *word)
{
	char *out = word;

	while (*word) {
		if (word[0] == '\\' && is_octal(word[1]) && is_octal(word[2]) &&
		    is_octal(word[3])) {
			*out++ = (char)((word[1] - '0') << 6 | (word[2] - '0') << 3 |
					(word[3] - '0'));
			word += 4;
		} else {
			*out++ = *word++;
		}
	}
	*out = '\0';
}

uint64_t mountinfo_of(int fd)
{
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &status) < 0)
		return 0;
	return status.stx_mask & STATX_MNT_ID ? status.stx_mnt_id : 0;
}

int mountinfo_parent(const char *file, uint64_t mount, uint64_t *parent)
{
	AUTO_FCLOSE FILE *lines = fopen(file, "re");
	AUTO_FREE char *line = NULL;
	uint64_t number;
	size_t size = 0;

	if (!lines)
		return -errno;
	while (getline(&line, &size, lines) > 0) {
		if (sscanf(line, "%" SCNu64 " %" SCNu64, &number, parent) == 2 && number == mount)
			return 0;
	}
	return feof(lines) ? -ENOENT : -EIO;
}

/* Splits a line. Returns its root, the fourth word, and sets *point to the mount point, or returns
 * NULL. Changes the line. */
static char *root_of(char *line, char **point)
{
	char *rest = line, *root = NULL;

	for (int field = 0; field < 4; field++)
		root = strsep(&rest, " ");
	*point = strsep(&rest, " ");
	if (!root || !*point)
		return NULL;
	mountinfo_decode(root);
	mountinfo_decode(*point);
	return root;
}

int mountinfo_inner_path(uint64_t mount, const char *path, char **inner)
{
	AUTO_FCLOSE FILE *lines = fopen("/proc/self/mountinfo", "re");
	AUTO_FREE char *line = NULL;
	size_t size = 0;

	if (!lines)
		return -errno;
	while (getline(&line, &size, lines) > 0) {
		const char *root, *below;
		char *point;

		if (strtoull(line, NULL, 10) != mount)
			continue;
		root = root_of(line, &point);
		below = root ? path_below(path, point) : NULL;
		if (!root)
			return -EIO;
		if (asprintf(inner, "%s/%s", root, below ? below : "") >= 0)
			return 0;
		*inner = NULL;
		return -ENOMEM;
	}
	return feof(lines) ? -ENOENT : -EIO;
}
