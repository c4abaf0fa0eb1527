/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/kernel.h"
#include "scan/ingest.h"
#include "view/follow/queue.h"
#include "view/follow/watch.h"

/* Maximum number of reads before a directory is added. Together they read more events than a queue
 * holds, so a program that writes without pause cannot block the addition for ever. */
#define READS_MAX 64

void fanotify_queue_open(struct fanotify_queue *queue, struct fanotify_group *group,
			 struct pending_events *pending)
{
	*queue = (struct fanotify_queue){.group = *group, .pending = pending};
	group->fd = -1;
	/* without random bytes, the seed stays 0 */
	(void)!random_fill(&queue->seed, sizeof(queue->seed));
}

void fanotify_queue_close(struct fanotify_queue *queue)
{
	fanotify_group_close(&queue->group);
	dir_table_reset(&queue->directories);
	dir_table_reset(&queue->ended);
}

/* ---- events -------------------------------------------------------------------------- */

static struct dir_key key_of(const struct fanotify_queue *queue, struct fanotify_handle handle)
{
	return dir_key_of(handle.bytes, handle.length, queue->seed);
}

/* Returns the number of a directory, or 0 if it was not added. */
static uint64_t find(const struct fanotify_queue *queue, struct fanotify_handle handle)
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

static uint32_t events_of(uint64_t mask)
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
	uint64_t dir = find(queue, handle);

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
	uint64_t dir = find(queue, place->dir);

	if (!dir)
		take_outside(queue, event);
	if (!dir && !has_ended(queue, place->dir))
		return;
	pending->events++;
	pending->written |= written;
	if (!dir)
		pending->set.has_unknown_dir |= written || event->mask & FAN_CREATE;
	else if (is_itself(place))
		pending_events_add(pending, dir, NULL, 0, EVENT_ATTRIBUTES);
	else
		pending_events_add(pending, dir, place->name, place->length,
				   events_of(event->mask));
	if (event->mask & FAN_DELETE && event->mask & FAN_ONDIR)
		take_deleted(queue, event->self);
}

static void take_rename(struct fanotify_queue *queue, const struct fanotify_event *event)
{
	struct pending_events *pending = queue->pending;
	bool is_dir = event->mask & FAN_ONDIR;
	uint64_t from = find(queue, event->place.dir), to = find(queue, event->moved_to.dir);
	uint64_t moved = is_dir ? find(queue, event->self) : 0;
	uint32_t arrived = from ? EVENT_MOVED_HERE : EVENT_MOVED_IN;

	if (is_dir && !from)
		arrived |= EVENT_NEW_DIR;
	pending->events += from || to;
	if (from)
		pending_events_add(pending, from, event->place.name, event->place.length,
				   EVENT_NAME);
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

static void take_event(struct fanotify_queue *queue, const struct fanotify_event *event)
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
		take_event(queue, &event);
		++*count;
	}
	if (r < 0)
		pending_events_overflow(queue->pending);
	return (size_t)got;
}

size_t fanotify_queue_read(struct fanotify_queue *queue, char *buffer)
{
	size_t count = 0;

	return read_events(queue, buffer, &count);
}

void fanotify_queue_read_all(struct fanotify_queue *queue, char *buffer)
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

/* ---- directories --------------------------------------------------------------------- */

int fanotify_queue_add(struct fanotify_queue *queue, int fd, uint64_t dir, uint64_t *known,
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

void fanotify_queue_remove(struct fanotify_queue *queue, uint64_t dir)
{
	struct dir_key key;

	if (!dir_table_remove(&queue->directories, dir, &key) || dir_table_find(&queue->ended, key))
		return;
	if (dir_table_add(&queue->ended, key, queue->ended.count + 1) < 0)
		queue->pending->set.has_unknown_dir = true;
}

void fanotify_queue_forget_ended(struct fanotify_queue *queue)
{
	dir_table_reset(&queue->ended);
}
