/* SPDX-License-Identifier: MIT */
#include "view/follow/queue.h"

#include <errno.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/kernel.h"
#include "scan/ingest.h"
#include "view/follow/watch.h"

/* ---- inotify ------------------------------------------------------------------------ */

/* IN_EXCL_UNLINK is not set: a file that was opened by a removed name can have other names. Writes
 * to such a file are reported only under the removed name. IN_DONT_FOLLOW is not set, as
 * inotify_queue_add() passes a magic link of /proc/self/fd. */
#define INOTIFY_EVENTS                                                                      \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | \
	 IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

/* Returns 0 or -errno. The caller must call inotify_queue_close() in either case. */
static int inotify_queue_open(struct inotify_queue *queue, struct pending_events *pending)
{
	*queue = (struct inotify_queue){.pending = pending};
	queue->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return queue->fd < 0 ? -errno : 0;
}

static void inotify_queue_close(struct inotify_queue *queue)
{
	dir_table_reset(&queue->directories);
	if (queue->fd >= 0)
		(void)close(queue->fd);
	queue->fd = -1;
}

static void inotify_queue_remove(struct inotify_queue *queue, uint64_t dir)
{
	struct dir_key key;

	/* fails if the directory was deleted and IN_IGNORED was not read yet */
	if (dir_table_remove(&queue->directories, dir, &key))
		(void)inotify_rm_watch(queue->fd, dir_key_watch(key));
}

static int inotify_queue_add(struct inotify_queue *queue, int fd, uint64_t dir, uint64_t *known)
{
	int number = inotify_add_watch(queue->fd, fd_path(fd).text, INOTIFY_EVENTS), r;
	uint64_t found;

	if (number < 0)
		return errno == ENOSPC ? WATCH_FULL : -errno;
	found = dir_table_find(&queue->directories, dir_key_of_watch(number));
	if (found == dir)
		return WATCH_ADDED;
	if (found) {
		*known = found;
		return WATCH_KNOWN;
	}
	inotify_queue_remove(queue, dir);
	r = dir_table_add(&queue->directories, dir_key_of_watch(number), dir);
	if (r < 0)
		(void)inotify_rm_watch(queue->fd, number);
	return r;
}

/* Returns whether the moved name comes from a watched directory. */
static bool comes_from_watched(struct inotify_queue *queue, const struct inotify_event *event)
{
	for (size_t i = 0; i < INOTIFY_COOKIES; i++) {
		if (queue->cookies[i] == event->cookie) {
			queue->pending->moved_out -= queue->pending->moved_out > 0;
			return true;
		}
	}
	return false;
}

static void note_moved_from(struct inotify_queue *queue, const struct inotify_event *event)
{
	queue->cookies[queue->next_cookie] = event->cookie;
	queue->next_cookie = (queue->next_cookie + 1) % INOTIFY_COOKIES;
}

static uint32_t inotify_events_of(struct inotify_queue *queue, const struct inotify_event *event,
				  bool named)
{
	uint32_t mask = event->mask, events = 0;

	if (!named)
		return EVENT_ATTRIBUTES;
	if (mask & IN_CREATE)
		events |= EVENT_NAME | EVENT_CREATED;
	if (mask & IN_DELETE)
		events |= EVENT_NAME | EVENT_REMOVED;
	if (mask & (IN_MOVED_FROM | IN_MOVED_TO))
		events |= EVENT_NAME;
	if (mask & IN_MOVED_FROM) {
		events |= EVENT_MOVED_AWAY;
		note_moved_from(queue, event);
		queue->pending->moved_out++;
	}
	if (mask & IN_MOVED_TO)
		events |= comes_from_watched(queue, event) ? EVENT_MOVED_HERE : EVENT_MOVED_IN;
	if (mask & IN_ISDIR && events & (EVENT_CREATED | EVENT_MOVED_IN))
		events |= EVENT_NEW_DIR;
	if (mask & IN_MODIFY)
		events |= EVENT_WRITTEN;
	if (mask & IN_CLOSE_WRITE)
		events |= EVENT_WRITTEN | EVENT_CLOSED;
	if (mask & IN_ATTRIB)
		events |= EVENT_ATTRIBUTES;
	return events;
}

