/* SPDX-License-Identifier: MIT */
#include "base/boot.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/descriptor.h"

#define ID_BYTES 36

const char *boot_id(char text[static BOOT_ID_MAX])
{
	AUTO_CLOSE int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	long length = fd >= 0 ? read_fully_at(fd, text, ID_BYTES, 0) : 0;

	text[length > 0 ? length : 0] = '\0';
	return text;
}

uint64_t pid_namespace(void)
{
	struct stat own;

	return stat("/proc/self/ns/pid", &own) < 0 ? 0 : own.st_ino;
}
