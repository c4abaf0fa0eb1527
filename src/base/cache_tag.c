/* SPDX-License-Identifier: MIT */
#include "base/cache_tag.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/descriptor.h"

bool is_cache_tag(const char *name)
{
	return name[0] == CACHE_TAG[0] && strcmp(name, CACHE_TAG) == 0;
}

bool is_cache_at(int fd)
{
	static const char signature[] = "Signature: 8a477f597d28d172789f06886806bc55";
	AUTO_CLOSE int tag = open_beneath_for_reading(fd, CACHE_TAG, 0, false);
	char begin[sizeof(signature) - 1];

	return tag >= 0 && pread(tag, begin, sizeof(begin), 0) == (ssize_t)sizeof(begin) &&
	       memcmp(begin, signature, sizeof(begin)) == 0;
}

bool is_below_cache(const char *path)
{
	AUTO_FREE char *above = strdup(path);
	char *slash;
	bool is_below = false;

	while (above && !is_below && (slash = strrchr(above, '/'))) {
		AUTO_CLOSE int fd = -1;

		*slash = '\0';
		fd = open(slash == above ? "/" : above, O_PATH | O_DIRECTORY | O_CLOEXEC);
		is_below = fd >= 0 && is_cache_at(fd);
	}
	return is_below;
}