static void inotify_take_event(struct inotify_queue *queue, const struct inotify_event *event)
{
	struct pending_events *pending = queue->pending;
	bool written = event->mask & (IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB);
	uint64_t dir = dir_table_find(&queue->directories, dir_key_of_watch(event->wd));
	struct dir_key key;
	uint32_t length = 0;

	pending->events++;
	pending->written |= written;
	pending->removed |= event->mask & (IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO);
	queue->rename_is_split = event->mask & IN_MOVED_FROM;
	if (event->mask & IN_Q_OVERFLOW)
		pending_events_overflow(pending);
	if (!dir) {
		if ((written || event->mask & (IN_CREATE | IN_MOVED_TO)) && event->len > 0)
			pending->set.has_unknown_dir = true;
		return;
	}
	if (event->mask & IN_IGNORED) {
		/* the directory was deleted or its file system unmounted; an earlier event reported
		 * this
		 */
		(void)dir_table_remove(&queue->directories, dir, &key);
		return;
	}
	if (pending->set.overflowed)
		return;
	if (event->len > 0)
		length = (uint32_t)strnlen(event->name, event->len);
	pending_events_add(pending, dir, event->name, length,
			   inotify_events_of(queue, event, length > 0));
}

static size_t inotify_queue_read(struct inotify_queue *queue, char *buffer)
{
	const struct inotify_event *event;
	size_t at = 0, length;
	ssize_t got = read(queue->fd, buffer, QUEUE_BUFFER_BYTES);

	if (got < 0 && errno != EAGAIN && errno != EINTR)
		pending_events_overflow(queue->pending); /* events are possibly lost */
	if (got <= 0)
		return 0;
	length = (size_t)got;
	while (at < length) {
		event = (const void *)(buffer + at);
		inotify_take_event(queue, event);
		at += sizeof(*event) + event->len;
	}
	return length;
}

static void inotify_queue_read_all(struct inotify_queue *queue, char *buffer)
{
	int waiting = 0;
	size_t left, got;

	if (ioctl(queue->fd, FIONREAD, &waiting) < 0) {
		pending_events_overflow(queue->pending);
		return;
	}
	for (left = (size_t)waiting; left > 0; left -= got < left ? got : left) {
		got = inotify_queue_read(queue, buffer);
		if (got == 0)
			return;
	}
}

/* ---- fanotify ----------------------------------------------------------------------- */

/* Maximum number of reads before a directory is added. Together they read more events than a queue
 * holds, so a program that writes without pause cannot block the addition for ever. */
#define READS_MAX 64

/* Takes the open group. */
static void fanotify_queue_open(struct fanotify_queue *queue, struct fanotify_group *group,
				struct pending_events *pending)
{
	*queue = (struct fanotify_queue){.group = *group, .pending = pending};
	group->fd = -1;
	/* without random bytes, the seed stays 0 */
	(void)!random_fill(&queue->seed, sizeof(queue->seed));
}

static void fanotify_queue_close(struct fanotify_queue *queue)
{
	fanotify_group_close(&queue->group);
	dir_table_reset(&queue->directories);
	dir_table_reset(&queue->ended);
}

/* ---- fanotify: events --------------------------------------------------------------- */

static struct dir_key key_of(const struct fanotify_queue *queue, struct fanotify_handle handle)
{
	return dir_key_of(handle.bytes, handle.length, queue->seed);
}

/* Returns the number of a directory, or 0 if it was not added. */
static uint64_t find_added(const struct fanotify_queue *queue, struct fanotify_handle handle)
{
	return handle.bytes ? dir_table_find(&queue->directories, key_of(queue, handle)) : 0;
}

static bool has_ended(const struct fanotify_queue *queue, struct fanotify_handle handle)
{
	return handle.bytes && dir_table_find(&queue->ended, key_of(queue, handle)) != 0;
}

static bool is_itself(const struct fanotify_place *place)
{
	return place->length == 1 && place->name[0] == '.';
}

static uint32_t write_events_of(uint64_t mask)
{
	if (mask & FAN_CLOSE_WRITE)
		return EVENT_WRITTEN | EVENT_CLOSED;
	return mask & FAN_MODIFY ? EVENT_WRITTEN : 0;
}

