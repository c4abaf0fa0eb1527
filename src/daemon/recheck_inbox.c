/* SPDX-License-Identifier: MIT */
#include "daemon/recheck_inbox.h"

#include <errno.h>
#include <string.h>

#include "catalog/query.h"

void recheck_inbox_init(struct recheck_inbox *inbox)
{
	*inbox = (struct recheck_inbox){0};
	(void)pthread_mutex_init(&inbox->lock, NULL);
}

void recheck_inbox_deinit(struct recheck_inbox *inbox)
{
	dirty_reset(&inbox->notes);
	bytes_free(&inbox->lost);
	bytes_free(&inbox->bereft);
	bytes_free(&inbox->suspects);
	bytes_free(&inbox->written);
	(void)pthread_mutex_destroy(&inbox->lock);
}

/* ---- telling ------------------------------------------------------------------------- */

static uint32_t why_of(const struct ingest_look_name *name)
{
	uint32_t why = name->flags & LOOK_LOST ? DIRTY_LOST : 0;

	if (name->flags & LOOK_CREATED)
		why |= DIRTY_CREATED;
	else if (name->flags & LOOK_ARRIVED)
		why |= DIRTY_UNSEEN;
	if (name->flags & LOOK_ATTRIBUTES)
		return why | DIRTY_ATTRIBUTES;
	return why | (name->flags & LOOK_SAME_BYTES ? DIRTY_NAME : DIRTY_CONTENT);
}

static int note_look(struct dirty *notes, const struct ingest_look *look)
{
	uint32_t why = look->what == LOOK_DEEP      ? DIRTY_DEEP
		       : look->what == LOOK_LISTING ? DIRTY_LISTING
						    : 0;
	int r = dirty_note(notes, look->dir, NULL, 0, why);

	for (size_t i = 0; r == 0 && i < look->count; i++) {
		const struct ingest_look_name *name = &look->names[i];

		r = dirty_note(notes, look->dir, name->name.bytes, name->name.length, why_of(name));
	}
	return r;
}

void recheck_inbox_look(struct recheck_inbox *inbox, const struct ingest_look *look, bool lost)
{
	int r;

	(void)pthread_mutex_lock(&inbox->lock);
	r = note_look(&inbox->notes, look);
	if (r == 0 && lost)
		r = bytes_append(&inbox->lost, &look->dir, sizeof(look->dir));
	inbox->rescan |= r < 0;
	(void)pthread_mutex_unlock(&inbox->lock);
}

static void add_file(struct recheck_inbox *inbox, struct bytes *list, uint64_t file)
{
	(void)pthread_mutex_lock(&inbox->lock);
	inbox->rescan |= bytes_append(list, &file, sizeof(file)) < 0;
	(void)pthread_mutex_unlock(&inbox->lock);
}

void recheck_inbox_bereft(struct recheck_inbox *inbox, uint64_t file)
{
	add_file(inbox, &inbox->bereft, file);
}

void recheck_inbox_suspect(struct recheck_inbox *inbox, uint64_t file)
{
	add_file(inbox, &inbox->suspects, file);
}

void recheck_inbox_written(struct recheck_inbox *inbox, uint64_t file)
{
	add_file(inbox, &inbox->written, file);
}

void recheck_inbox_rescan(struct recheck_inbox *inbox)
{
	(void)pthread_mutex_lock(&inbox->lock);
	inbox->rescan = true;
	(void)pthread_mutex_unlock(&inbox->lock);
}

bool recheck_inbox_has(struct recheck_inbox *inbox)
{
	bool has;

	(void)pthread_mutex_lock(&inbox->lock);
	has = inbox->notes.count > 0 || inbox->lost.length > 0 || inbox->bereft.length > 0 ||
	      inbox->suspects.length > 0 || inbox->written.length > 0 || inbox->rescan;
	(void)pthread_mutex_unlock(&inbox->lock);
	return has;
}

/* ---- taking -------------------------------------------------------------------------- */

/* A directory that is not at its place: its parent knows more. */
static int note_parent(struct dirty *dirty, struct catalog_reader *reader, uint64_t dir)
{
	char name[NAME_BYTES_MAX + 1] = "";
	struct dir_record record;
	int r = catalog_get_dir(reader, dir, &record);

	if (r < 0 || record.parent == 0)
		return r == -ENOENT ? 0 : r;
	memcpy(name, record.name.bytes, record.name.length);
	return dirty_note(dirty, record.parent, name, record.name.length, DIRTY_NAME);
}

static int note_first_name(struct dirty *dirty, struct catalog_reader *reader, uint64_t id,
			   uint32_t why)
{
	char name[NAME_BYTES_MAX + 1] = "";
	struct entry_record entry;
	struct file_record file;
	int r = catalog_get_file(reader, id, &file);

	if (r == 0 && file.names > 0)
		r = catalog_entry_at(reader, file.dir, file.cookie, &entry);
	if (r != 0 || file.names == 0)
		return r == -ENOENT ? 0 : r;
	memcpy(name, entry.name.bytes, entry.name.length);
	return dirty_note(dirty, entry.dir, name, entry.name.length, why);
}

/* A name of it went. */
static int note_bereft(struct dirty *dirty, struct catalog_reader *reader, uint64_t id)
{
	return note_first_name(dirty, reader, id, DIRTY_NAME);
}

/* Nobody knows what happened to it, if anything did. */
static int note_suspect(struct dirty *dirty, struct catalog_reader *reader, uint64_t id)
{
	return note_first_name(dirty, reader, id, DIRTY_ATTRIBUTES);
}

/* Nobody knows whether it was written to: its content is compared again. */
static int note_written(struct dirty *dirty, struct catalog_reader *reader, uint64_t id)
{
	return note_first_name(dirty, reader, id, DIRTY_CONTENT);
}

/* Notes what each of these ids stands for. */
static int resolve(struct catalog *catalog, const struct bytes *list, struct dirty *dirty,
		   int (*note)(struct dirty *, struct catalog_reader *, uint64_t))
{
	struct catalog_reader *reader CLEANUP_READER = NULL;
	const uint64_t *ids = (const void *)list->data;
	int r = list->length > 0 ? catalog_read_begin(catalog, &reader) : 0;

	for (size_t i = 0; r == 0 && i < list->length / sizeof(*ids); i++)
		r = note(dirty, reader, ids[i]);
	return r;
}

int recheck_inbox_take(struct recheck_inbox *inbox, struct catalog *catalog, struct dirty *dirty,
		       bool *rescan)
{
	struct recheck_inbox taken;
	int r;

	(void)pthread_mutex_lock(&inbox->lock);
	taken = *inbox;
	inbox->notes = (struct dirty){0};
	inbox->lost = inbox->bereft = inbox->suspects = inbox->written = (struct bytes){0};
	inbox->rescan = false;
	(void)pthread_mutex_unlock(&inbox->lock);
	*rescan = taken.rescan;
	r = dirty_merge(dirty, &taken.notes);
	if (r == 0)
		r = resolve(catalog, &taken.lost, dirty, note_parent);
	if (r == 0)
		r = resolve(catalog, &taken.bereft, dirty, note_bereft);
	if (r == 0)
		r = resolve(catalog, &taken.suspects, dirty, note_suspect);
	if (r == 0)
		r = resolve(catalog, &taken.written, dirty, note_written);
	dirty_reset(&taken.notes);
	bytes_free(&taken.lost);
	bytes_free(&taken.bereft);
	bytes_free(&taken.suspects);
	bytes_free(&taken.written);
	return r;
}
