/* SPDX-License-Identifier: MIT */

/* Runs a command and writes its costs as one line of JSON:
 *
 *   measure REPORT LIMIT COMMAND...
 *
 * LIMIT is in seconds; a command that takes longer is killed. max_rss is the value of the kernel,
 * in bytes. max_anon is the largest RssAnon of the first process, in bytes, sampled every
 * SAMPLE_MS. This is a separate program because a new process inherits max_rss from its parent. The
 * max_rss of an interpreter would hide smaller values. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/attributes.h"

/* One sample takes 20 microseconds, so this is 0.4 % of one processor. */
enum {
	SAMPLE_MS = 5
};

static double now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static pid_t start(char **words)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)execvp(words[0], words);
	perror(words[0]);
	_exit(127);
}

/* RssAnon in bytes; 0 if the process has ended. */
static uint64_t sample(int status)
{
	char text[4096];
	ssize_t got = pread(status, text, sizeof(text) - 1, 0);
	const char *line;

	if (got <= 0)
		return 0;
	text[got] = '\0';
	line = strstr(text, "RssAnon:");
	return line ? strtoull(line + strlen("RssAnon:"), NULL, 10) * 1024 : 0;
}

/* Waits until the command has ended and returns the largest sample. Sets *killed if it took too
 * long. */
static uint64_t watch(pid_t pid, double end, bool *killed)
{
	AUTO_CLOSE int handle = pidfd_open(pid, 0);
	AUTO_CLOSE int status = -1;
	struct pollfd wait = {.fd = handle, .events = POLLIN};
	char path[64];
	uint64_t most = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	status = open(path, O_RDONLY | O_CLOEXEC);
	while (handle >= 0 && poll(&wait, 1, SAMPLE_MS) == 0) {
		uint64_t bytes = sample(status);

		most = bytes > most ? bytes : most;
		if (!*killed && now() > end) {
			*killed = true;
			(void)kill(pid, SIGKILL);
		}
	}
	return most;
}

static int report(const char *path, const char *line)
{
	FILE *file = fopen(path, "we");
	int r = 0;

	if (file == NULL || fputs(line, file) == EOF)
		r = -1;
	if (file != NULL && fclose(file) != 0)
		r = -1;
	if (r != 0)
		perror(path);
	return r;
}

int main(int argc, char **argv)
{
	struct rusage used;
	char line[512];
	double begun, wall;
	uint64_t most;
	bool killed = false;
	int status = 0;
	pid_t pid;

	if (argc < 4) {
		(void)fprintf(stderr, "usage: measure REPORT LIMIT COMMAND...\n");
		return 2;
	}
	begun = now();
	pid = start(argv + 3);
	if (pid < 0) {
		perror("measure: fork");
		return 1;
	}
	most = watch(pid, begun + strtod(argv[2], NULL), &killed);
	while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR)
		;
	wall = now() - begun;
	(void)snprintf(line, sizeof(line),
		       "{\"status\": %d, \"killed\": %s, \"wall\": %.6f, \"user\": %.6f, "
		       "\"system\": %.6f, \"max_rss\": %" PRIu64 ", \"max_anon\": %" PRIu64 "}\n",
		       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
		       killed ? "true" : "false", wall, seconds(used.ru_utime),
		       seconds(used.ru_stime), (uint64_t)used.ru_maxrss * 1024, most);
	return report(argv[1], line) == 0 ? 0 : 1;
}
