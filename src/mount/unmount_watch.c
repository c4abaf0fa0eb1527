/* SPDX-License-Identifier: MIT */
#include "mount/unmount_watch.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/log.h"
#include "base/thread.h"
#include "mount/session.h"
#include "mountpoint/table.h"

#define OWN_TABLE "/proc/self/mountinfo"

/* Delay after a change of the mount table. An unmounted view without other users has ended by then,
 * and several changes cause one check. */
#define PAUSE_MS 200

/* Longest interval of checks while an unmounted view is in use. */
#define INTERVAL_MAX_MS 60000

enum awaited {
	AWAITED_END, /* end of the session */
	AWAITED_CHANGE, /* change of the mount table */
	AWAITED_NOTHING, /* time limit */
};

/* Does not wait for the device: every request of the kernel would wake this thread. */
static bool has_connection_ended(const struct session *session)
{
	struct pollfd device = {.fd = fuse_session_fd(session->fuse)};

	return poll(&device, 1, 0) == 1 && device.revents & POLLERR;
}

/* Waits for the end of the session and, if with_table, for changes of the mount table.
 *
 * limit_ms	-1: none */
static enum awaited await(const struct session *session, bool with_table, int limit_ms)
{
	const struct unmount_watch *watch = &session->unmount_watch;
	struct pollfd polled[] = {
		{.fd = watch->end_fd, .events = POLLIN},
		{.fd = with_table ? watch->table_fd : -1, .events = POLLPRI},
	};
	int r;

	do
		r = poll(polled, ARRAY_SIZE(polled), limit_ms);
	while (r < 0 && errno == EINTR);
	if (r < 0 || polled[0].revents || has_connection_ended(session))
		return AWAITED_END;
	return polled[1].revents ? AWAITED_CHANGE : AWAITED_NOTHING;
}

/* Returns whether a mount table contains the view. If the table cannot be read, returns unknown. */
static bool has_view(const char *file, const char *device, bool unknown)
{
	CLEANUP_TABLE struct mount_table table = {0};

	if (mount_table_read_from(&table, file) < 0)
		return unknown;
	return mount_table_view_of(&table, device);
}

/* Returns a process whose namespace has the view mounted, or 0. */
static pid_t find_other_namespace(const char *device)
{
	AUTO_CLOSEDIR DIR *processes = opendir("/proc");
	const struct dirent *entry;
	char path[sizeof("/proc//mountinfo") + NAME_MAX];

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is local */
	while (processes && (entry = readdir(processes))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s/mountinfo", entry->d_name);
		if (has_view(path, device, false))
			return (pid_t)strtol(entry->d_name, NULL, 10);
	}
	return 0;
}

/* Returns whether no file of the view is open and *process, in another namespace, has the view
 * mounted. */
static bool is_mounted_elsewhere(struct session *session, pid_t *process)
{
	const char *device = session->unmount_watch.device;

	if (handle_list_has_any(&session->handles))
		return false;
	*process = find_other_namespace(device);
	return *process > 0;
}

static void end_session(struct session *session, pid_t process)
{
	log_info("the view at %s was unmounted; process %d still has it mounted in another mount "
		 "namespace, where requests fail from now on",
		 quote_path(session->settings.mount_point), (int)process);
	session->mounted_elsewhere = true;
	session->unmount_watch.stop(session);
}

static void *watch_table(void *context)
{
	struct session *session = context;
	const char *device = session->unmount_watch.device;
	/* time to the next check if the table does not change; -1: no check */
	int interval_ms = -1;
	pid_t process;

	while (await(session, true, interval_ms) != AWAITED_END &&
	       await(session, false, PAUSE_MS) != AWAITED_END) {
		if (has_view(OWN_TABLE, device, true)) {
			interval_ms = -1;
			continue;
		}
		/* a table that changes while it is read can lack a mount */
		if (await(session, true, 0) == AWAITED_NOTHING &&
		    is_mounted_elsewhere(session, &process)) {
			end_session(session, process);
			break;
		}
		interval_ms = interval_ms < 0 ? PAUSE_MS : interval_ms * 2;
		if (interval_ms > INTERVAL_MAX_MS)
			interval_ms = INTERVAL_MAX_MS;
	}
	return NULL;
}

/* Opens the mount table and determines the device number of the view. Returns 0, -ENOENT if this
 * namespace does not have the view mounted, or another -errno. */
static int find_device(struct unmount_watch *watch, const char *mount_point)
{
	CLEANUP_TABLE struct mount_table table = {0};
	const struct mount_entry *entry;
	int r;

	/* opened before the table is read, so that no change is missed */
	watch->table_fd = open(OWN_TABLE, O_RDONLY | O_CLOEXEC);
	if (watch->table_fd < 0)
		return -errno;
	r = mount_table_read_from(&table, OWN_TABLE);
	if (r < 0)
		return r;
	entry = mount_table_covering(&table, mount_point);
	if (!entry || !mount_entry_is_view(entry) || strcmp(entry->point, mount_point) != 0)
		return -ENOENT;
	watch->device = strdup(entry->device);
	return watch->device ? 0 : -ENOMEM;
}

static void unmount_watch_free(struct unmount_watch *watch)
{
	cleanup_close(&watch->table_fd);
	cleanup_close(&watch->end_fd);
	free(watch->device);
}

void unmount_watch_start(struct session *session, void (*stop)(void *session))
{
	struct unmount_watch *watch = &session->unmount_watch;
	int r;

	*watch = (struct unmount_watch){.table_fd = -1, .end_fd = -1, .stop = stop};
	r = find_device(watch, session->settings.mount_point);
	if (r == 0) {
		watch->end_fd = eventfd(0, EFD_CLOEXEC);
		r = watch->end_fd < 0 ? -errno : 0;
	}
	if (r == 0)
		r = thread_start(&watch->thread, watch_table, session);
	watch->running = r == 0;
	if (r == 0)
		return;
	log_debug("the daemon ends only when no mount namespace has %s mounted: %s",
		  quote_path(session->settings.mount_point), error_text(r));
	unmount_watch_free(watch);
}

void unmount_watch_end(struct unmount_watch *watch)
{
	if (!watch->running)
		return;
	(void)eventfd_write(watch->end_fd, 1);
	pthread_join(watch->thread, NULL);
	unmount_watch_free(watch);
}
