/* SPDX-License-Identifier: MIT */
#include "view/follow/rechecks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "index/change.h"
#include "index/own.h"
#include "index/paths.h"
#include "index/query.h"

/* ---- requests ----------------------------------------------------------------------- */

struct file_request {
	uint64_t file;
	uint32_t events;
};

void recheck_inbox_init(struct recheck_inbox *inbox)
{
	*inbox = (struct recheck_inbox){0};
	pthread_mutex_init(&inbox->lock, NULL);
}

static void free_requests(struct recheck_inbox *inbox)
{
	event_set_reset(&inbox->names);
	bytes_free(&inbox->files);
	bytes_free(&inbox->dirs);
}

void recheck_inbox_deinit(struct recheck_inbox *inbox)
{
	free_requests(inbox);
	pthread_mutex_destroy(&inbox->lock);
}

/* ---- requests ----------------------------------------------------------------------- */

static int add_request(struct event_set *names, const struct recheck *recheck)
{
	static const uint32_t events_of_scope[] = {
		[RECHECK_NAMES] = 0,
		[RECHECK_LISTING] = EVENT_LISTING,
		[RECHECK_POLL] = EVENT_LISTING,
		[RECHECK_TREE] = EVENT_TREE,
	};
	int r = event_set_add(names, recheck->dir, NULL, 0, events_of_scope[recheck->scope]);

	for (size_t i = 0; r == 0 && i < recheck->count; i++)
		r = event_set_add_again(names, recheck->names[i]);
	return r;
}

void recheck_inbox_add(struct recheck_inbox *inbox, const struct recheck *recheck, bool misplaced)
{
	int r;

	pthread_mutex_lock(&inbox->lock);
	r = add_request(&inbox->names, recheck);
	if (r == 0 && misplaced)
		r = bytes_append(&inbox->dirs, &recheck->dir, sizeof(recheck->dir));
	inbox->rescan |= r < 0;
	pthread_mutex_unlock(&inbox->lock);
}

void recheck_inbox_add_file(struct recheck_inbox *inbox, uint64_t file, enum name_event events)
{
	const struct file_request request = {.file = file, .events = events};

	pthread_mutex_lock(&inbox->lock);
	inbox->rescan |= bytes_append(&inbox->files, &request, sizeof(request)) < 0;
	pthread_mutex_unlock(&inbox->lock);
}

void recheck_inbox_add_rescan(struct recheck_inbox *inbox)
{
	pthread_mutex_lock(&inbox->lock);
	inbox->rescan = true;
	pthread_mutex_unlock(&inbox->lock);
}

bool recheck_inbox_has_requests(struct recheck_inbox *inbox)
{
	bool has;

	pthread_mutex_lock(&inbox->lock);
	has = inbox->names.count > 0 || inbox->files.length > 0 || inbox->dirs.length > 0 ||
	      inbox->rescan;
	pthread_mutex_unlock(&inbox->lock);
	return has;
}

bool recheck_inbox_has_failed(struct recheck_inbox *inbox)
{
	bool has;

	pthread_mutex_lock(&inbox->lock);
	has = inbox->dirs.length > 0 || inbox->rescan;
	pthread_mutex_unlock(&inbox->lock);
	return has;
}

/* ---- linked files ------------------------------------------------------------------- */

/* Files that were changed by a hard link outside of the sources. One thread. */

static int add_linked_file(const struct sources *sources, struct catalog_reader *reader,
			   const struct name_events *changed, struct recheck_inbox *inbox)
{
	struct dir_record root;
	uint64_t inode, file = 0;
	int r = catalog_get_dir(reader, sources->list[changed->dir - 1].root, &root);

	memcpy(&inode, changed->name, sizeof(inode));
	if (r == 0)
		r = catalog_find_inode(reader, root.attributes.filesystem, inode, &file);
	if (r == 0 && file)
		recheck_inbox_add_file(inbox, file, changed->events);
	return r == -ENOENT ? 0 : r;
}

int linked_files_note(const struct sources *sources, const struct event_set *inodes,
		      struct recheck_inbox *inbox)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	AUTO_FREE const struct name_events **list = NULL;
	size_t count;
	int r;

	if (inodes->count == 0)
		return 0;
	r = event_set_list(inodes, &list, &count);
	if (r == 0)
		r = catalog_read_begin(sources->catalog, &reader);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_linked_file(sources, reader, list[i], inbox);
	return r;
}

