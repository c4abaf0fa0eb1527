/* SPDX-License-Identifier: MIT */
#include "cli/status_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/json_path.h"
#include "base/log.h"
#include "base/quote.h"

#define STATUS_FILE "/.twinfs/status.json"

#define PATIENCE_NS UINT64_C(2000000000)
#define MILLISECOND_NS 1000000

/* Larger than the sources of any command line. */
#define STATUS_BYTES_MAX (16UL * 1024 * 1024)

/* In the child: leaves it nothing but one descriptor. While a daemon has its request it cannot even
 * be killed, and would keep others waiting at the end of a pipe, or for a lock. */
static void keep_only(int fd)
{
	(void)dup2(fd, STDIN_FILENO);
	if (close_range(STDIN_FILENO + 1, ~0U, 0) == 0)
		return;
	/* before Linux 5.9 */
	(void)close(STDOUT_FILENO);
	(void)close(STDERR_FILENO);
}

/* In the child: sends 0 and what is in the file, or an errno. */
static int send_file(const char *path, int out)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int error = fd < 0 ? errno : 0;
	char block[4096];
	ssize_t length = 0;
	int r;

	r = write_fully(out, &error, sizeof(error));
	while (r == 0 && error == 0 && (length = read(fd, block, sizeof(block))) > 0)
		r = write_fully(out, block, (size_t)length);
	return r < 0 || length < 0;
}

/* Takes in what the child sends until it is done, or the time is over. */
static int receive_until(int in, uint64_t deadline_ns, struct bytes *answer)
{
	for (;;) {
		struct pollfd poll_in = {.fd = in, .events = POLLIN};
		uint64_t now = clock_monotonic_ns();
		char block[4096];
		ssize_t length;
		int r;

		if (now >= deadline_ns)
			return -ETIMEDOUT;
		r = poll(&poll_in, 1, (int)((deadline_ns - now) / MILLISECOND_NS) + 1);
		if (r < 0 && errno != EINTR)
			return -errno;
		if (r <= 0)
			continue;
		length = read(in, block, sizeof(block));
		if (length <= 0)
			return length < 0 ? -errno : 0;
		if (answer->length > STATUS_BYTES_MAX)
			return -EPROTO;
		r = bytes_append(answer, block, (size_t)length);
		if (r < 0)
			return r;
	}
}

/* Ends the child. One that is stuck in the kernel is left to init, not waited for. */
static void end_child(pid_t child, bool done)
{
	if (!done)
		(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, done ? 0 : WNOHANG);
}

static int ask(const char *path, struct bytes *answer)
{
	AUTO_CLOSE int in = -1;
	int ends[2];
	pid_t child;
	int r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	in = ends[0];
	child = fork();
	if (child == 0) {
		keep_only(ends[1]);
		_exit(send_file(path, STDIN_FILENO));
	}
	(void)close(ends[1]);
	if (child < 0)
		return -EAGAIN;
	r = receive_until(in, clock_monotonic_ns() + PATIENCE_NS, answer);
	end_child(child, r == 0);
	return r;
}

int status_file_read(const char *mount_point, json_t **status)
{
	CLEANUP_BYTES struct bytes path = {0};
	CLEANUP_BYTES struct bytes answer = {0};
	int error;
	int r;

	r = bytes_format(&path, "%s" STATUS_FILE, mount_point);
	if (r < 0)
		return r;
	if (bytes_text(&path) == NULL)
		return -ENOMEM;
	r = ask(bytes_text(&path), &answer);
	if (r < 0)
		return r;
	if (answer.length < sizeof(error))
		return -EPROTO;
	memcpy(&error, answer.data, sizeof(error));
	if (error != 0)
		return -error;
	*status = json_loadb((const char *)answer.data + sizeof(error),
			     answer.length - sizeof(error), 0, NULL);
	if (!json_is_object(*status)) {
		json_decref(*status);
		return -EPROTO;
	}
	return 0;
}

void status_file_explain(const char *mount_point, int error)
{
	const char *point = quote_path(mount_point);

	switch (-error) {
	case ENOTCONN:
		log_error("the view at %s is dead, its daemon was killed; mount it again, or "
			  "remove it with 'fusermount3 -u'",
			  point);
		break;
	case EACCES:
		log_error("the view at %s belongs to another user; ask as that user", point);
		break;
	case ETIMEDOUT:
		log_error("the view at %s does not answer; see whether its daemon is stopped",
			  point);
		break;
	case EPROTO:
		log_error("the view at %s does not say how it is in a way that this twinfs knows; "
			  "use the version that mounted it",
			  point);
		break;
	default:
		log_error("cannot ask the view at %s: %s", point, error_text(error));
		break;
	}
}

int status_file_index(const char *mount_point, struct bytes *folder)
{
	json_auto_t *status = NULL;
	int r = status_file_read(mount_point, &status);

	if (r == 0)
		r = json_get_path(status, "index", folder);
	return r == 0 && bytes_text(folder) == NULL ? -ENOMEM : r;
}
