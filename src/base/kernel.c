/* SPDX-License-Identifier: MIT */
#include "base/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/attributes.h"

/* renameat2(2) has a substitute where an act finds one; a sandbox of a view needs none of them. */
static const struct system_call {
	long number;
	const char *name;
	bool needed; /* no command works without it */
} calls[] = {
	{SYS_statx, "statx", true},
	{SYS_openat2, "openat2", false},
	{SYS_faccessat2, "faccessat2", false},
	{SYS_renameat2, "renameat2", false},
	{SYS_getrandom, "getrandom", false},
	{SYS_copy_file_range, "copy_file_range", false},
};

/* The descriptor -1, the null pointer and the length 0 are invalid or empty for each call. The
 * kernel finds that before it looks for a file: openat2() checks the length first, statx(),
 * renameat2() and faccessat2() copy the path, and copy_file_range() looks for the descriptor. */
bool system_call_is_filtered(long number)
{
	int saved = errno;
	bool is_filtered = syscall(number, -1, NULL, 0, NULL, 0, 0) < 0 && errno == EPERM;

	errno = saved;
	return is_filtered;
}

const char *system_call_remedy(void)
{
	return "use a newer container runtime, or one without a seccomp filter "
	       "(docker run --security-opt seccomp=unconfined)";
}

const char *system_call_needed_and_filtered(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (calls[i].needed && system_call_is_filtered(calls[i].number))
			return calls[i].name;
	}
	return NULL;
}

const char *system_call_next_filtered(size_t *next)
{
	while (*next < ARRAY_SIZE(calls)) {
		const struct system_call *call = &calls[(*next)++];

		if (system_call_is_filtered(call->number))
			return call->name;
	}
	return NULL;
}

int access_effective(int directory, const char *path, int mode)
{
	/* the older call checks the real user; glibc 2.33 and later make only the newer one */
	if (geteuid() == getuid() && getegid() == getgid())
		return (int)syscall(SYS_faccessat, directory, path, mode);
	return faccessat(directory, path, mode, AT_EACCESS);
}

int random_fill(void *bytes, size_t length)
{
	ssize_t got;
	int fd;

	if (getrandom(bytes, length, 0) == (ssize_t)length)
		return 0;
	fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	got = read(fd, bytes, length); /* at most 256 bytes are never read in parts */
	close(fd);
	return got == (ssize_t)length ? 0 : -EIO;
}

#define ID_BYTES 36

const char *boot_id(char text[static BOOT_ID_MAX])
{
	AUTO_CLOSE int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, text, ID_BYTES) : 0;

	text[length > 0 ? length : 0] = '\0';
	return text;
}

uint64_t pid_namespace(void)
{
	struct stat own;

	return stat("/proc/self/ns/pid", &own) < 0 ? 0 : own.st_ino;
}