/* ---- taking ------------------------------------------------------------------------- */

static int add_name(struct event_set *events, uint64_t dir, struct name name, uint32_t why)
{
	char text[NAME_BYTES_MAX + 1] = "";

	memcpy(text, name.bytes, name.length);
	return event_set_add(events, dir, text, name.length, why);
}

/* Adds the name of the directory in its parent. */
static int add_dir(struct event_set *events, struct catalog_reader *reader, uint64_t dir)
{
	struct dir_record record;
	int r = catalog_get_dir(reader, dir, &record);

	if (r < 0 || record.parent == 0)
		return r == -ENOENT ? 0 : r;
	return add_name(events, record.parent, record.name, EVENT_NAME);
}

/* Adds the first name of the file. */
static int add_file(struct event_set *events, struct catalog_reader *reader,
		    const struct file_request *request)
{
	struct entry_record entry;
	struct file_record file;
	int r = catalog_get_file(reader, request->file, &file);

	if (r == 0 && file.names > 0)
		r = catalog_entry_at(reader, file.dir, file.cookie, &entry);
	if (r != 0 || file.names == 0)
		return r == -ENOENT ? 0 : r;
	return add_name(events, entry.dir, entry.name, request->events);
}

static int resolve(struct catalog *catalog, const struct recheck_inbox *taken,
		   struct event_set *events)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	const uint64_t *dirs = (const void *)taken->dirs.data;
	const struct file_request *files = (const void *)taken->files.data;
	int r = 0;

	if (taken->dirs.length > 0 || taken->files.length > 0)
		r = catalog_read_begin(catalog, &reader);
	for (size_t i = 0; r == 0 && i < taken->dirs.length / sizeof(*dirs); i++)
		r = add_dir(events, reader, dirs[i]);
	for (size_t i = 0; r == 0 && i < taken->files.length / sizeof(*files); i++)
		r = add_file(events, reader, &files[i]);
	return r;
}

int recheck_inbox_take(struct recheck_inbox *inbox, struct catalog *catalog,
		       struct event_set *events, bool *rescan)
{
	struct recheck_inbox taken;
	int r;

	pthread_mutex_lock(&inbox->lock);
	taken = *inbox;
	inbox->names = (struct event_set){0};
	inbox->files = inbox->dirs = (struct bytes){0};
	inbox->rescan = false;
	pthread_mutex_unlock(&inbox->lock);
	*rescan = taken.rescan;
	r = event_set_merge(events, &taken.names);
	if (r == 0)
		r = resolve(catalog, &taken, events);
	free_requests(&taken);
	return r;
}

/* ---- written files ------------------------------------------------------------------ */

static int add_written(struct catalog_reader *reader, const struct name_events *dirty,
		       enum rename_trust *trust, struct bytes *written)
{
	struct name name = {dirty->name, dirty->length};
	bool seen = dirty->events & EVENT_WRITTEN;
	struct written_file file = {.closed = !seen || dirty->events & EVENT_CLOSED};
	struct entry_record entry;
	int r = catalog_find_entry(reader, dirty->dir, name, &entry);

	if (r == -ENOENT || (r == 0 && entry.kind != ENTRY_FILE)) {
		if (seen)
			rename_trust_lower(trust, RENAME_UNTRUSTED);
		return 0;
	}
	file.file = r == 0 ? entry.child : 0;
	return r < 0 ? r : bytes_append(written, &file, sizeof(file));
}

static int find_written(enum rename_trust *trust, struct catalog *catalog,
			const struct name_events *const *list, size_t count, struct bytes *written)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	uint32_t effects;
	int r = catalog_read_begin(catalog, &reader);

	for (size_t i = 0; r == 0 && i < count; i++) {
		effects = name_event_effects(list[i]->events);
		if (effects & EFFECT_UNTRUSTS)
			rename_trust_lower(trust, RENAME_UNTRUSTED);
		if (effects & EFFECT_HIDES && list[i]->length > 0)
			r = add_written(reader, list[i], trust, written);
	}
	return r;
}

static int hide_files(struct catalog_writer *w, void *context)
{
	const struct bytes *written = context;
	const struct written_file *files = (const void *)written->data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < written->length / sizeof(*files); i++)
		r = catalog_forget_contents(w, &files[i].file, 1);
	return r;
}

int written_files_hide(struct catalog *catalog, const struct name_events *const *list, size_t count,
		       enum rename_trust *trust, struct bytes *written)
{
	int r = find_written(trust, catalog, list, count, written);

