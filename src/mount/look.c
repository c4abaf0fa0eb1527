/* SPDX-License-Identifier: MIT */
#include "mount/look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/numbers.h"
#include "mount/session.h"
#include "view/node.h"
#include "view/view.h"

/* Changes that are told of a folder in one look: more would keep its watchers busy. */
#define EVENTS_MAX 256

/* Names that are remembered of all folders together; of a folder with more nothing is told. */
#define NAMES_MAX 131072

/* How long after a folder was listed for the first time something may still be said of what was in
 * the view by then, while who watches it may have listed it before. */
#define UNSURE_NS 5000000000

/* How often a change is tried where somebody looked its name up in between. */
#define TRIES_MAX 4

/* ---- telling ------------------------------------------------------------------------- */

/* Where that is what was looked up before, the kernel does not ask again. */
static void drop(const struct look *look, const char *name)
{
	(void)fuse_lowlevel_notify_inval_entry(look->session->fuse, look->folder->node, name,
					       strlen(name));
}

/* False: no more, for now or ever. */
static bool tell(struct look *look, const struct nudge *nudge)
{
	struct mounter *mounter = look->session->settings.mounter;
	int r = -EEXIST;

	for (int tries = 0; tries < TRIES_MAX && (r == -EEXIST || r == -ENOENT); tries++) {
		if (nudge->kind != NUDGE_CHANGED)
			drop(look, nudge->name);
		r = mounter_nudge(mounter, nudge, &look->refresher->stopping);
	}
	if (r == -ECANCELED || r == -ECHILD || r == -EPIPE || r == -EOPNOTSUPP || r == -EROFS)
		look->failure = r;
	return look->failure == 0;
}

static bool tell_name(void *context, enum nudge_kind kind, const struct listed_name *name)
{
	struct look *look = context;
	struct pretended *pretended = &look->session->pretended;
	const struct watched_folder *folder = look->folder;
	const char *path = bytes_text(&look->folder->path);
	const struct nudge nudge = {
		.kind = kind,
		.directory = name->directory,
		.folder = folder->node,
		.path = path ? path : "",
		.name = name->text,
	};
	struct pretence pretence = {
		.folder = folder->node,
		.name = name->text,
		.there = kind == NUDGE_WENT,
		.directory = name->directory,
	};
	bool goes_on;

	if (look->events++ >= EVENTS_MAX || !path)
		return false;
	if (look->gone) {
		pretence.above = folder->above;
		pretence.folder_name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	}
	if (kind != NUDGE_CHANGED)
		pretence_begin(pretended, pretence);
	goes_on = tell(look, &nudge);
	pretence_end(pretended);
	return goes_on;
}

/* ---- looking ------------------------------------------------------------------------- */

struct listing {
	struct name_list names;
	uint64_t above;
	size_t room;
	int result;
};

/* Of a directory whatever changes in it is told to who watches that. */
static uint64_t digest_of(const struct stat *attributes)
{
	const uint64_t parts[] = {
		attributes->st_ino,
		(uint64_t)attributes->st_size,
		attributes->st_mode,
		(uint64_t)clock_ns(attributes->st_mtim),
	};

	return S_ISDIR(attributes->st_mode) ? 0 : hash64(parts, sizeof(parts), 0);
}

static bool list_name(const struct view_entry *entry, void *context)
{
	struct listing *listing = context;
	const struct listed_name name = {
		.text = entry->name,
		.directory = S_ISDIR(entry->attributes.st_mode),
		.digest = digest_of(&entry->attributes),
	};

	if (entry->cookie == VIEW_COOKIE_PARENT)
		listing->above = entry->attributes.st_ino;
	if (entry->cookie < VIEW_COOKIE_MIN)
		return true;
	listing->result = listing->names.count < listing->room
				  ? name_list_add(&listing->names, name)
				  : -EOVERFLOW;
	return listing->result == 0;
}

