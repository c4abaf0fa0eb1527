/* SPDX-License-Identifier: MIT */
#include "base/inode_flags.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

static const struct {
	enum inode_flag flag;
	char letter;
	unsigned int reported; /* STATX_ATTR_* */
	int set; /* FS_*_FL */
} known[] = {
	{INODE_APPEND, 'a', STATX_ATTR_APPEND, FS_APPEND_FL},
	{INODE_NODUMP, 'd', STATX_ATTR_NODUMP, FS_NODUMP_FL},
	{INODE_IMMUTABLE, 'i', STATX_ATTR_IMMUTABLE, FS_IMMUTABLE_FL},
};

int inode_flags_read(int fd, uint32_t *flags)
{
	struct statx status;

	*flags = 0;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &status) < 0)
		return -errno;
	if (!S_ISREG(status.stx_mode) && !S_ISDIR(status.stx_mode))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (status.stx_attributes & known[i].reported)
			*flags |= known[i].flag;
	}
	return 0;
}

int inode_flags_add(int fd, uint32_t flags)
{
	int now;

	/* the kernel reads and writes an int, although the number of the call says long */
	if (ioctl(fd, FS_IOC_GETFLAGS, &now) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (flags & known[i].flag)
			now |= known[i].set;
	}
	return ioctl(fd, FS_IOC_SETFLAGS, &now) < 0 ? -errno : 0;
}

const char *inode_flags_text(uint32_t flags, char text[static INODE_FLAGS_TEXT_MAX])
{
	size_t length = 0;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (flags & known[i].flag)
			text[length++] = known[i].letter;
	}
	text[length] = '\0';
	return text;
}

bool inode_flags_parse(const char *text, uint32_t *flags)
{
	*flags = 0;
	for (; *text != '\0'; text++) {
		uint32_t found = 0;

		for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
			if (*text == known[i].letter)
				found = known[i].flag;
		}
		if (found == 0)
			return false;
		*flags |= found;
	}
	return true;
}
