/* SPDX-License-Identifier: MIT */
#include "mount/mounter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/inotify_queues.h"
#include "base/stop.h"
#include "mount/fuse_options.h"
#include "mount/mounter_order.h"
#include "mount/session.h"
#include "mount/watcher_processes.h"
#include "mountpoint/point.h"

/* How often one who waits for an answer looks whether it shall stop. */
#define STOP_INTERVAL_MS 20

/* So long it may take to end: to unmount asks nobody who could keep it waiting. */
#define END_MS 5000

/* The only descriptor above stderr that the process keeps. */
#define CACHED_SOCKET (STDERR_FILENO + 1)

struct mounter {
	int socket;
	pid_t process;
	enum session_access access;
};

/* A result and, where there is one, a descriptor in a message. */
struct answer {
	struct msghdr head;
	struct iovec data;
	int result;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
};

static void answer_prepare(struct answer *answer)
{
	memset(answer, 0, sizeof(*answer));
	answer->data = (struct iovec){&answer->result, sizeof(answer->result)};
	answer->head.msg_iov = &answer->data;
	answer->head.msg_iovlen = 1;
	answer->head.msg_control = answer->control;
	answer->head.msg_controllen = sizeof(answer->control);
}

/* ---- the process --------------------------------------------------------------------- */

/* fd	-1: there is none */
static int send_answer(int result, int fd)
{
	struct answer answer;
	struct cmsghdr *control;

	answer_prepare(&answer);
	answer.result = result;
	control = CMSG_FIRSTHDR(&answer.head);
	if (fd < 0 || !control) {
		answer.head.msg_control = NULL;
		answer.head.msg_controllen = 0;
	} else {
		control->cmsg_level = SOL_SOCKET;
		control->cmsg_type = SCM_RIGHTS;
		control->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(control), &fd, sizeof(fd));
	}
	return sendmsg(CACHED_SOCKET, &answer.head, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Who started us sees no more of us; and who still had the view open here would keep it from
 * ending. */
static void let_go(struct fuse_session *fuse)
{
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY);

	if (null < 0)
		_exit(EXIT_FAILURE);
	(void)dup3(null, fuse_session_fd(fuse), O_CLOEXEC);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
}

/* Of the file system that one sees there; 0: nobody can tell. Asks the file system nothing. */
static dev_t device_at(const char *point)
{
	struct statx status;

	if (statx(AT_FDCWD, point, AT_STATX_DONT_SYNC | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0,
		  &status) < 0)
		return 0;
	return makedev(status.stx_dev_major, status.stx_dev_minor);
}

/* While a view is in use that was unmounted lazily, and even after that, something else may be
 * mounted where it was, which is not ours to unmount.
 *
 * device	of the view, which nothing else has as long as it lives */
static void unmount_view(struct fuse_session *fuse, const char *point, dev_t device)
{
	if (device_at(point) == device)
		fuse_session_unmount(fuse);
}

static int mount_view(struct fuse_session **fuse, const struct session_settings *settings,
		      enum session_access access)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	int r = fuse_options_make(&args, settings, access, false);

	if (r == 0) {
		*fuse = fuse_session_new(&args, &session_callbacks, sizeof(session_callbacks),
					 NULL);
		r = *fuse ? 0 : -EINVAL;
	}
	fuse_opt_free_args(&args);
	if (r == 0)
		r = mount_point_clear(settings->mount_point, settings->nonempty);
	if (r > 0)
		r = -EBUSY;
	errno = 0;
	if (r == 0 && fuse_session_mount(*fuse, settings->mount_point) != 0)
		r = errno ? -errno : -EIO;
	/* libfuse 3.14 says that it mounted, and takes 0 for the device, where it gets no memory */
	if (r == 0 && fuse_session_fd(*fuse) <= STDERR_FILENO)
		r = -ENOMEM;
	return r;
}

/* Gives the device of what is mounted then. */
static dev_t answer_mount(struct fuse_session **fuse, const struct session_settings *settings,
			  enum session_access access)
{
	int r = mount_view(fuse, settings, access);
	dev_t device = r == 0 ? device_at(settings->mount_point) : 0;

	if (r == 0)
		r = send_answer(0, fuse_session_fd(*fuse));
	else
		(void)send_answer(r, -1);
	if (r < 0)
		_exit(EXIT_FAILURE);
	let_go(*fuse);
	return device;
}

/* The word of what is said; '\0': there is nobody any more, or somebody who cannot speak. */
static char hear(struct mounter_order *order)
{
	ssize_t length;

	do
		length = recv(CACHED_SOCKET, order, sizeof(*order), MSG_TRUNC);
	/* the other is gone without having heard our answer: its last word is there still */
	while (length < 0 && (errno == EINTR || errno == ECONNRESET));
	return length > 0 && mounter_order_is_whole(order, (size_t)length) ? order->word : '\0';
}

