/* SPDX-License-Identifier: MIT */

/* Preloaded into twinfs, makes one of its allocations fail. Allocations are identified by their
 * call stack, as the order of threads differs. The number of a stack is made of the offsets of its
 * frames in their files, so that it is the same in each run.
 *
 *	MEMORY_REPORT=FILE	gets a line for each stack that allocates: its number and the file
 *				that calls the allocator (empty: the program)
 *	MEMORY_FAILS=NUMBER	instead: the first allocation by that stack fails, and the file gets
 *				the stack
 *
 * Needs glibc 2.35. Allocations in functions of glibc fail, too, because glibc calls these
 * allocators by the same names.
 */

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAMES_MAX 32
#define STACKS_MAX (1 << 15)
#define REPORT_BYTES ((size_t)1 << 20) /* length of the file; zeros follow the text */

/* The functions of glibc that the functions below override. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static bool is_active;
/* The mapped report file. It is mapped at the start, because the process later closes unknown
 * descriptors and can be unable to open the file. */
static char *report;
static _Atomic size_t *reported; /* bytes, shared with forked processes */
static uint64_t fails; /* 0: none */
static atomic_bool has_failed;
static _Atomic uint64_t seen[STACKS_MAX];
/* Set during a backtrace, which can itself allocate memory. */
static _Thread_local bool in_backtrace __attribute__((tls_model("initial-exec")));

static uint64_t number_of(void *const *frames, int count)
{
	uint64_t number = UINT64_C(0xcbf29ce484222325);

	for (int i = 0; i < count; i++) {
		struct dl_find_object found;
		uint64_t offset = 0;

		if (_dl_find_object(frames[i], &found) == 0)
			offset = (uint64_t)((char *)frames[i] - (char *)found.dlfo_map_start);
		number = (number ^ offset) * UINT64_C(0x100000001b3);
		number ^= number >> 29;
	}
	return number | 1;
}

/* Whether the stack is new. */
static bool is_new(uint64_t number)
{
	for (size_t i = 0; i < STACKS_MAX; i++) {
		uint64_t there = 0;

		if (atomic_compare_exchange_strong(&seen[(number + i) % STACKS_MAX], &there,
						   number))
			return true;
		if (there == number)
			return false;
	}
	return false;
}

static void write_line(const char *before, uint64_t number, const char *behind)
{
	char line[256];
	int length = snprintf(line, sizeof(line), "%s%016" PRIx64 "%s\n", before, number, behind);
	size_t at;

	if (length < 0 || (size_t)length >= sizeof(line))
		abort();
	at = atomic_fetch_add(reported, (size_t)length);
	if (at + (size_t)length > REPORT_BYTES)
		abort();
	memcpy(report + at, line, (size_t)length);
}

/* The file of the innermost function outside of this library. */
static const char *allocating_file(void *const *frames, int count)
{
	struct dl_find_object ours, found;

	if (_dl_find_object((void *)&has_failed, &ours) != 0)
		return "";
	for (int i = 0; i < count; i++) {
		if (_dl_find_object(frames[i], &found) == 0 &&
		    found.dlfo_link_map != ours.dlfo_link_map)
			return found.dlfo_link_map->l_name;
	}
	return "";
}

static void write_allocation(uint64_t number, const char *who)
{
	char behind[192];

	(void)snprintf(behind, sizeof(behind), " %s", who);
	write_line("", number, behind);
}

/* Writes the stack for addr2line. */
static void write_stack(void *const *frames, int count)
{
	for (int i = 0; i < count; i++) {
		struct dl_find_object found;

		if (_dl_find_object(frames[i], &found) == 0)
			write_line(found.dlfo_link_map->l_name,
				   (uint64_t)((char *)frames[i] - (char *)found.dlfo_map_start),
				   "");
	}
}

static bool fails_now(void)
{
	void *frames[FRAMES_MAX];
	uint64_t number;
	bool result = false;
	int saved = errno, count;

	if (!is_active || in_backtrace)
		return false;
	in_backtrace = true;
	count = backtrace(frames, FRAMES_MAX);
	number = number_of(frames, count);
	if (fails == 0 && is_new(number))
		write_allocation(number, allocating_file(frames, count));
	if (number == fails && !atomic_exchange(&has_failed, true)) {
		write_stack(frames, count);
		result = true;
	}
	in_backtrace = false;
	errno = result ? ENOMEM : saved;
	return result;
}

void *malloc(size_t bytes)
{
	return fails_now() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return fails_now() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes)
{
	return fails_now() ? NULL : __libc_realloc(block, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return fails_now() ? NULL : __libc_memalign(alignment, bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
	return fails_now() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
	void *made = fails_now() ? NULL : __libc_memalign(alignment, bytes);

	if (!made)
		return ENOMEM;
	*block = made;
	return 0;
}

/* Programs that twinfs starts are not changed. */
__attribute__((constructor)) static void begin(void)
{
	const char *number = getenv("MEMORY_FAILS");
	const char *path = getenv("MEMORY_REPORT");
	void *frames[1];
	int fd;

	if (!path || strcmp(program_invocation_short_name, "twinfs") != 0)
		return;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || ftruncate(fd, REPORT_BYTES) < 0)
		abort();
	report = mmap(NULL, REPORT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	reported = mmap(NULL, sizeof(*reported), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (report == MAP_FAILED || (void *)reported == MAP_FAILED || close(fd) < 0)
		abort();
	fails = number ? strtoull(number, NULL, 16) : 0;
	(void)backtrace(frames, 1); /* loads its libraries */
	is_active = true;
}
