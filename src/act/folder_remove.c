/* SPDX-License-Identifier: MIT */

/* ACT_REMOVE of a folder that has its quarantine name and was checked there: records, then
 * emptying. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "act/folder_act.h"
#include "act/undo.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/size.h"

/* Records that are in memory before they are written to the log. */
#define RECORDS_MAX 1024

/* ---- records -------------------------------------------------------------------------- */

/* Appends the absolute path of a name in a folder. */
static int append_path(struct bytes *path, const struct bytes *folder, const char *dir,
		       const char *name)
{
	int r = bytes_append(path, folder->data, folder->length);

	return r < 0 ? r : bytes_format(path, "/%s%s%s", dir, *dir ? "/" : "", name);
}

/* Reads the target of a symlink. */
static int read_target(const struct folder_name *name, struct bytes *target)
{
	ssize_t length;

	if (bytes_reserve(target, name->of_copy.stx_size + 1) < 0)
		return -ENOMEM;
	length = readlinkat(name->copy, name->name, (char *)target->data,
			    name->of_copy.stx_size + 1);
	if (length < 0 || (uint64_t)length > name->of_copy.stx_size)
		return length < 0 ? -errno : -EAGAIN;
	target->length = (size_t)length;
	return 0;
}

static int write_record(struct folder_act *act, const struct record *record)
{
	CLEANUP_BYTES struct bytes line = {0};
	struct journal *journal = act->session->journal;
	int r = record_encode(&line, record);

	if (r == 0)
		r = bytes_text(&line) ? journal_add_record(journal, bytes_text(&line)) : -ENOMEM;
	if (r < 0 || ++act->records < RECORDS_MAX)
		return r;
	act->records = 0;
	return journal_sync_records(journal);
}

/* Returns what was remembered of a regular file, or NULL if it came into the folder since. */
static const struct folder_memory *memory_of(const struct folder_act *act,
					     const struct folder_name *name)
{
	const struct folder_check *check = &act->check;

	return name->number < check->capacity &&
			       check->memory[name->number].inode == name->of_copy.stx_ino
		       ? &check->memory[name->number]
		       : NULL;
}

static int64_t ns_of(const struct statx_timestamp *time)
{
	return clock_ns((struct timespec){time->tv_sec, (long)time->tv_nsec});
}

/* Adds the record of a name in the folder to the log. */
static int record_name(void *context, struct folder_pair *pair, const struct folder_name *name)
{
	struct folder_act *act = context;
	struct recording *recording = act->session->recording;
	const struct place place = {.directory = name->copy, .name = name->name};
	bool is_regular = S_ISREG(name->of_copy.stx_mode);
	const struct folder_memory *memory = is_regular ? memory_of(act, name) : NULL;
	const struct act_file file = {.hash = memory ? memory->content : (struct hash128){0}};
	CLEANUP_BYTES struct bytes path = {0}, kept = {0}, target = {0};
	CLEANUP_XATTRS struct xattrs xattrs = {0};
	struct record record = act->record;
	int r = append_path(&path, &act->path, folder_current(pair), name->name);

	if (is_regular && !memory)
		return folder_refuse(pair, name->name, ACT_CHANGED);
	if (r == 0)
		r = append_path(&kept, &act->kept_path, folder_current(pair), name->name);
	if (r == 0 && S_ISLNK(name->of_copy.stx_mode))
		r = read_target(name, &target);
	record.type = name->of_copy.stx_mode & S_IFMT;
	record.path = bytes_text(&path);
	record.kept = bytes_text(&kept);
	record.target = S_ISLNK(record.type) ? bytes_text(&target) : NULL;
	record.links = 0;
	record.device = makedev(name->of_copy.stx_rdev_major, name->of_copy.stx_rdev_minor);
	record.kept_inode = name->of_kept.stx_ino;
	record.kept_born_ns = place_born_ns(&name->of_kept);
	record.kept_changed_ns = ns_of(&name->of_kept.stx_ctime);
	if (r < 0 || !record.path || !record.kept || (S_ISLNK(record.type) && !record.target))
		return r < 0 ? r : -ENOMEM;
	r = recording_note_place(recording, &record, &place);
	if (r == 0)
		r = recording_plan(recording, &record, &place, &file, &xattrs);
	if (!S_ISREG(record.type))
		record.size = 0;
	return r < 0 ? r : write_record(act, &record);
}

/* Adds the records of all names in the folder to the log and syncs them. */
static int record_names(struct folder_act *act)
{
	int r = folder_pair_walk(&act->pair, record_name, act);

	return r == 0 ? journal_sync_records(act->session->journal) : r;
}

/* ---- emptying ------------------------------------------------------------------------- */

