/* SPDX-License-Identifier: MIT */
#include "view/fuse/mounter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/inotify_use.h"
#include "base/log.h"
#include "base/stop.h"
#include "index/mount_point.h"
#include "view/fuse/fuse.h"
#include "view/fuse/loop.h"
#include "view/tree/node.h"

/* ---- readahead ----------------------------------------------------------------------- */

/* Returns 0 or -errno. */
static int raise_at(const char *path, unsigned int size_kib)
{
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC);
	char text[32] = "";
	ssize_t length;

	if (fd < 0)
		return -errno;
	length = pread(fd, text, sizeof(text) - 1, 0);
	if (length < 0)
		return -errno;
	if (strtoul(text, NULL, 10) >= size_kib)
		return 0;
	(void)snprintf(text, sizeof(text), "%u\n", size_kib);
	return write_fully(fd, text, strlen(text));
}

/* Raises the readahead of a mount. A larger value stays. Does nothing if sysfs refuses it: only
 * root of the whole machine may write there, and the sysfs of most containers is read-only.
 *
 * The kernel's default for FUSE is 128 KiB, so a sequential reader waits for a reply every 128 KiB.
 * With 1 MiB, the first read of 1 GiB of cached data takes 0.28 instead of 0.45 s. More than one
 * request of the largest size gains nothing.
 *
 * The kernel lowers the readahead to the limit in the reply to FUSE_INIT, if there is one.
 *
 * device	device number of the file system, from stat(2) */
static void readahead_raise(dev_t device, unsigned int size_kib)
{
	char path[64];
	int r;

	(void)snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", major(device),
		       minor(device));
	r = raise_at(path, size_kib);
	if (r < 0)
		log_debug("cannot write to %s: %s; reading ahead less", path, error_text(r));
}

/* ---- orders -------------------------------------------------------------------------- */

#define TEXTS offsetof(struct mounter_order, event.texts)

/* Number of texts of an event. */
static size_t texts_of(enum watcher_event_kind kind)
{
	return kind == WATCHER_EVENT_MOVED ? 4 : 2;
}

long mounter_order_for_event(struct mounter_order *order, const struct watcher_event *event)
{
	const char *texts[] = {event->path, event->name, event->to_path, event->to_name};
	char *at = order->event.texts, *end = at + sizeof(order->event.texts);

	memset(order, 0, TEXTS);
	order->kind = ORDER_RAISE_EVENT;
	order->event.directory = event->directory;
	order->event.kind = (uint8_t)event->kind;
	order->event.folder = event->folder;
	order->event.to_folder = event->to_folder;
	for (size_t i = 0; i < texts_of(event->kind); i++) {
		size_t length = strlen(texts[i]) + 1;

		if (length > (size_t)(end - at))
			return -ENAMETOOLONG;
		memcpy(at, texts[i], length);
		at += length;
	}
	return at - (char *)order;
}

/* length	of the texts */
static bool watcher_event_is_whole(const struct mounter_order *order, size_t length)
{
	const char *at = order->event.texts, *end = at + length;

	if (order->event.kind > WATCHER_EVENT_ENDED || order->event.directory > 1)
		return false;
	for (size_t i = 0; i < texts_of((enum watcher_event_kind)order->event.kind); i++) {
		const char *nul = memchr(at, '\0', (size_t)(end - at));

		if (!nul)
			return false;
		at = nul + 1;
	}
	return at == end;
}

bool mounter_order_is_valid(const struct mounter_order *order, size_t length)
{
	if (length == 0 || length > sizeof(*order))
		return false;
	switch (order->kind) {
	case ORDER_FIND_WATCHED:
		return length == MOUNTER_ORDER_FIND_LENGTH &&
		       order->watchers.count <= MOUNTER_THREADS_MAX;
	case ORDER_RAISE_EVENT:
		return length > TEXTS && watcher_event_is_whole(order, length - TEXTS);
	case ORDER_MOUNT:
	case ORDER_CLOSE_ROUTE:
	case ORDER_UNMOUNT:
		return length == sizeof(order->kind);
	default:
		return false;
	}
}

struct watcher_event mounter_order_event(const struct mounter_order *order)
{
	struct watcher_event event = {
		.kind = (enum watcher_event_kind)order->event.kind,
		.directory = order->event.directory,
		.folder = order->event.folder,
		.path = order->event.texts,
		.to_folder = order->event.to_folder,
	};