static size_t room_for(const struct refresher *refresher, const struct watched_folder *wanted)
{
	const struct watched_folder *folder, *next;
	size_t used = 0;

	HASH_ITER(hh, refresher->watched, folder, next)
	used += folder == wanted ? 0 : folder->names.count;
	return used < NAMES_MAX ? NAMES_MAX - used : 0;
}

/* What is in the folder now, and where it is. 0, -ENOENT: it is gone, or -errno. */
static int list_folder(const struct look *look, struct listing *listing)
{
	struct watched_folder *folder = look->folder;
	const struct viewer viewer = {.view = look->session->view};
	struct bytes path CLEANUP_BYTES = {0};
	int r = view_path(look->session->view, folder->node, &path);

	if (r == -ESTALE)
		r = -ENOENT;
	listing->room = room_for(look->refresher, folder);
	if (r == 0)
		r = view_list(&viewer, folder->node, 0, list_name, listing);
	if (r == 0)
		r = listing->result;
	if (r < 0)
		return r;
	name_list_sort(&listing->names);
	folder->above = listing->above;
	folder->path.length = 0;
	return bytes_append(&folder->path, path.data, path.length);
}

/* Who came to watch during a look at all processes may not have been found by it: names that were
 * noted since it began stay noted. */
static void keep_later(struct look *look)
{
	struct refresher *refresher = look->refresher;

	look->recent_memory = refresher->recent_memory;
	refresher->recent_memory = (struct arena){0};
	refresher->recent_count = 0;
	for (size_t i = 0; i < look->recent_count; i++) {
		struct recent_name recent = look->recent[i];

		if (recent.number <= look->noted_before)
			continue;
		recent.text =
			arena_copy(&refresher->recent_memory, recent.text, strlen(recent.text));
		if (recent.text)
			refresher->recent[refresher->recent_count++] = recent;
	}
}

static void take_recent(struct look *look)
{
	struct refresher *refresher = look->refresher;

	arena_free(&look->recent_memory);
	(void)pthread_mutex_lock(&refresher->lock);
	look->recent_count = refresher->recent_count;
	memcpy(look->recent, refresher->recent, refresher->recent_count * sizeof(*look->recent));
	if (look->watchers.anybody)
		keep_later(look);
	(void)pthread_mutex_unlock(&refresher->lock);
}

/* Of a folder of which nobody knows what its watchers know: all but the names that just came or
 * went, which are to be told. 0 or -errno. */
static int guess(struct look *look, const struct name_list *now)
{
	struct watched_folder *folder = look->folder;
	const char *texts[RECENT_NAMES_MAX];
	size_t count = 0;
	int r = 0;

	if (!folder->listed) {
		folder->sure_ns = clock_monotonic_ns() + UNSURE_NS;
		r = name_list_copy(&folder->names, now);
	}
	for (size_t i = 0; i < look->recent_count; i++) {
		const struct recent_name *recent = &look->recent[i];

		if (recent->folder == folder->node && recent->number > folder->told)
			texts[count++] = recent->text;
	}
	if (look->recent_count)
		folder->told = look->recent[look->recent_count - 1].number;
	return r < 0 ? r : name_list_unlearn(&folder->names, now, texts, count);
}

static void set_changed(struct refresher *refresher, struct watched_folder *folder)
{
	(void)pthread_mutex_lock(&refresher->lock);
	folder->changed = true;
	(void)pthread_mutex_unlock(&refresher->lock);
}

/* What is different from what its watchers know; what cannot be told now is for the next look. */
static void tell_differences(struct look *look, struct name_list *now)
{
	struct watched_folder *folder = look->folder;
	struct name_list rest;
	int r = name_list_differ(&folder->names, now, tell_name, look, &rest);

	name_list_free(&folder->names);
	if (r == 0 && rest.count) {
		name_list_free(now);
		*now = rest;
		set_changed(look->refresher, folder);
		look->unfinished = true;
	}
}

