/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_WATCHER_NAMES_H
#define VIEW_FUSE_WATCHER_NAMES_H

/* The names of a folder at one time, and the differences between two times. Pure code, any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "view/fuse/watcher_event.h"

struct listed_name {
	const char *text; /* name, in the list's arena */
	bool directory;
	/* digest of the attributes whose change raises an event; 0 for a directory */
	uint64_t digest;
};

/* All zero: empty. */
struct watcher_names {
	struct listed_name *names;
	size_t count, capacity;
	struct arena memory;
};

void watcher_names_free(struct watcher_names *list);

/* Adds a copy of a name. Returns 0 or -ENOMEM. */
MUST_CHECK int watcher_names_add(struct watcher_names *list, struct listed_name name);

/* Copies all names to an empty list. Returns 0, or -ENOMEM and leaves it empty. */
MUST_CHECK int watcher_names_copy(struct watcher_names *list, const struct watcher_names *from);

/* Sorts the list. Must be called before the list is searched or compared. */
void watcher_names_sort(struct watcher_names *list);

/* Returns the name, or NULL. */
const struct listed_name *watcher_names_find(const struct watcher_names *list, const char *text);

/* Calls each for every name that was created, deleted or changed from before to now, sorted by
 * name, until it returns false. If each returned false, *rest becomes the list before, with those
 * differences applied for which each returned true. If not, *rest is empty.
 *
 * Returns 0, or -ENOMEM: the report is incomplete and *rest is empty. */
typedef bool watcher_names_differ_fn(void *context, enum watcher_event_kind kind,
				     const struct listed_name *name);
MUST_CHECK int watcher_names_differ(const struct watcher_names *before,
				    const struct watcher_names *now, watcher_names_differ_fn *each,
				    void *context, struct watcher_names *rest);

/* Changes a list so that these names differ from now: names that exist in now are removed from the
 * list, other names are added. Returns 0, or -errno and leaves the list unchanged. */
MUST_CHECK int watcher_names_mark_changed(struct watcher_names *list,
					  const struct watcher_names *now, const char *const *texts,
					  size_t count);

#endif