	event.name = event.path + strlen(event.path) + 1;
	if (event.kind == WATCHER_EVENT_MOVED) {
		event.to_path = event.name + strlen(event.name) + 1;
		event.to_name = event.to_path + strlen(event.to_path) + 1;
	}
	return event;
}

/* ---- watcher processes --------------------------------------------------------------- */

/* Processes with recent requests, which can have begun to watch folders of the view. One thread. */

/* Maximum number of processes. A further process replaces the oldest. */
#define WATCHER_PROCESSES_MAX 16

/* All zero: empty. */
struct watcher_processes {
	pid_t processes[WATCHER_PROCESSES_MAX]; /* 0: none */
	size_t next; /* slot of the next new process */
};

/* Returns the process of a thread, or 0 if there is no such thread. */
static pid_t process_of(pid_t thread)
{
	char path[sizeof("/proc//status") + 10], line[256];
	AUTO_FCLOSE FILE *file = NULL;
	int process = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", thread);
	file = fopen(path, "re");
	while (process == 0 && file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Tgid: %d", &process) != 1)
			process = 0;
	}
	return process;
}

/* Adds the process of a thread, unless the process is listed already or the thread has ended. */
static void watcher_processes_add(struct watcher_processes *watcher_processes, pid_t thread)
{
	pid_t process = process_of(thread);

	if (process == 0)
		return;
	for (size_t i = 0; i < WATCHER_PROCESSES_MAX; i++) {
		if (watcher_processes->processes[i] == process)
			return;
	}
	watcher_processes->processes[watcher_processes->next] = process;
	watcher_processes->next = (watcher_processes->next + 1) % WATCHER_PROCESSES_MAX;
}

/* Adds what the processes watch. Returns 0 or -ENOMEM. */
static int watcher_processes_find(const struct watcher_processes *watcher_processes,
				  struct inotify_watched *watched)
{
	const pid_t *processes = watcher_processes->processes;
	int r = 0;

	for (size_t i = 0; r == 0 && i < WATCHER_PROCESSES_MAX && processes[i]; i++)
		r = inotify_watched_by(processes[i], watched);
	return r;
}

/* ---- mounter ------------------------------------------------------------------------- */

/* Interval at which a thread that waits for a reply checks whether to stop. */
#define STOP_INTERVAL_MS 20

/* Time limit for the end of the process. A lazy unmount does not wait for other processes. */
#define END_MS 5000

/* The only descriptor above stderr that the process inherits. */
#define SOCKET_FD (STDERR_FILENO + 1)

struct mounter {
	int socket;
	pid_t process;
	enum session_access access;
};

/* A part of the reply to ORDER_FIND_WATCHED. */
#define PART_NODES 4096
struct watched_part {
	uint64_t left; /* nodes in later parts */
	uint64_t nodes[PART_NODES];
};
#define PART_BYTES(count) (offsetof(struct watched_part, nodes) + (count) * sizeof(uint64_t))

/* A message with a result and optionally a descriptor. */
struct answer {
	struct msghdr head;
	struct iovec data;
	int result;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
};

static void reply_prepare(struct answer *answer)
{
	memset(answer, 0, sizeof(*answer));
	answer->data = (struct iovec){&answer->result, sizeof(answer->result)};
	answer->head.msg_iov = &answer->data;
	answer->head.msg_iovlen = 1;
	answer->head.msg_control = answer->control;
	answer->head.msg_controllen = sizeof(answer->control);
}

/* ---- the process --------------------------------------------------------------------- */