static void look_at(struct look *look)
{
	struct watched_folder *folder = look->folder;
	struct listing listing = {.result = 0};
	int r = list_folder(look, &listing);

	look->gone = r == -ENOENT;
	look->events = 0;
	if (r == 0 || look->gone) {
		if (!folder->listed ? !look->gone : folder->sure_ns > clock_monotonic_ns())
			r = guess(look, &listing.names);
		if (r == 0 || look->gone)
			tell_differences(look, &listing.names);
		else
			name_list_free(&folder->names);
		folder->listed = true;
		folder->names = listing.names;
		return;
	}
	name_list_free(&listing.names);
	if (r == -EOVERFLOW) {
		name_list_free(&folder->names);
		folder->listed = false;
	}
}

/* ---- who watches --------------------------------------------------------------------- */

static bool is_folder(uint64_t node)
{
	switch ((enum node_kind)node_kind(node)) {
	case NODE_FIXED:
		return node < FIXED_FILES;
	case NODE_DIR:
	case NODE_REDUNDANT:
	case NODE_GROUP:
	case NODE_RANKS:
		return true;
	case NODE_FILE:
	case NODE_LINK:
	case NODE_DEEP_LINK:
	case NODE_STAND_IN:
		break;
	}
	return false;
}

static void forget(struct refresher *refresher, struct watched_folder *folder)
{
	HASH_DEL(refresher->watched, folder);
	name_list_free(&folder->names);
	bytes_free(&folder->path);
	free(folder);
}

static void add_watched(struct refresher *refresher, uint64_t node)
{
	struct watched_folder *folder;

	HASH_FIND(hh, refresher->watched, &node, sizeof(node), folder);
	if (folder || !is_folder(node))
		return;
	folder = calloc(1, sizeof(*folder));
	if (!folder)
		return;
	folder->node = node;
	folder->changed = true;
	HASH_ADD(hh, refresher->watched, node, sizeof(folder->node), folder);
}

static void forget_others(struct refresher *refresher, const uint64_t *inodes, size_t count)
{
	struct watched_folder *folder, *next;

	HASH_ITER(hh, refresher->watched, folder, next)
	{
		if (!bsearch(&folder->node, inodes, count, sizeof(*inodes), numbers_by_value))
			forget(refresher, folder);
	}
}

/* Brings the table up to date. 0 or -errno. */
static int find_watched(struct look *look)
{
	struct refresher *refresher = look->refresher;
	uint64_t inodes[MOUNTER_WATCHED_MAX];
	long found = mounter_find_watched(look->session->settings.mounter, &look->watchers, inodes,
					  &refresher->stopping);
	size_t count = found < 0 ? 0 : numbers_sort_once(inodes, (size_t)found);

	if (found < 0)
		return (int)found;
	(void)pthread_mutex_lock(&refresher->lock);
	if (look->watchers.anybody)
		forget_others(refresher, inodes, count);
	for (size_t i = 0; i < count; i++)
		add_watched(refresher, inodes[i]);
	(void)pthread_mutex_unlock(&refresher->lock);
	view_set_refreshed(look->session->view, HASH_COUNT(refresher->watched));
	return 0;
}

static bool take_changed(struct refresher *refresher, struct watched_folder *folder)
{
	bool changed;

	(void)pthread_mutex_lock(&refresher->lock);
	changed = folder->changed;
	folder->changed = false;
	(void)pthread_mutex_unlock(&refresher->lock);
	return changed;
}

int look_at_all(struct look *look)
{
	struct refresher *refresher = look->refresher;
	struct watched_folder *folder, *next;

	look->unfinished = false;
	look->failure = look->finds ? find_watched(look) : 0;
	look->found_ns = clock_monotonic_ns();
	take_recent(look);
	HASH_ITER(hh, refresher->watched, folder, next)
	{
		if (look->failure == 0 && take_changed(refresher, folder)) {
			look->folder = folder;
			look_at(look);
		}
	}
	if (refresher->watched && look->failure != -ECANCELED)
		mounter_rest(look->session->settings.mounter);
	return look->failure;
}

void look_forget_all(struct refresher *refresher)
{
	struct watched_folder *folder, *next;

	HASH_ITER(hh, refresher->watched, folder, next)
	forget(refresher, folder);
}
