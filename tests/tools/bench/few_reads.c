/* SPDX-License-Identifier: MIT */

/* Preloaded into twinfs, lets at most READS_AT_ONCE threads be in a call that reads a file, a
 * directory or its attributes. The others wait, as if there were fewer readers. Pages that a call
 * only requests (readahead, WILLNEED) are not counted. When the program ends, the number of calls
 * is written to the file that READS_REPORT names.
 */

#include <dirent.h>
#include <dlfcn.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	ARGUMENTS = 6 /* of a system call, at most */
};

static sem_t reads;
static atomic_ullong calls;
static ssize_t (*real_pread)(int fd, void *buffer, size_t size, off_t offset);
static ssize_t (*real_getdents)(int fd, void *buffer, size_t size);
static int (*real_statx)(int folder, const char *path, int flags, unsigned int mask,
			 struct statx *info);
static long (*real_syscall)(long number, ...);

static void *next_of(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (function == NULL) {
		(void)fprintf(stderr, "few_reads: no %s\n", name);
		abort();
	}
	return function;
}

__attribute__((constructor)) static void begin(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there are no other threads yet */
	const char *text = getenv("READS_AT_ONCE");
	unsigned long count = text ? strtoul(text, NULL, 10) : 0;

	if (count == 0 || sem_init(&reads, 0, (unsigned int)count) != 0)
		abort();
	*(void **)&real_pread = next_of("pread64");
	*(void **)&real_getdents = next_of("getdents64");
	*(void **)&real_statx = next_of("statx");
	*(void **)&real_syscall = next_of("syscall");
}

__attribute__((destructor)) static void end(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment */
	const char *path = getenv("READS_REPORT");
	FILE *file = path ? fopen(path, "we") : NULL;

	if (file != NULL) {
		(void)fprintf(file, "%llu\n", atomic_load(&calls));
		(void)fclose(file);
	}
}

static void enter(void)
{
	atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
	while (sem_wait(&reads) != 0)
		; /* interrupted by a signal */
}

static void leave(void)
{
	(void)sem_post(&reads);
}

ssize_t pread64(int fd, void *buffer, size_t size, off_t offset)
{
	ssize_t r;

	enter();
	r = real_pread(fd, buffer, size, offset);
	leave();
	return r;
}

ssize_t getdents64(int fd, void *buffer, size_t size)
{
	ssize_t r;

	enter();
	r = real_getdents(fd, buffer, size);
	leave();
	return r;
}

int statx(int folder, const char *path, int flags, unsigned int mask, struct statx *info)
{
	int r;

	enter();
	r = real_statx(folder, path, flags, mask, info);
	leave();
	return r;
}

/* glibc has no function for openat2(2), which reads directories and inodes. */
long syscall(long number, ...)
{
	long words[ARGUMENTS], r;
	va_list list;

	va_start(list, number);
	for (int i = 0; i < ARGUMENTS; i++)
		words[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_openat2)
		enter();
	r = real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
	if (number == SYS_openat2)
		leave();
	return r;
}