/* After the number of them. */
static void answer_watched(const struct mounter_watchers *watchers,
			   struct watcher_processes *watcher_processes, dev_t device)
{
	static uint64_t answer[1 + MOUNTER_WATCHED_MAX];
	struct inotify_watched watched = {
		.device = device,
		.inodes = answer + 1,
		.capacity = MOUNTER_WATCHED_MAX,
	};

	for (size_t i = 0; i < watchers->count; i++)
		watcher_processes_add(watcher_processes, watchers->threads[i]);
	if (watchers->anybody) {
		inotify_watched_by_all(&watched);
	} else {
		for (size_t i = 0; i < WATCHER_PROCESSES_MAX && watcher_processes->processes[i];
		     i++)
			inotify_watched_by(watcher_processes->processes[i], &watched);
	}
	answer[0] = watched.count;
	(void)send(CACHED_SOCKET, answer, (1 + answer[0]) * sizeof(*answer), MSG_NOSIGNAL);
}

static void answer_event(const struct mounter_order *order, struct watcher_event_route *way,
			 const char *point, dev_t device)
{
	const struct watcher_event event = mounter_order_event(order);
	int r = way->root < 0 ? watcher_event_route_open(way, point, device) : 0;

	if (r == 0)
		r = watcher_event_raise(way, &event);
	(void)send_answer(r, -1);
}

/* Does what it is told until that is something else. */
static char attend(const struct session_settings *settings, dev_t device, bool events)
{
	static struct mounter_order order; /* large */
	struct watcher_event_route way = WATCHER_EVENT_WAY_NONE;
	struct watcher_processes watcher_processes = {.next = 0};
	char word;

	while ((word = hear(&order)) != '\0' && word != WORD_UNMOUNT) {
		if (word == WORD_FIND_WATCHED)
			answer_watched(&order.watchers, &watcher_processes, device);
		else if (word == WORD_NUDGE && events)
			answer_event(&order, &way, settings->mount_point, device);
		else if (word == WORD_NUDGE)
			(void)send_answer(-EOPNOTSUPP, -1);
		else
			watcher_event_route_close(&way);
	}
	watcher_event_route_close(&way);
	return word;
}

/* Keeps nothing of what the daemon has open, be it a lock or a pipe to somebody who waits. Signals
 * for all of a terminal or service are for the daemon.
 *
 * It stays in its process group until all is mounted: where that is done when somebody looks there
 * (autofs), everybody has to wait for that, but the group of who waits for us. */
static void stand_alone(int socket)
{
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	if (dup2(socket, CACHED_SOCKET) < 0 || fcntl(CACHED_SOCKET, F_SETFD, FD_CLOEXEC) < 0)
		_exit(EXIT_FAILURE);
	closefrom(CACHED_SOCKET + 1);
}

/* Has the daemon closed its end? Then another view may be mounted there by now, with the same device
 * number. */
static bool daemon_is_gone(void)
{
	struct pollfd socket = {.fd = CACHED_SOCKET};

	return poll(&socket, 1, 0) == 1 && socket.revents & POLLHUP;
}

static bool is_to_unmount(const struct session_settings *settings, char word)
{
	if (word == WORD_UNMOUNT && !daemon_is_gone())
		return true;
	return (word == WORD_UNMOUNT || settings->auto_unmount) &&
	       mount_point_is_dead(settings->mount_point);
}

_Noreturn static void serve(int socket, const struct session_settings *settings,
			    enum session_access access)
{
	static struct fuse_session *fuse; /* ends with the process */
	struct mounter_order order;
	dev_t device;

	stand_alone(socket);
	fuse_options_log();
	if (hear(&order) == WORD_MOUNT) {
		device = answer_mount(&fuse, settings, access);
		(void)setsid();
		if (is_to_unmount(settings, attend(settings, device, access != SESSION_READ_ONLY)))
			unmount_view(fuse, settings->mount_point, device);
	}
	_exit(EXIT_SUCCESS);
}

/* ---- the daemon ---------------------------------------------------------------------- */

int mounter_start(struct mounter **mounter, const struct session_settings *settings)
{
	struct mounter *made = calloc(1, sizeof(*made));
	int ends[2], r;

	if (!made)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		r = -errno;
		goto no_ends;
	}
	made->access = fuse_options_access(settings);
	made->process = fork();
	if (made->process == 0) {
		enum session_access access = made->access;

		free(made);
		serve(ends[1], settings, access);
	}
	r = made->process < 0 ? -errno : 0;
	(void)close(ends[1]);
	made->socket = ends[0];
	if (r == 0) {
		*mounter = made;
		return 0;
	}
	(void)close(ends[0]);
no_ends:
	free(made);
	return r;
}

