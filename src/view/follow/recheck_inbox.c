/* SPDX-License-Identifier: MIT */
#include "view/follow/recheck_inbox.h"

#include <errno.h>
#include <string.h>

#include "index/query.h"

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

/* ---- requests ------------------------------------------------------------------------ */

static int add_recheck(struct event_set *names, const struct recheck *recheck)
{
	static const uint32_t events_of_scope[] = {
		[RECHECK_NAMES] = 0,
		[RECHECK_LISTING] = EVENT_LISTING,
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
	r = add_recheck(&inbox->names, recheck);
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

/* ---- taking -------------------------------------------------------------------------- */

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
