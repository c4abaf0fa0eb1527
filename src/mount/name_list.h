/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_NAME_LIST_H
#define MOUNT_NAME_LIST_H

/* The names of a folder at one moment, and what is different at another one. Pure code, any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attributes.h"
#include "mount/nudge.h"

struct listed_name {
	const char *text; /* in the list's memory */
	bool directory;
	uint64_t digest; /* of what a change of is to be told: of a directory nothing */
};

/* All zero: empty. */
struct name_list {
	struct listed_name *names;
	size_t count, capacity;
	struct arena memory;
};

void name_list_free(struct name_list *list);

/* Copies the name's text. 0 or -ENOMEM. */
MUST_CHECK int name_list_add(struct name_list *list, struct listed_name name);

/* Makes an empty list one of the same names. 0 or -ENOMEM, then it is empty. */
MUST_CHECK int name_list_copy(struct name_list *list, const struct name_list *from);

/* Puts it in order of names; then others may be compared with it. */
void name_list_sort(struct name_list *list);

/* The name, or NULL. */
const struct listed_name *name_list_find(const struct name_list *list, const char *text);

/* Gives what came, went and changed from before to now, in the order of names, to each until it
 * returns false: then *rest holds, as far as memory allows, before with what was given. Else *rest
 * is empty, and all was given.
 *
 * Returns 0, or -ENOMEM: something was not given, and *rest is empty. */
typedef bool name_list_differ_fn(void *context, enum nudge_kind kind,
				 const struct listed_name *name);
MUST_CHECK int name_list_differ(const struct name_list *before, const struct name_list *now,
				name_list_differ_fn *each, void *context, struct name_list *rest);

/* As if nothing had been heard of these names: those that are there now are taken out of the list,
 * the others are in it. 0 or -errno, the list being as it was. */
MUST_CHECK int name_list_unlearn(struct name_list *list, const struct name_list *now,
				 const char *const *texts, size_t count);

#endif