/* fd	sent with the result, unless -1 */
static int send_reply(int result, int fd)
{
	struct answer answer;
	struct cmsghdr *control;

	reply_prepare(&answer);
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
	return sendmsg(SOCKET_FD, &answer.head, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Detaches from the terminal and closes the FUSE device. An open copy of the device here would keep
 * the connection alive. Returns 0 or -errno. */
static int detach(struct fuse_session *fuse)
{
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY);

	if (null < 0 || dup3(null, fuse_session_fd(fuse), O_CLOEXEC) < 0)
		return -errno;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	return 0;
}

/* Unmounts the view. If the view was unmounted before and another file system is mounted there by
 * now, does nothing.
 *
 * device	of the view; unique while the view exists  */
static void unmount_view(struct fuse_session *fuse, const char *point, dev_t device)
{
	if (mount_point_device(point) == device)
		fuse_session_unmount(fuse);
}

static int mount_view(struct fuse_session **fuse, const struct session_settings *settings,
		      enum session_access access)
{
	int r = fuse_options_session(fuse, settings, access, false, NULL);

	if (r == 0)
		r = mount_point_clear(settings->mount_point, settings->options.nonempty);
	if (r > 0)
		r = -EBUSY;
	errno = 0;
	if (r == 0 && fuse_session_mount(*fuse, settings->mount_point) != 0)
		r = errno ? -errno : -EIO;
	/* libfuse 3.14 reports success and descriptor 0 if it has no memory */
	if (r == 0 && fuse_session_fd(*fuse) <= STDERR_FILENO)
		r = -ENOMEM;
	return r;
}

/* Mounts the view and replies, first with the device, then after closing its own copy. Returns the
 * device number of the view; after a failure, exits. */
static dev_t serve_mount(struct fuse_session **fuse, const struct session_settings *settings,
			 enum session_access access)
{
	int r = mount_view(fuse, settings, access);
	dev_t device = r == 0 ? mount_point_device(settings->mount_point) : 0;

	/* before FUSE_INIT is answered, as the program that waits for the mount reads soon after */
	if (device)
		readahead_raise(device, LOOP_DATA_MAX >> 10);
	if (r < 0) {
		(void)send_reply(r, -1);
		_exit(EXIT_FAILURE);
	}
	/* the daemon would wait for ever for a reply that is lost, and calls to the view with it */
	if (send_reply(0, fuse_session_fd(*fuse)) < 0 || detach(*fuse) < 0 ||
	    send_reply(0, -1) < 0) {
		unmount_view(*fuse, settings->mount_point, device);
		_exit(EXIT_FAILURE);
	}
	return device;
}

/* Receives an order and returns its kind. Returns 0 if the daemon has ended or sent an invalid
 * order. */
static char receive_order(struct mounter_order *order)
{
	ssize_t length;

	do
		length = recv(SOCKET_FD, order, sizeof(*order), MSG_TRUNC);
	/* ECONNRESET: the daemon has ended without reading a reply, but its last order can be
	 * read */
	while (length < 0 && (errno == EINTR || errno == ECONNRESET));
	return length > 0 && mounter_order_is_valid(order, (size_t)length) ? order->kind : '\0';
}

/* Returns the node of a watch, or 0 if it can have no events. The inode number that programs see
 * does not contain the version of a file. */
static uint64_t watched_node(const struct inotify_watch *watch)
{
	uint64_t node = node_from_seen_inode(watch->inode);

	if (node_is_folder(node))
		return node;
	return node_kind(node) == NODE_FILE && node_inode(watch->node) == node ? watch->node : 0;
}

/* Replies with the nodes, in as many messages as needed. */
static void send_watched(const struct bytes *found)
{
	static struct watched_part part;
	const uint64_t *nodes = (const void *)found->data;
	size_t count = found->length / sizeof(*nodes), sent = 0, length;

	do {
		length = count - sent < PART_NODES ? count - sent : PART_NODES;
		part.left = count - sent - length;
		for (size_t i = 0; i < length; i++)
			part.nodes[i] = nodes[sent + i];
		if (send(SOCKET_FD, &part, PART_BYTES(length), MSG_NOSIGNAL) < 0)
			return;
		sent += length;
	} while (sent < count);
}

/* Without memory for all of them, replies with those that were found until then. */
static void serve_watched(const struct mounter_watchers *watchers,
			  struct watcher_processes *watcher_processes, dev_t device)
{
	struct inotify_watched watched = {.device = device, .number_of = watched_node};
	int r;

	for (size_t i = 0; i < watchers->count; i++)
		watcher_processes_add(watcher_processes, watchers->threads[i]);
	if (watchers->all_processes)
		r = inotify_watched_by_all(&watched);
	else
		r = watcher_processes_find(watcher_processes, &watched);
	if (r < 0)
		log_debug("cannot find all watches of the view: %s", error_text(r));
	send_watched(&watched.numbers);
	bytes_free(&watched.numbers);
}

static void serve_event(const struct mounter_order *order, struct watcher_event_route *route,
			const char *point, dev_t device)
{
	const struct watcher_event event = mounter_order_event(order);
	int r = route->root < 0 ? watcher_event_route_open(route, point, device) : 0;

	if (r == 0)
		r = watcher_event_raise(route, &event);
	(void)send_reply(r, -1);
}

/* Serves orders until the order to unmount, an invalid order, or the end of the daemon. Returns
 * ORDER_UNMOUNT, or 0 in the other two cases. */
static char serve_orders(const struct session_settings *settings, dev_t device, bool events)
{
	static struct mounter_order order; /* large, so not on the stack */
	struct watcher_event_route route = WATCHER_EVENT_ROUTE_NONE;
	struct watcher_processes watcher_processes = {.next = 0};
	char kind;

	while ((kind = receive_order(&order)) != '\0' && kind != ORDER_UNMOUNT) {
		if (kind == ORDER_FIND_WATCHED)
			serve_watched(&order.watchers, &watcher_processes, device);
		else if (kind == ORDER_RAISE_EVENT && events)
			serve_event(&order, &route, settings->mount_point, device);
		else if (kind == ORDER_RAISE_EVENT)
			(void)send_reply(-EOPNOTSUPP, -1);
		else
			watcher_event_route_close(&route);
	}
	watcher_event_route_close(&route);
	return kind;
}

/* Closes all descriptors above the socket, such as locks and pipes. Ignores signals that a terminal
 * or service manager sends to all processes.
 *
 * The process stays in its process group until the mount has completed. If autofs started this
 * mount, the kernel lets only the process group of the automounter access the mount point
 * meanwhile. */
static void isolate(int socket)
{
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	if (dup2(socket, SOCKET_FD) < 0 || fcntl(SOCKET_FD, F_SETFD, FD_CLOEXEC) < 0)
		_exit(EXIT_FAILURE);
	closefrom(SOCKET_FD + 1);
}

/* Has the daemon closed its end of the socket? If so, another view can have the same device number
 * and mount point by now. */
static bool daemon_has_ended(void)
{
	struct pollfd socket = {.fd = SOCKET_FD};

	return poll(&socket, 1, 0) == 1 && socket.revents & POLLHUP;
}

static bool must_unmount(const struct session_settings *settings, char kind)
{
	if (kind == ORDER_UNMOUNT && !daemon_has_ended())
		return true;
	return (kind == ORDER_UNMOUNT || settings->options.auto_unmount) &&
	       mount_point_is_dead(settings->mount_point);
}

_Noreturn static void serve(int socket, const struct session_settings *settings,
			    enum session_access access)
{
	static struct fuse_session *fuse; /* lives until the process ends */
	struct mounter_order order;
	dev_t device;

	isolate(socket);
	fuse_options_log();
	if (receive_order(&order) == ORDER_MOUNT) {
		device = serve_mount(&fuse, settings, access);
		(void)setsid();
		if (must_unmount(settings,
				 serve_orders(settings, device, access != SESSION_READ_ONLY)))
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

static int send_order(const struct mounter *mounter, char kind)
{
	return send(mounter->socket, &kind, sizeof(kind), MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Waits for a reply, or for the end of the process. */
static bool poll_socket(const struct mounter *mounter, int limit_ms)
{
	struct pollfd socket = {.fd = mounter->socket, .events = POLLIN};

	return poll(&socket, 1, limit_ms) > 0;
}

/* Waits for the end of the process. The socket is hung up then, as no other process has its other
 * end. Reads the rest of a reply meanwhile, because the process waits until it is read. */
static bool wait_for_hangup(const struct mounter *mounter)
{
	uint64_t until_ns = clock_monotonic_ns() + END_MS * MS_NS, now_ns;
	struct pollfd socket = {.fd = mounter->socket, .events = POLLIN};
	char rest;

	while (!(socket.revents & POLLHUP) && (now_ns = clock_monotonic_ns()) < until_ns) {
		if (socket.revents & POLLIN)
			(void)recv(mounter->socket, &rest, sizeof(rest), MSG_DONTWAIT);
		(void)poll(&socket, 1, (int)((until_ns - now_ns) / MS_NS) + 1);
	}
	return socket.revents & POLLHUP;
}

/* Waits for a reply to a mount. The mount can wait for other processes or disks (autofs), without a
 * limit. Returns 0, or -ECANCELED on stop_requested(). */
static int wait_for_mount(const struct mounter *mounter)
{
	while (!poll_socket(mounter, STOP_INTERVAL_MS)) {
		if (stop_requested())
			return -ECANCELED;
	}
	return 0;
}

/* Receives the reply to a mount. Returns the descriptor, or -errno. */
static int receive_mount(const struct mounter *mounter)
{
	struct answer answer;
	const struct cmsghdr *control;
	ssize_t length;
	int fd;

	reply_prepare(&answer);
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

/* Waits until the process has closed its copy of the device, or has ended. As long as any copy is
 * open, requests wait for an answer, also after the end of the daemon. */
static int wait_for_close(const struct mounter *mounter)
{
	int result, r = wait_for_mount(mounter);

	while (r == 0 && recv(mounter->socket, &result, sizeof(result), 0) < 0 && errno == EINTR)
		continue;
	return r;
}

int mounter_mount(struct mounter *mounter)
{
	int r = send_order(mounter, ORDER_MOUNT), fd = -1;

	if (r == 0)
		r = wait_for_mount(mounter);
	if (r == 0)
		r = fd = receive_mount(mounter);
	if (r >= 0)
		r = wait_for_close(mounter);
	if (r == 0)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	(void)send_order(mounter, ORDER_UNMOUNT); /* in case the mount completes */
	return r;
}

pid_t mounter_process(const struct mounter *mounter)
{
	return mounter->process;
}

enum session_access mounter_access(const struct mounter *mounter)
{
	return mounter->access;
}

/* Waits for a reply and returns its length, -ECANCELED, or another -errno. */
static ssize_t wait_for_reply(const struct mounter *mounter, void *answer, size_t size,
			      const atomic_bool *stopping)
{
	ssize_t length;

	while (!poll_socket(mounter, STOP_INTERVAL_MS)) {
		if (atomic_load(stopping))
			return -ECANCELED;
	}
	do
		length = recv(mounter->socket, answer, size, 0);
	while (length < 0 && errno == EINTR);
	return length < 0 ? -errno : length;
}

int mounter_find_watched(struct mounter *mounter, const struct mounter_watchers *watchers,
			 struct bytes *nodes, const atomic_bool *stopping)
{
	const struct mounter_order order = {.kind = ORDER_FIND_WATCHED, .watchers = *watchers};
	AUTO_FREE struct watched_part *part = malloc(sizeof(*part));
	ssize_t length;
	int r = 0;

	if (!part)
		return -ENOMEM;
	if (send(mounter->socket, &order, MOUNTER_ORDER_FIND_LENGTH, MSG_NOSIGNAL) < 0)
		return -errno;
	do { /* reads all parts also without memory for them, as a later call gets its own reply */
		length = wait_for_reply(mounter, part, sizeof(*part), stopping);
		if (length < (ssize_t)PART_BYTES(0))
			return length < 0 ? (int)length : -ECHILD;
		if (r == 0)
			r = bytes_append(nodes, part->nodes, (size_t)length - PART_BYTES(0));
	} while (part->left > 0);
	return r;
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
	length = wait_for_reply(mounter, &result, sizeof(result), stopping);
	return length < 0 ? (int)length : result;
}

void mounter_close_route(struct mounter *mounter)
{
	(void)send_order(mounter, ORDER_CLOSE_ROUTE);
}

/* Returns 0, -ETIMEDOUT if the process did not end in time, or -ECHILD if it failed. */
static int wait_for_end(struct mounter *mounter)
{
	int status = 0, r = 0;
	bool ended;

	/* the process reads the remaining orders, then the end of the stream */
	(void)shutdown(mounter->socket, SHUT_WR);
	ended = wait_for_hangup(mounter);
	if (!ended) {
		r = -ETIMEDOUT;
		/* A confined process cannot send signals, and a dead disk can block the mounter in
		 * the kernel. In both cases the mounter is left to init. The mounter unmounts and
		 * exits when it can. */
		if (kill(mounter->process, SIGKILL) == 0)
			ended = wait_for_hangup(mounter);
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
	int said = send_order(mounter, ORDER_UNMOUNT), r = wait_for_end(mounter);

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
