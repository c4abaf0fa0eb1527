/* SPDX-License-Identifier: MIT */

/* Opens files for writing, as fast as it can and in random order, until standard input ends. It
 * writes nothing. An open that a lease of a reader holds up fails at first, because of O_NONBLOCK,
 * and is made again without it.
 *
 *   writer LIST        LIST has paths that end with NUL
 *
 * Prints how many opens there were, how many of them were held up, and the longest wait in
 * microseconds. */

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
	ROUND_OPENS = 64 /* between two looks at standard input */
};

struct result {
	unsigned long long opens, held_up, longest_us;
};

static _Noreturn void fail(const char *what)
{
	perror(what);
	_exit(1);
}

static uint64_t now_us(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000U + (uint64_t)time.tv_nsec / 1000U;
}

static bool input_has_ended(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&input, 1, 0) != 0;
}

static void open_once(const char *path, struct result *result)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	result->opens++;
	if (fd < 0 && errno == EWOULDBLOCK) {
		uint64_t begun = now_us(), waited;

		fd = open(path, O_WRONLY | O_CLOEXEC);
		waited = now_us() - begun;
		result->held_up++;
		result->longest_us = waited > result->longest_us ? waited : result->longest_us;
	}
	if (fd < 0)
		fail(path);
	(void)close(fd);
}

/* Reads the list; returns its paths. The caller frees the first path, which has the text of all,
 * and the array. */
static const char **list_load(const char *path, size_t *count)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat info;
	const char **paths;
	char *text;
	size_t size, found = 0;

	if (fd < 0 || fstat(fd, &info) != 0)
		fail(path);
	size = (size_t)info.st_size;
	text = malloc(size + 1);
	paths = calloc(size + 1, sizeof(*paths));
	if (text == NULL || paths == NULL || read(fd, text, size) != (ssize_t)size)
		fail(path);
	text[size] = '\0';
	for (const char *at = text; at < text + size; at += strlen(at) + 1)
		paths[found++] = at;
	*count = found;
	return paths;
}

int main(int argc, char **argv)
{
	struct result result = {0};
	uint64_t random = 1;
	size_t count = 0;
	const char **paths = argc == 2 ? list_load(argv[1], &count) : NULL;

	if (paths == NULL || count == 0) {
		(void)fprintf(stderr, "usage: writer LIST <INPUT\n");
		return 2;
	}
	while (!input_has_ended()) {
		for (int i = 0; i < ROUND_OPENS; i++) {
			/* constants of Knuth's MMIX generator */
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
			open_once(paths[(random >> 33) % count], &result);
		}
	}
	(void)printf("%llu %llu %llu\n", result.opens, result.held_up, result.longest_us);
	free((void *)paths[0]);
	free(paths);
	return 0;
}