static int say(const struct mounter *mounter, char word)
{
	return send(mounter->socket, &word, sizeof(word), MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Of what the process says, or of its end alone (events 0): nobody else has the other socket. */
static bool comes_within(const struct mounter *mounter, short events, int limit_ms)
{
	struct pollfd socket = {.fd = mounter->socket, .events = events};

	return poll(&socket, 1, limit_ms) > 0;
}

/* Who mounts may have to wait for others (autofs, a disk), and that takes as long as it takes. */
static int wait_for_mount(const struct mounter *mounter)
{
	while (!comes_within(mounter, POLLIN, STOP_INTERVAL_MS)) {
		if (!stop_requested())
			continue;
		(void)say(mounter, WORD_UNMOUNT); /* should it mount all the same */
		return -ECANCELED;
	}
	return 0;
}

int mounter_mount(struct mounter *mounter)
{
	struct answer answer;
	const struct cmsghdr *control;
	ssize_t length;
	int fd, r = say(mounter, WORD_MOUNT);

	if (r == 0)
		r = wait_for_mount(mounter);
	if (r < 0)
		return r;
	answer_prepare(&answer);
	do
		length = recvmsg(mounter->socket, &answer.head, MSG_CMSG_CLOEXEC);
	while (length < 0 && errno == EINTR);
	if (length != sizeof(answer.result))
		return length < 0 ? -errno : -ECHILD;
	control = CMSG_FIRSTHDR(&answer.head);
	if (answer.result < 0 || !control)
		return answer.result < 0 ? answer.result : -EPROTO;
	memcpy(&fd, CMSG_DATA(control), sizeof(fd));
	return fd;
}

pid_t mounter_process(const struct mounter *mounter)
{
	return mounter->process;
}

enum session_access mounter_access(const struct mounter *mounter)
{
	return mounter->access;
}

/* Its length, -ECANCELED, or -errno. */
static ssize_t wait_for_answer(const struct mounter *mounter, void *answer, size_t size,
			       const atomic_bool *stopping)
{
	ssize_t length;

	while (!comes_within(mounter, POLLIN, STOP_INTERVAL_MS)) {
		if (atomic_load(stopping))
			return -ECANCELED;
	}
	do
		length = recv(mounter->socket, answer, size, 0);
	while (length < 0 && errno == EINTR);
	return length < 0 ? -errno : length;
}

long mounter_find_watched(struct mounter *mounter, const struct mounter_watchers *watchers,
			  uint64_t inodes[static MOUNTER_WATCHED_MAX], const atomic_bool *stopping)
{
	const struct mounter_order order = {.word = WORD_FIND_WATCHED, .watchers = *watchers};
	uint64_t answer[1 + MOUNTER_WATCHED_MAX];
	ssize_t length = send(mounter->socket, &order, MOUNTER_ORDER_WATCHERS, MSG_NOSIGNAL);

	if (length < 0)
		length = -errno;
	else
		length = wait_for_answer(mounter, answer, sizeof(answer), stopping);
	if (length < (ssize_t)sizeof(*answer))
		return length < 0 ? length : -ECHILD;
	length -= (ssize_t)sizeof(*answer);
	memcpy(inodes, answer + 1, (size_t)length);
	return length / (ssize_t)sizeof(*inodes);
}

int mounter_raise_event(struct mounter *mounter, const struct watcher_event *event,
			const atomic_bool *stopping)
{
	struct mounter_order order;
	ssize_t length = mounter_order_for_event(&order, event);
	int result = -ECHILD;

	if (length < 0)
		return (int)length;
	if (send(mounter->socket, &order, (size_t)length, MSG_NOSIGNAL) < 0)
		return -errno;
	length = wait_for_answer(mounter, &result, sizeof(result), stopping);
	return length < 0 ? (int)length : result;
}

void mounter_rest(struct mounter *mounter)
{
	(void)say(mounter, WORD_REST);
}

/* 0, or -ETIMEDOUT or -ECHILD where it was killed, by us or by others. */
static int wait_for_end(struct mounter *mounter)
{
	int status = 0, r = 0;
	bool ended;

	(void)shutdown(mounter->socket, SHUT_WR); /* it hears what was said, and then nobody */
	ended = comes_within(mounter, 0, END_MS);
	if (!ended) {
		r = -ETIMEDOUT;
		/* A confined process cannot. Then the mounter is left to init, as is one that waits in
		 * the kernel for a dead disk: it unmounts and ends when it can. */
		if (kill(mounter->process, SIGKILL) == 0)
			ended = comes_within(mounter, 0, END_MS);
	}
	(void)close(mounter->socket);
	mounter->socket = -1;
	if (!ended)
		return r;
	while (waitpid(mounter->process, &status, 0) < 0 && errno == EINTR)
		;
	return r == 0 && status != 0 ? -ECHILD : r;
}

int mounter_unmount(struct mounter *mounter)
{
	int said = say(mounter, WORD_UNMOUNT), r = wait_for_end(mounter);

	return said < 0 ? said : r;
}

void mounter_free(struct mounter *mounter)
{
	if (!mounter)
		return;
	if (mounter->socket >= 0)
		(void)wait_for_end(mounter);
	free(mounter);
}
