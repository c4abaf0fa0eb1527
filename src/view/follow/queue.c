/* SPDX-License-Identifier: MIT */
#include "view/follow/queue.h"

#include "view/follow/watch.h"

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