static uint32_t fanotify_events_of(uint64_t mask)
{
	uint32_t events = write_events_of(mask);

	if (mask & FAN_CREATE)
		events |= EVENT_NAME | EVENT_CREATED;
	if (mask & FAN_CREATE && mask & FAN_ONDIR)
		events |= EVENT_NEW_DIR;
	if (mask & FAN_DELETE)
		events |= EVENT_NAME | EVENT_REMOVED;
	/* the kernel has merged both, in either order */
	if (mask & FAN_CREATE && mask & FAN_DELETE)
		events |= EVENT_REPLACED;
	if (mask & FAN_ATTRIB)
		events |= EVENT_ATTRIBUTES;
	return events;
}

/* Forgets a deleted directory. */
static void take_deleted(struct fanotify_queue *queue, struct fanotify_handle handle)
{
	struct dir_key key;
	uint64_t dir = find_added(queue, handle);

	if (dir)
		(void)dir_table_remove(&queue->directories, dir, &key);
}

/* Returns the events of a file that was changed by a name in a directory that was not added. */
static uint32_t events_outside(const struct fanotify_event *event)
{
	uint32_t events = write_events_of(event->mask);

	if (event->mask & (FAN_CREATE | FAN_DELETE | FAN_RENAME))
		events |= EVENT_NAME;
	/* without a place, only the number of links has changed, which another event reports */
	if (event->mask & FAN_ATTRIB && event->place.dir.bytes)
		events |= EVENT_ATTRIBUTES;
	return events;
}

/* Takes an event of a file that possibly also has a name in a directory that was added. */
static void take_outside(struct fanotify_queue *queue, const struct fanotify_event *event)
{
	const struct fanotify_handle *self = &event->self;
	uint32_t events = event->mask & FAN_ONDIR ? 0 : events_outside(event);
	uint64_t inode;

	if (events && self->bytes &&
	    fanotify_group_inode(&queue->group, self->bytes, self->length, &inode))
		pending_events_add_inode(queue->pending, inode, events);
}

/* Takes an event of a name in a directory, or of the directory itself. */
static void take_name(struct fanotify_queue *queue, const struct fanotify_event *event)
{
	struct pending_events *pending = queue->pending;
	const struct fanotify_place *place = &event->place;
	bool written = event->mask & (FAN_MODIFY | FAN_CLOSE_WRITE | FAN_ATTRIB);
	uint64_t dir = find_added(queue, place->dir);

	if (!dir)
		take_outside(queue, event);
	if (!dir && !has_ended(queue, place->dir))
		return;
	pending->events++;
	pending->written |= written;
	pending->removed |= event->mask & FAN_DELETE;
	if (!dir)
		pending->set.has_unknown_dir |= written || event->mask & FAN_CREATE;
	else if (is_itself(place))
		pending_events_add(pending, dir, NULL, 0, EVENT_ATTRIBUTES);
	else
		pending_events_add(pending, dir, place->name, place->length,
				   fanotify_events_of(event->mask));
	if (event->mask & FAN_DELETE && event->mask & FAN_ONDIR)
		take_deleted(queue, event->self);
}

static void take_rename(struct fanotify_queue *queue, const struct fanotify_event *event)
{
	struct pending_events *pending = queue->pending;
	bool is_dir = event->mask & FAN_ONDIR;
	uint64_t from = find_added(queue, event->place.dir),
		 to = find_added(queue, event->moved_to.dir);
	uint64_t moved = is_dir ? find_added(queue, event->self) : 0;
	uint32_t arrived = from ? EVENT_MOVED_HERE : EVENT_MOVED_IN;

	if (is_dir && !from)
		arrived |= EVENT_NEW_DIR;
	pending->events += from || to;
	pending->removed |= from || to;
	if (from)
		pending_events_add(pending, from, event->place.name, event->place.length,
				   EVENT_NAME | EVENT_MOVED_AWAY);
	if (to)
		pending_events_add(pending, to, event->moved_to.name, event->moved_to.length,
				   EVENT_NAME | arrived);
	else if (has_ended(queue, event->moved_to.dir))
		pending->set.has_unknown_dir = true;
	else
		pending->moved_out += from != 0;
	if (!from && !to)
		take_outside(queue, event);
	if (moved)
		pending_events_add(pending, moved, NULL, 0, EVENT_ATTRIBUTES);
}

