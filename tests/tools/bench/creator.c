/* SPDX-License-Identifier: MIT */

/* Creates small files with different contents until standard input ends, FOLDER_FILES in each
 * folder:
 *
 *   creator FOLDER RATE KEPT <INPUT
 *
 * RATE is in files a second; 0: as fast as it can. A late writer catches up. FOLDER must exist.
 * Before a folder is begun, the oldest one is removed if there are KEPT of them. Prints how many
 * files were created, and the seconds and the seconds of processor time that this took. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/attributes.h"

enum {
	FOLDER_FILES = 1000,
	ROUND_FILES = 10, /* between two looks at standard input */
	BYTES = 512,
	SECOND_NS = 1000000000,
};

struct writer {
	const char *path;
	int root;
	uint64_t rate; /* files a second; 0: no limit */
	uint64_t kept; /* folders */
};

static _Noreturn void fail(const char *what)
{
	perror(what);
	_exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec time;

	(void)clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_nsec;
}

static bool input_has_ended(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&input, 1, 0) != 0;
}

static void wait_until(uint64_t time_ns)
{
	const struct timespec time = {.tv_sec = (time_t)(time_ns / SECOND_NS),
				      .tv_nsec = (long)(time_ns % SECOND_NS)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

static int open_folder(int root, uint64_t number)
{
	char name[24];
	int fd;

	(void)snprintf(name, sizeof(name), "%06llu", (unsigned long long)number);
	fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fail(name);
	return fd;
}

static int make_folder(int root, uint64_t number)
{
	char name[24];

	(void)snprintf(name, sizeof(name), "%06llu", (unsigned long long)number);
	if (mkdirat(root, name, 0755) != 0)
		fail(name);
	return open_folder(root, number);
}

static void remove_folder(int root, uint64_t number)
{
	AUTO_CLOSE int folder = open_folder(root, number);
	char name[24];

	for (unsigned int i = 0; i < FOLDER_FILES; i++) {
		(void)snprintf(name, sizeof(name), "%03u", i);
		if (unlinkat(folder, name, 0) != 0)
			fail(name);
	}
	(void)snprintf(name, sizeof(name), "%06llu", (unsigned long long)number);
	if (unlinkat(root, name, AT_REMOVEDIR) != 0)
		fail(name);
}

/* Creates a file whose size and first bytes are made of its number. */
static void create(int folder, const char *root, uint64_t number)
{
	char text[BYTES] = {0}, name[24];
	size_t size = BYTES / 2 + number % (BYTES / 2);
	AUTO_CLOSE int fd = -1;

	(void)snprintf(text, sizeof(text), "%llu %s", (unsigned long long)number, root);
	(void)snprintf(name, sizeof(name), "%03u", (unsigned)(number % FOLDER_FILES));
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		fail(name);
}

/* Begins a folder and returns it. */
static int next_folder(const struct writer *writer, uint64_t number, int last)
{
	if (last >= 0)
		(void)close(last);
	if (number >= writer->kept)
		remove_folder(writer->root, number - writer->kept);
	return make_folder(writer->root, number);
}

/* Returns the number of files. */
static uint64_t create_all(const struct writer *writer)
{
	const uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t number = 0;
	int folder = -1;

	while (!input_has_ended()) {
		for (int i = 0; i < ROUND_FILES; i++, number++) {
			if (number % FOLDER_FILES == 0)
				folder = next_folder(writer, number / FOLDER_FILES, folder);
			create(folder, writer->path, number);
		}
		if (writer->rate > 0)
			wait_until(begun_ns + number * SECOND_NS / writer->rate);
	}
	if (folder >= 0)
		(void)close(folder);
	return number;
}

int main(int argc, char **argv)
{
	struct writer writer = {.root = -1};
	uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC), count;

	if (argc == 4) {
		writer.path = argv[1];
		writer.rate = strtoull(argv[2], NULL, 10);
		writer.kept = strtoull(argv[3], NULL, 10);
	}
	if (writer.kept == 0) {
		(void)fprintf(stderr, "usage: creator FOLDER RATE KEPT <INPUT\n");
		return 2;
	}
	writer.root = open(writer.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (writer.root < 0)
		fail(writer.path);
	count = create_all(&writer);
	(void)close(writer.root);
	(void)printf("%llu %.3f %.3f\n", (unsigned long long)count,
		     (double)(clock_ns(CLOCK_MONOTONIC) - begun_ns) / SECOND_NS,
		     (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / SECOND_NS);
	return 0;
}
