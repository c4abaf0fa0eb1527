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

/* Returns the options of the file system, the last word of a line, or NULL. Changes the line. */
static char *options_of(char *line)
{
	char *options;

	line[strcspn(line, "\n")] = '\0';
	options = strstr(line, " - ");
	return options ? strrchr(options, ' ') + 1 : NULL;
}

/* Takes the value of an option from a list with commas. In a value, the kernel escapes commas. */
static int find_option(char *options, const char *option, char **value)
{
	size_t length = strlen(option);
	char *rest = options, *word;

	while ((word = strsep(&rest, ","))) {
		if (strncmp(word, option, length) != 0 || word[length] != '=')
			continue;
		mountinfo_decode(word + length + 1);
		*value = strdup(word + length + 1);
		return *value ? 0 : -ENOMEM;
	}
	return -ENOENT;
}

int mountinfo_option(uint64_t mount, const char *option, char **value)
{
	AUTO_FCLOSE FILE *lines = fopen("/proc/self/mountinfo", "re");
	AUTO_FREE char *line = NULL;
	uint64_t number;
	size_t size = 0;

	if (!lines)
		return -errno;
	while (getline(&line, &size, lines) > 0) {
		char *options;

		if (sscanf(line, "%" SCNu64, &number) != 1 || number != mount)
			continue;
		options = options_of(line);
		return options ? find_option(options, option, value) : -ENOENT;
	}
	return feof(lines) ? -ENOENT : -EIO;
}