static void fanotify_take_event(struct fanotify_queue *queue, const struct fanotify_event *event)
{
	if (event->mask & FAN_Q_OVERFLOW) {
		queue->pending->events++;
		pending_events_overflow(queue->pending);
	} else if (event->mask & FAN_RENAME) {
		take_rename(queue, event);
	} else {
		take_name(queue, event);
	}
}

/* Reads events once. Adds their number to *count. */
static size_t read_events(struct fanotify_queue *queue, char *buffer, size_t *count)
{
	struct fanotify_event event;
	size_t at = 0;
	ssize_t got = read(queue->group.fd, buffer, QUEUE_BUFFER_BYTES);
	int r;

	if (got < 0 && errno != EAGAIN && errno != EINTR)
		pending_events_overflow(queue->pending); /* events are possibly lost */
	if (got <= 0)
		return 0;
	while ((r = fanotify_event_next(buffer, (size_t)got, &at, &event)) > 0) {
		fanotify_take_event(queue, &event);
		++*count;
	}
	if (r < 0)
		pending_events_overflow(queue->pending);
	return (size_t)got;
}

static size_t fanotify_queue_read(struct fanotify_queue *queue, char *buffer)
{
	size_t count = 0;

	return read_events(queue, buffer, &count);
}

static void fanotify_queue_read_all(struct fanotify_queue *queue, char *buffer)
{
	/* FIONREAD counts each event without its records */
	const size_t each = sizeof(struct fanotify_event_metadata);
	int waiting = 0;
	size_t count = 0;

	if (ioctl(queue->group.fd, FIONREAD, &waiting) < 0) {
		pending_events_overflow(queue->pending);
		return;
	}
	while (count < (size_t)waiting / each) {
		if (read_events(queue, buffer, &count) == 0)
			return;
	}
}

/* ---- fanotify: directories ---------------------------------------------------------- */

static void fanotify_queue_remove(struct fanotify_queue *queue, uint64_t dir)
{
	struct dir_key key;

	if (!dir_table_remove(&queue->directories, dir, &key) || dir_table_find(&queue->ended, key))
		return;
	if (dir_table_add(&queue->ended, key, queue->ended.count + 1) < 0)
		queue->pending->set.has_unknown_dir = true;
}

/* Also returns WATCH_FULL if the directory is on another file system, or if its handle cannot be
 * read. */
static int fanotify_queue_add(struct fanotify_queue *queue, int fd, uint64_t dir, uint64_t *known,
			      char *buffer)
{
	struct fanotify_handle_buffer handle;
	struct dir_key key;
	uint64_t found;
	int r = fanotify_group_handle(&queue->group, fd, &handle);

	if (r < 0)
		return r == -ENOTDIR || r == -ENOMEM ? r : WATCH_FULL;
	key = dir_key_of(handle.bytes, handle.length, queue->seed);
	found = dir_table_find(&queue->directories, key);
	if (found == dir)
		return WATCH_ADDED;
	if (found) {
		*known = found;
		return WATCH_KNOWN;
	}
	for (unsigned int i = 0; i < READS_MAX; i++) {
		if (fanotify_queue_read(queue, buffer) <= QUEUE_BUFFER_BYTES / 2)
			break;
	}
	fanotify_queue_remove(queue, dir);
	return dir_table_add(&queue->directories, key, dir);
}

/* Forgets removed directories, whose events set has_unknown_dir until then. The caller must first
 * read all events. */
static void fanotify_queue_forget_ended(struct fanotify_queue *queue)
{
	dir_table_reset(&queue->ended);
}

/* ---- queue -------------------------------------------------------------------------- */

bool queue_uses_fanotify(const struct queue *queue)
{
	return queue->fanotify.group.fd >= 0;
}

bool queue_reports_links(const struct queue *queue)
{
	return queue_uses_fanotify(queue) && queue->fanotify.group.filesystem.has_inodes;
}

