/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_WATCHER_NAMES_H
#define MOUNT_WATCHER_NAMES_H

/* The names of a folder at one moment, and what is different at another one. Pure code, any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attributes.h"
#include "mount/watcher_event.h"

struct listed_name {
	const char *text; /* in the list's memory */
	bool directory;
	uint64_t digest; /* of what a change of is to be told: of a directory nothing */
};

/* All zero: empty. */
struct watcher_names {
	struct listed_name *names;
	size_t count, capacity;
	struct arena memory;
};

void watcher_names_free(struct watcher_names *list);

/* Copies the name's text. 0 or -ENOMEM. */
MUST_CHECK int watcher_names_add(struct watcher_names *list, struct listed_name name);

/* Makes an empty list one of the same names. 0 or -ENOMEM, then it is empty. */
MUST_CHECK int watcher_names_copy(struct watcher_names *list, const struct watcher_names *from);

/* Puts it in order of names; then others may be compared with it. */
void watcher_names_sort(struct watcher_names *list);

/* The name, or NULL. */
const struct listed_name *watcher_names_find(const struct watcher_names *list, const char *text);

/* Gives what came, went and changed from before to now, in the order of names, to each until it
 * returns false: then *rest holds, as far as memory allows, before with what was given. Else *rest
 * is empty, and all was given.
 *
 * Returns 0, or -ENOMEM: something was not given, and *rest is empty. */
typedef bool watcher_names_differ_fn(void *context, enum watcher_event_kind kind,
				     const struct listed_name *name);
MUST_CHECK int watcher_names_differ(const struct watcher_names *before,
				    const struct watcher_names *now, watcher_names_differ_fn *each,
				    void *context, struct watcher_names *rest);

/* As if nothing had been heard of these names: those that are there now are taken out of the list,
 * the others are in it. 0 or -errno, the list being as it was. */
MUST_CHECK int watcher_names_forget(struct watcher_names *list, const struct watcher_names *now,
				    const char *const *texts, size_t count);

#endif
