/* SPDX-License-Identifier: MIT */
#include "base/inode_flags.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"

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

/* Bits that a copy must have before its content. */
#define EARLY (FS_NOCOW_FL | FS_COMPR_FL | FS_NOCOMP_FL)

/* Bits that are read and set. The others describe how the file system stores the file. */
#define SETTABLE                                                                                \
	(EARLY | FS_SECRM_FL | FS_UNRM_FL | FS_SYNC_FL | FS_NODUMP_FL | FS_NOATIME_FL |         \
	 FS_JOURNAL_DATA_FL | FS_NOTAIL_FL | FS_DIRSYNC_FL | FS_TOPDIR_FL | FS_PROJINHERIT_FL | \
	 FS_DAX_FL)

/* Opens a file that is possibly open with O_PATH. Other types have no bits, and an open could
 * block. */
static int open_again(int fd)
{
	struct stat status;

	if (fstat(fd, &status) < 0 || (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)))
		return -1;
	return open(fd_path(fd).text, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

bool inode_flag_bits_read(int fd, uint32_t *bits)
{
	AUTO_CLOSE int file = -1;
	int all = 0;
	int r = ioctl(fd, FS_IOC_GETFLAGS, &all);

	*bits = 0;
	if (r < 0 && errno == EBADF) { /* O_PATH */
		file = open_again(fd);
		r = file < 0 ? -1 : ioctl(file, FS_IOC_GETFLAGS, &all);
	}
	if (r < 0)
		return false;
	*bits = (uint32_t)all & SETTABLE;
	return true;
}

static bool set_bits(int fd, uint32_t bits, uint32_t among)
{
	int all = 0, wanted;

	if (ioctl(fd, FS_IOC_GETFLAGS, &all) < 0)
		return bits == 0;
	wanted = (int)(((uint32_t)all & ~among) | (bits & among));
	if (wanted == all)
		return true;
	if (ioctl(fd, FS_IOC_SETFLAGS, &wanted) < 0 || ioctl(fd, FS_IOC_GETFLAGS, &all) < 0)
		return false;
	return ((uint32_t)all & among) == (bits & among);
}

void inode_flag_bits_set_early(int fd, uint32_t bits)
{
	(void)set_bits(fd, bits, EARLY);
}

bool inode_flag_bits_set(int fd, uint32_t bits)
{
	AUTO_CLOSE int file = open_again(fd);

	return file < 0 ? bits == 0 : set_bits(file, bits, SETTABLE);
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
