/* SPDX-License-Identifier: MIT */
#include "watch/fanotify_event.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/fanotify.h>

/* Bytes of a record before its handle: the header and the id of the file system. */
#define HANDLE_AT offsetof(struct fanotify_event_info_fid, handle)
#define FILESYSTEM_AT offsetof(struct fanotify_event_info_fid, fsid)

/* Reads the handle of a record. Returns its end, or 0 if the record is too short. */
static size_t read_handle(const char *record, size_t length, struct fanotify_handle *handle)
{
	struct file_handle head;
	size_t end;

	if (length < HANDLE_AT + sizeof(head))
		return 0;
	memcpy(&head, record + HANDLE_AT, sizeof(head));
	if (head.handle_bytes > length - HANDLE_AT - sizeof(head))
		return 0;
	end = HANDLE_AT + sizeof(head) + head.handle_bytes;
	*handle = (struct fanotify_handle){record + FILESYSTEM_AT, end - FILESYSTEM_AT};
	return end;
}

static int read_place(const char *record, size_t length, struct fanotify_place *place)
{
	size_t at = read_handle(record, length, &place->dir), name_length;

	if (at == 0)
		return -EBADMSG;
	name_length = strnlen(record + at, length - at);
	if (name_length == length - at)
		return -EBADMSG;
	place->name = record + at;
	place->length = (uint32_t)name_length;
	return 0;
}

/* Reads a record; other kinds of records are skipped. */
static int read_record(const char *record, size_t length, uint8_t type,
		       struct fanotify_event *event)
{
	switch (type) {
	case FAN_EVENT_INFO_TYPE_DFID_NAME:
	case FAN_EVENT_INFO_TYPE_OLD_DFID_NAME:
		return read_place(record, length, &event->place);
	case FAN_EVENT_INFO_TYPE_NEW_DFID_NAME:
		return read_place(record, length, &event->moved_to);
	case FAN_EVENT_INFO_TYPE_FID:
		return read_handle(record, length, &event->self) == 0 ? -EBADMSG : 0;
	default:
		return 0;
	}
}

static int read_records(const char *records, size_t length, struct fanotify_event *event)
{
	struct fanotify_event_info_header header;
	size_t at = 0;
	int r = 0;

	while (r == 0 && at < length) {
		if (length - at < sizeof(header))
			return -EBADMSG;
		memcpy(&header, records + at, sizeof(header));
		if (header.len < sizeof(header) || header.len > length - at)
			return -EBADMSG;
		r = read_record(records + at, header.len, header.info_type, event);
		at += header.len;
	}
	return r;
}

/* Returns false if the event lacks what changed. The kernel leaves a record out if it cannot make
 * the handle, for example for lack of memory. An event of a file without a directory is complete
 * unless it is about a name. */
static bool is_complete(const struct fanotify_event *event)
{
	if (event->mask & FAN_Q_OVERFLOW)
		return true;
	if (event->mask & FAN_RENAME)
		return event->place.dir.bytes && event->moved_to.dir.bytes;
	if (event->mask & (FAN_CREATE | FAN_DELETE))
		return event->place.dir.bytes;
	return event->place.dir.bytes || event->self.bytes;
}

int fanotify_event_next(const char *buffer, size_t length, size_t *at, struct fanotify_event *event)
{
	struct fanotify_event_metadata metadata;
	int r;

	*event = (struct fanotify_event){0};
	if (*at == length)
		return 0;
	if (length - *at < sizeof(metadata))
		return -EBADMSG;
	memcpy(&metadata, buffer + *at, sizeof(metadata));
	if (metadata.vers != FANOTIFY_METADATA_VERSION || metadata.event_len > length - *at ||
	    metadata.metadata_len < sizeof(metadata) || metadata.metadata_len > metadata.event_len)
		return -EBADMSG;
	event->mask = metadata.mask;
	r = read_records(buffer + *at + metadata.metadata_len,
			 metadata.event_len - metadata.metadata_len, event);
	*at += metadata.event_len;
	if (r < 0)
		return r;
	return is_complete(event) ? 1 : -EBADMSG;
}
