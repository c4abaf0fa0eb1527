/* SPDX-License-Identifier: MIT */
#include "base/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
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

/* Decodes the next word of a line. Returns "" at the end. */
static const char *next_word(char **rest)
{
	char *word = strsep(rest, " ");

	if (!word)
		return "";
	mountinfo_decode(word);
	return word;
}

bool mountinfo_split(struct mountinfo *mount, char *line)
{
	const char *optional;

	line[strcspn(line, "\n")] = '\0';
	mount->number = strtoull(next_word(&line), NULL, 10);
	mount->parent = strtoull(next_word(&line), NULL, 10);
	mount->device = next_word(&line);
	mount->root = next_word(&line);
	mount->point = next_word(&line);
	do
		optional = strsep(&line, " ");
	while (optional && strcmp(optional, "-") != 0);
	mount->type = next_word(&line);
	mount->source = next_word(&line);
	mount->options = line ? strsep(&line, " ") : "";
	return mount->point[0] == '/' && *mount->type;
}

int mountinfo_open(struct mountinfo *mount, const char *file)
{
	*mount = (struct mountinfo){.file = fopen(file, "re")};
	return mount->file ? 0 : -errno;
}

void mountinfo_close(struct mountinfo *mount)
{
	cleanup_fclose(&mount->file);
	free(mount->line);
}

int mountinfo_next(struct mountinfo *mount)
{
	while (getline(&mount->line, &mount->size, mount->file) > 0) {
		if (mountinfo_split(mount, mount->line))
			return 1;
	}
	if (feof(mount->file))
		return 0;
	return errno == ENOMEM ? -ENOMEM : -EIO;
}

int mountinfo_find(struct mountinfo *mount, const char *file, uint64_t number)
{
	int r = mountinfo_open(mount, file);

	if (r < 0)
		return r;
	while ((r = mountinfo_next(mount)) > 0) {
		if (mount->number == number)
			return 0;
	}
	return r == 0 ? -ENOENT : r;
}

int mountinfo_parent(const char *file, uint64_t mount, uint64_t *parent)
{
	CLEANUP_MOUNTINFO struct mountinfo found;
	int r = mountinfo_find(&found, file, mount);

	if (r == 0)
		*parent = found.parent;
	return r;
}

int mountinfo_inner_path(uint64_t mount, const char *path, char **inner)
{
	CLEANUP_MOUNTINFO struct mountinfo found;
	const char *below;
	int r = mountinfo_find(&found, "/proc/self/mountinfo", mount);

	*inner = NULL;
	if (r < 0)
		return r;
	below = path_below(path, found.point);
	if (asprintf(inner, "%s/%s", found.root, below ? below : "") >= 0)
		return 0;
	*inner = NULL;
	return -ENOMEM;
}
