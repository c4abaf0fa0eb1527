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

int mountinfo_line(const char *file, uint64_t mount, char **line)
{
	AUTO_FCLOSE FILE *lines = fopen(file, "re");
	uint64_t number;
	size_t size = 0;

	*line = NULL;
	if (!lines)
		return -errno;
	while (getline(line, &size, lines) > 0) {
		if (sscanf(*line, "%" SCNu64, &number) == 1 && number == mount)
			return 0;
	}
	return feof(lines) ? -ENOENT : -EIO;
}

int mountinfo_parent(const char *file, uint64_t mount, uint64_t *parent)
{
	AUTO_FREE char *line = NULL;
	int r = mountinfo_line(file, mount, &line);

	return r == 0 && sscanf(line, "%*u %" SCNu64, parent) != 1 ? -ENOENT : r;
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
	AUTO_FREE char *line = NULL;
	const char *root, *below;
	char *point;
	int r = mountinfo_line("/proc/self/mountinfo", mount, &line);

	if (r < 0)
		return r;
	root = root_of(line, &point);
	if (!root)
		return -EIO;
	below = path_below(path, point);
	if (asprintf(inner, "%s/%s", root, below ? below : "") >= 0)
		return 0;
	*inner = NULL;
	return -ENOMEM;
}