	return r < 0 || written->length == 0 ? r : catalog_write(catalog, hide_files, written);
}

/* ---- recheck plan ------------------------------------------------------------------- */

static enum recheck_scope scope_of(const struct dir_record *record, uint32_t events)
{
	if (events & EVENT_TREE)
		return RECHECK_TREE;
	/* a recheck of the parent detects changed attributes, but the root of a source has no
	 * parent in the index */
	if (events & EVENT_LISTING || (record->parent == 0 && events & EVENT_ATTRIBUTES))
		return RECHECK_LISTING;
	return RECHECK_NAMES;
}

/* The events of one directory and its names. */
struct dir_events {
	const struct name_events *const *list;
	size_t count;
};

/* Returns whether any of the names is possibly a link to a file that has another name. */
static bool may_hold_link(struct dir_events run)
{
	for (size_t i = 0; i < run.count; i++) {
		if (run.list[i]->length > 0 &&
		    name_event_effects(run.list[i]->events) & EFFECT_MAY_BE_LINK)
			return true;
	}
	return false;
}

/* Returns whether the mark of a folder of twinfs has an event. It decides about all names. */
static bool has_mark(struct dir_events run)
{
	for (size_t i = 0; i < run.count; i++) {
		if (own_is_mark(run.list[i]->name, run.list[i]->length))
			return true;
	}
	return false;
}

/* Sets (*whole)[n] to whether an event requests a recheck of the whole source n. The caller frees
 * *whole. */
static int find_whole(const struct sources *sources, const struct name_events *const *list,
		      size_t count, bool **whole)
{
	*whole = calloc(sources->count, sizeof(**whole));
	if (!*whole)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (list[i]->length > 0 || !(list[i]->events & EVENT_TREE))
			continue;
		for (size_t n = 0; n < sources->count; n++)
			(*whole)[n] |= sources->list[n].root == list[i]->dir;
	}
	return 0;
}

/* Adds the recheck of one directory. */
static int add_recheck(struct recheck_plan *plan, const struct sources *sources, const bool *whole,
		       struct catalog_reader *reader, struct dir_events run)
{
	const struct name_events *first = run.list[0];
	size_t itself = first->length == 0; /* the first entry is that of the directory itself */
	struct recheck recheck = {.dir = first->dir, .trust = plan->trust};
	struct dir_record record;
	int r = catalog_get_dir(reader, first->dir, &record);

	if (r == -ENOENT)
		plan->needs_walk |= may_hold_link(run);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (record.source >= sources->count)
		return -EUCLEAN;
	if (atomic_load(&sources->list[record.source].missing))
		return 0; /* the whole source is rechecked when it is back */
	if (whole[record.source] && record.parent != 0)
		return 0;
	if (itself)
		recheck.scope = scope_of(&record, first->events);
	if (recheck.scope == RECHECK_NAMES && has_mark(run))
		recheck.scope = RECHECK_LISTING;
	if (recheck.scope != RECHECK_NAMES && !whole[record.source])
		plan->needs_walk |= may_hold_link(run);
	if (recheck.scope == RECHECK_NAMES) {
		recheck.names = run.list + itself;
		recheck.count = run.count - itself;
	}
	plan->list[plan->count] = recheck;
	if (recheck.scope == RECHECK_TREE) {
		plan->list[plan->count] = plan->list[plan->tree_count];
		plan->list[plan->tree_count++] = recheck;
	}
	plan->count++;
	return 0;
}

int recheck_plan_make(struct recheck_plan *plan, const struct sources *sources,
		      const struct name_events *const *list, size_t count)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	AUTO_FREE bool *whole = NULL;
	int r = catalog_read_begin(sources->catalog, &reader);

	if (r == 0)
		r = find_whole(sources, list, count, &whole);
	plan->list = calloc(count ? count : 1, sizeof(*plan->list));
	if (!plan->list)
		return -ENOMEM;
	for (size_t i = 0, end; r == 0 && i < count; i = end) {
		end = i + 1;
		while (end < count && list[end]->dir == list[i]->dir)
			end++;
		r = add_recheck(plan, sources, whole, reader,
				(struct dir_events){list + i, end - i});
	}
	return r;
}

void recheck_plan_free(struct recheck_plan *plan)
{
	free(plan->list);
	*plan = (struct recheck_plan){0};
}
