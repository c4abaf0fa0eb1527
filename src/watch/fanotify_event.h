/* SPDX-License-Identifier: MIT */
#ifndef WATCH_FANOTIFY_EVENT_H
#define WATCH_FANOTIFY_EVENT_H

/* Decodes events of fanotify(7) with FAN_REPORT_DFID_NAME_TARGET. Pure code. */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* A file or directory: 8 bytes of the file system's id, then a struct file_handle. */
struct fanotify_handle {
	const char *bytes; /* in the buffer; NULL: the event has none */
	size_t length;
};

/* A name in a directory. */
struct fanotify_place {
	struct fanotify_handle dir;
	const char *name; /* in the buffer, NUL-terminated; "." for the directory itself */
	uint32_t length;
};

struct fanotify_event {
	uint64_t mask; /* FAN_..., or-ed: the kernel merges events */
	struct fanotify_place place; /* of a rename: the old name */
	struct fanotify_place moved_to; /* of a rename only: the new name */
	struct fanotify_handle self; /* the file or directory that has the name */
};

/* Decodes the event at *at and moves *at behind it.
 *
 * event	borrows from the buffer; a part that the kernel did not report has no bytes
 *
 * Returns 1, 0 at the end of the buffer, or -EBADMSG if the bytes are not such an event or lack
 * what changed. */
MUST_CHECK int fanotify_event_next(const char *buffer, size_t length, size_t *at,
				   struct fanotify_event *event);

#endif