int queue_open(struct queue *queue, const struct queue_settings *settings)
{
	int r = 0;

	*queue = (struct queue){.pending.bit = (uint64_t)1 << settings->number,
				.inotify.fd = -1,
				.fanotify.group.fd = -1,
				.reserve.fd = -1};
	if (settings->group) {
		queue->reserve = *settings->group;
		settings->group->fd = -1;
	}
	if (queue->reserve.fd < 0 || !settings->prefers_fanotify)
		r = inotify_queue_open(&queue->inotify, &queue->pending);
	if (queue->reserve.fd < 0 || (r == 0 && !settings->prefers_fanotify))
		return r;
	fanotify_queue_open(&queue->fanotify, &queue->reserve, &queue->pending);
	return 0;
}

void queue_close(struct queue *queue)
{
	inotify_queue_close(&queue->inotify);
	fanotify_queue_close(&queue->fanotify);
	queue_close_reserve(queue);
	event_set_reset(&queue->pending.set);
	event_set_reset(&queue->pending.inodes);
}

void queue_close_reserve(struct queue *queue)
{
	fanotify_group_close(&queue->reserve);
}

int queue_add(struct queue *queue, int fd, uint64_t dir, uint64_t *known, char *buffer)
{
	int r;

	if (!queue_uses_fanotify(queue)) {
		r = inotify_queue_add(&queue->inotify, fd, dir, known);
		if (r != WATCH_FULL || queue->reserve.fd < 0)
			return r;
		inotify_queue_close(&queue->inotify);
		fanotify_queue_open(&queue->fanotify, &queue->reserve, &queue->pending);
		pending_events_overflow(&queue->pending);
	}
	return fanotify_queue_add(&queue->fanotify, fd, dir, known, buffer);
}

static struct dir_table *directories_of(struct queue *queue)
{
	return queue_uses_fanotify(queue) ? &queue->fanotify.directories
					  : &queue->inotify.directories;
}

void queue_remove(struct queue *queue, uint64_t dir)
{
	if (queue_uses_fanotify(queue))
		fanotify_queue_remove(&queue->fanotify, dir);
	else
		inotify_queue_remove(&queue->inotify, dir);
}

bool queue_has(struct queue *queue, uint64_t dir)
{
	return dir_table_has(directories_of(queue), dir);
}

void queue_renumber(struct queue *queue, uint64_t from, uint64_t to)
{
	struct dir_table *directories = directories_of(queue);

	if (from == to || !dir_table_has(directories, from))
		return;
	queue_remove(queue, to);
	dir_table_renumber(directories, from, to);
}

void queue_note_unmounted(struct queue *queue)
{
	struct inotify_queue inotify;

	if (!queue_uses_fanotify(queue))
		return; /* its watches ended with the file system */
	if (inotify_queue_open(&inotify, &queue->pending) < 0) {
		queue->fanotify.group.filesystem.device = 0;
		return;
	}
	fanotify_queue_close(&queue->fanotify);
	queue->inotify = inotify;
}

size_t queue_directories(const struct queue *queue)
{
	return queue_uses_fanotify(queue) ? queue->fanotify.directories.count
					  : queue->inotify.directories.count;
}

int queue_descriptor(const struct queue *queue)
{
	return queue_uses_fanotify(queue) ? queue->fanotify.group.fd : queue->inotify.fd;
}

bool queue_is_split(const struct queue *queue)
{
	return queue->inotify.rename_is_split;
}

void queue_end_split(struct queue *queue)
{
	queue->inotify.rename_is_split = false;
}

size_t queue_read(struct queue *queue, char *buffer)
{
	if (queue_uses_fanotify(queue))
		return fanotify_queue_read(&queue->fanotify, buffer);
	return inotify_queue_read(&queue->inotify, buffer);
}

void queue_read_all(struct queue *queue, char *buffer)
{
	if (queue_uses_fanotify(queue))
		fanotify_queue_read_all(&queue->fanotify, buffer);
	else
		inotify_queue_read_all(&queue->inotify, buffer);
}

int queue_take(struct queue *queue, struct event_set *set)
{
	fanotify_queue_forget_ended(&queue->fanotify);
	return pending_events_take(&queue->pending, set);
}