/* Sets *path to the path of a name in a folder, relative to the source. */
static const char *relative_path(struct bytes *path, const struct act_file *folder,
				 const struct folder_pair *pair, const char *name)
{
	const char *dir = folder_current(pair);
	bool is_root = strcmp(folder->path, FOLDER_ROOT) == 0;
	int r = bytes_format(path, "%s%s%s%s%s", is_root ? "" : folder->path, is_root ? "" : "/",
			     dir, *dir ? "/" : "", name);

	return r < 0 ? NULL : bytes_text(path);
}

/* Removes a file by the last steps of ACT_REMOVE. */
static int remove_as(struct folder_act *act, struct folder_pair *pair, struct one_act *one,
		     const char *name)
{
	bool is_linked = is_same_inode(&one->kept->held.status, &one->copy.held.status);
	int r = 0;

	one->verified_ns = clock_monotonic_ns();
	if (is_linked || one_act_still_holds(one))
		r = one_act_remove_other(one, one_act_still_holds);
	else
		one_act_put_back(one);
	if (r < 0)
		return r;
	act->one.result->freed_bytes =
		size_add(act->one.result->freed_bytes, one->result->freed_bytes);
	act->one.result->freed_is_unknown |= one->result->freed_is_unknown;
	if (one->result->outcome == ACT_DONE)
		return 0;
	pair->result->error = one->result->error;
	return folder_refuse(pair, name, one->result->outcome);
}

static int remove_file(void *context, struct folder_pair *pair, const struct folder_name *name,
		       const char *other, struct folder_files *files)
{
	struct folder_act *act = context;
	CLEANUP_BYTES struct bytes path = {0}, kept_path = {0}, leftover = {0};
	const struct act_file copy = {.source = act->one.copy.file->source,
				      .path = relative_path(&path, act->one.copy.file, pair,
							    name->name)};
	const struct act_file kept = {.source = act->kept.file->source,
				      .path = relative_path(&kept_path, act->kept.file, pair,
							    name->name)};
	struct subject kept_subject = {.file = &kept,
				       .place = {name->kept, name->name},
				       .held = files->kept};
	struct act_result result = {.outcome = ACT_DONE};
	struct intent intent = act->intent;
	struct one_act one = act->one;

	if (!copy.path || !kept.path)
		return -ENOMEM;
	/* gets into the journal only if the bytes of the file have to be saved elsewhere */
	intent.kind = INTENT_AWAY;
	intent.path = copy.path;
	intent.other = other;
	intent.is_emptied = 0;
	intent.number = journal_reserve(act->session->journal);
	one.kept = &kept_subject;
	one.copy = (struct subject){&copy, {name->copy, name->name}, files->copy};
	one.other = other;
	one.intent = &intent;
	one.result = &result;
	one.leftover = &leftover;
	return remove_as(act, pair, &one, name->name);
}

/* Notes that all names in the folder are back. */
static int note_returned(struct folder_act *act)
{
	act->one.result->freed_bytes = 0;
	act->intent.is_emptied = 0;
	return one_act_amend(&act->one, &act->intent, &act->record);
}

/* Copies back what was removed, if the folder has its name again, and notes the records as undone.
 *
 * is_less	whether a name was removed
 */
static void bring_back(struct folder_act *act, bool is_less)
{
	const struct record *record = &act->record;
	int r = act->one.result->outcome == ACT_LEFTOVER
			? -EEXIST
			: durable_sync_changed(act->session->durable);

	if (r == 0)
		r = undo_part(act->session->journal, record->act, record->path);
	if (r == 0)
		r = note_returned(act);
	if (r != 0 && is_less)
		log_warning("some files of %s were removed before this, and are not back: 'twinfs "
			    "undo %s' copies them from %s",
			    quote_path(record->path), record->act, quote_path(record->kept));
}

/* Records the names in the folder, and notes in the journal that it will be emptied. */
static int announce(struct folder_act *act)
{
	struct journal *journal = act->session->journal;
	int r = record_names(act);

	if (r == 0)
		r = sync_directory(act->one.copy.place.directory);
	act->intent.is_emptied = 1;
	if (r == 0)
		r = one_act_amend(&act->one, &act->intent, &act->record);
	return r == 0 ? journal_sync(journal) : r;
}

void folder_act_empty(struct folder_act *act)
{
	struct one_act *one = &act->one;
	struct folder_emptying emptying = {.check = &act->check,
					   .other = one->other,
					   .remove_file = remove_file,
					   .context = act};
	int r = announce(act);

	if (r == 0)
		r = folder_empty(&emptying, &act->pair, &one->copy.place);
	if (r == 0)
		return;
	if (r < 0)
		(void)one_act_fail(one, r);
	one_act_put_back(one);
	bring_back(act, emptying.removed > 0);
}
