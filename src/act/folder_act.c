/* SPDX-License-Identifier: MIT */

/* Removes or moves a whole folder that is equal to a kept one, or leaves it as it is. No content is
 * lost, even if other programs change the folders meanwhile. These steps protect it, in this order:
 *
 *	open		Both folders are opened below their sources. They must be the indexed
 *			directories, and neither may contain the other, a source or the index.
 *	comparison	folder_check_run() reads all names from the disk. Each name must be in the
 *			kept folder, too, with the same type and content; files are compared under
 *			leases, and no mount point may be in the folders.
 *	sync		The file system of the kept folder is synced.
 *	journal		The intent is on the disk before the rename (act/journal.h).
 *	quarantine	The folder is renamed to a private name in its directory, so that no program
 *			can open a file in it by its path.
 *	second check	All names are read again, and each file must be free of writers and be
 *			unchanged, or equal still. The kept folder must be at its path. If a check
 *			fails, the folder gets its own name back.
 *	move, trash	The folder is renamed into the destination or the trash.
 *	records		The log gets a record of each name, for undo, and the journal notes that the
 *			folder will be emptied.
 *	emptying	Each file is checked under leases once more and then removed as by
 *			ACT_REMOVE, with a last check. If a check fails, the folder gets its name
 *			back, and what was removed is copied back from the kept folder (act/undo.h).
 *
 * If the process is killed, recovery gives the folder its name back, or completes the emptying if
 * the kept folder still has all that is left. One thread. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "act/act.h"
#include "act/folder_check.h"
#include "act/one_act.h"
#include "act/trash.h"
#include "act/undo.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/path.h"
#include "base/stop.h"

/* One act on a folder. */
struct folder_act {
	struct act_entry entry;
	struct one_act one; /* the folder as the copy; its held.fd is open for reading */
	struct subject kept; /* the kept folder, as above */
	struct folder_pair pair;
	struct folder_check check;
	struct bytes leftover;
	size_t records; /* in memory */
};

/* ---- removing the folder -------------------------------------------------------------- */

/* The folder has its quarantine name and was checked there. The records come first, then its names
 * are removed. */

/* Records that are in memory before they are written to the log. */
#define RECORDS_MAX 1024

/* ---- records -------------------------------------------------------------------------- */

/* Appends the absolute path of a name in a folder. */
static int append_path(struct bytes *path, const char *folder, const char *dir, const char *name)
{
	return bytes_format(path, "%s/%s%s%s", folder, dir, *dir ? "/" : "", name);
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
	struct journal *journal = act->one.session->journal;
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
	struct recording *recording = &act->one.session->recording;
	const struct place place = {.directory = name->copy, .name = name->name};
	bool is_regular = S_ISREG(name->of_copy.stx_mode);
	const struct folder_memory *memory = is_regular ? memory_of(act, name) : NULL;
	CLEANUP_BYTES struct bytes path = {0}, kept = {0}, target = {0};
	CLEANUP_XATTRS struct xattrs xattrs = {0};
	struct record record = act->entry.record;
	int r = append_path(&path, act->entry.record.path, folder_current(pair), name->name);

	if (is_regular && !memory)
		return folder_refuse(pair, name->name, ACT_CHANGED);
	if (r == 0)
		r = append_path(&kept, act->entry.record.kept, folder_current(pair), name->name);
	if (r == 0 && S_ISLNK(name->of_copy.stx_mode))
		r = read_target(name, &target);
	record.type = name->of_copy.stx_mode & S_IFMT;
	record.path = bytes_text(&path);
	record.kept = bytes_text(&kept);
	record.target = S_ISLNK(record.type) ? bytes_text(&target) : NULL;
	record.hash = memory ? memory->content : (struct hash128){0};
	record.links = 0;
	record.device = makedev(name->of_copy.stx_rdev_major, name->of_copy.stx_rdev_minor);
	record.kept_inode = name->of_kept.stx_ino;
	record.kept_born_ns = place_born_ns(&name->of_kept);
	record.kept_changed_ns = ns_of(&name->of_kept.stx_ctime);
	if (r < 0 || !record.path || !record.kept || (S_ISLNK(record.type) && !record.target))
		return r < 0 ? r : -ENOMEM;
	r = recording_note_place(recording, &record, &place);
	if (r == 0)
		r = recording_plan(recording, &record, &place, &xattrs);
	if (!S_ISREG(record.type))
		record.size = 0;
	return r < 0 ? r : write_record(act, &record);
}

/* Adds the records of all names in the folder to the log and syncs them. */
static int record_names(struct folder_act *act)
{
	int r = folder_pair_walk(&act->pair, record_name, act);

	return r == 0 ? journal_sync_records(act->one.session->journal) : r;
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
	struct act_entry entry = act->entry;
	struct intent *intent = &entry.intent;
	struct one_act one = act->one;

	if (!copy.path || !kept.path)
		return -ENOMEM;
	/* gets into the journal only if the bytes of the file have to be saved elsewhere */
	intent->kind = INTENT_AWAY;
	intent->path = copy.path;
	intent->other = other;
	intent->is_emptied = 0;
	intent->number = journal_reserve(act->one.session->journal);
	one.entry = &entry;
	one.kept = &kept_subject;
	one.copy = (struct subject){&copy, {name->copy, name->name}, files->copy};
	one.other = other;
	one.result = &result;
	one.leftover = &leftover;
	return remove_as(act, pair, &one, name->name);
}

/* Notes that all names in the folder are back. */
static int note_returned(struct folder_act *act)
{
	act->one.result->freed_bytes = 0;
	act->entry.intent.is_emptied = 0;
	return one_act_amend(&act->one, &act->entry.intent, &act->entry.record);
}

/* Copies back what was removed, if the folder has its name again, and notes the records as undone.
 *
 * is_less	whether a name was removed
 */
static void bring_back(struct folder_act *act, bool is_less)
{
	const struct record *record = &act->entry.record;
	int r = act->one.result->outcome == ACT_LEFTOVER
			? -EEXIST
			: durable_sync_changed(&act->one.session->durable);

	if (r == 0)
		r = undo_part(act->one.session->journal, record->act, record->path);
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
	struct journal *journal = act->one.session->journal;
	int r = record_names(act);

	if (r == 0)
		r = sync_directory(act->one.copy.place.directory);
	act->entry.intent.is_emptied = 1;
	if (r == 0)
		r = one_act_amend(&act->one, &act->entry.intent, &act->entry.record);
	return r == 0 ? journal_sync(journal) : r;
}

/* Empties and removes the folder, which has its quarantine name, and fills in the result. If a step
 * fails, the folder gets its own name back with all that was in it. */
static void folder_act_empty(struct folder_act *act)
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

/* ---- one act -------------------------------------------------------------------------- */

static void folder_act_free(struct folder_act *act)
{
	subject_close(&act->one.copy);
	subject_close(&act->kept);
	folder_pair_free(&act->pair);
	folder_check_free(&act->check);
	xattrs_free(&act->entry.xattrs);
	bytes_free(&act->leftover);
}

static void folder_act_init(struct folder_act *act, struct act_session *session,
			    const struct act_file *kept, const struct act_file *copy,
			    struct act_result *result)
{
	const struct act_settings *settings = session->settings;

	*result = (struct act_result){.outcome = ACT_DONE};
	*act = (struct folder_act){
		.entry = {.is_folder = true, .kept = *kept, .copy = *copy},
		.one = {.settings = settings,
			.session = session,
			.copy = {.file = copy, .place.directory = -1, .held.fd = -1},
			.result = result},
		.kept = {.file = kept, .place.directory = -1, .held.fd = -1},
		.pair = {.kept = -1, .copy = -1, .result = result},
		.check = {.depth = FOLDER_LOOK,
			  .without_leases = settings->without_leases,
			  .is_emptied = settings->kind == ACT_REMOVE},
	};
	journal_other_name(act->entry.other);
	act->one.entry = &act->entry;
	act->one.kept = &act->kept;
	act->one.other = act->entry.other;
	act->one.leftover = &act->leftover;
}

/* ---- opening the folders -------------------------------------------------------------- */

/* Opens a folder of the index. Returns false and fills in the outcome if it is another one. */
static bool open_folder(struct folder_act *act, struct subject *subject, bool kept)
{
	const struct sources *sources = act->one.settings->sources;
	const struct act_file *file = subject->file;
	struct held *held = &subject->held;
	struct attributes attributes;
	const char *name;
	int r = place_open(&subject->place, sources, file->source, file->path);

	if (r == 0) {
		name = strcmp(file->path, FOLDER_ROOT) == 0 ? "" : subject->place.name;
		held->fd = open_beneath_for_reading(subject->place.directory, name, O_DIRECTORY,
						    kept && sources->cross_mounts);
		r = held->fd < 0 ? held->fd : 0;
	}
	if (r == -EXDEV)
		return one_act_refuse(&act->one, ACT_MOUNT_INSIDE);
	if (r == 0 && fstat(held->fd, &held->status) < 0)
		r = -errno;
	if (r == 0)
		r = source_attributes(sources->catalog, held->fd, &attributes);
	if (r == 0 && attributes_same_inode(&attributes, file->attributes))
		return true;
	act->one.result->error = r < 0 ? -r : 0;
	return one_act_refuse(&act->one, held_outcome(r < 0 ? r : HELD_CHANGED, kept));
}

/* Returns true if the directory is not in the copy. If not, fills in the outcome. */
static bool is_outside(struct folder_act *act, int directory, enum act_outcome outcome)
{
	bool inside;
	int r = find_within(directory, &act->one.copy.held.status, &inside);

	if (r < 0)
		return one_act_fail(&act->one, r);
	return !inside || one_act_refuse(&act->one, outcome);
}

/* Checks that neither folder contains the other, and that the copy contains no source, no index and
 * not the default folder of indexes. Paths do not show this, as a folder can be mounted a second
 * time. */
static bool is_apart(struct folder_act *act)
{
	const struct act_settings *settings = act->one.settings;
	const struct sources *sources = settings->sources;
	AUTO_CLOSE int index = -1, state = -1;
	bool inside;
	int r;

	if (is_same_inode(&act->kept.held.status, &act->one.copy.held.status))
		return one_act_refuse(&act->one, ACT_SAME_FOLDER);
	for (size_t i = 0; i < sources->count; i++) {
		if (sources->list[i].fd >= 0 &&
		    !is_outside(act, sources->list[i].fd, ACT_HAS_SOURCE))
			return false;
	}
	index = open(catalog_folder(sources->catalog), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (index >= 0 && !is_outside(act, index, ACT_HAS_SOURCE))
		return false;
	state = own_open_state_folder();
	if (state >= 0 && !is_outside(act, state, ACT_HAS_SOURCE))
		return false;
	if (own_is_private_path(act->one.copy.file->path) ||
	    own_has_directory(&sources->own, sources->catalog, act->one.copy.held.fd) ||
	    own_has_directory(&sources->own, sources->catalog, act->kept.held.fd))
		return one_act_refuse(&act->one, ACT_OWN);
	if (!is_outside(act, act->kept.held.fd, ACT_NESTED))
		return false;
	r = find_within(act->one.copy.held.fd, &act->kept.held.status, &inside);
	if (r < 0)
		return one_act_fail(&act->one, r);
	return !inside || one_act_refuse(&act->one, ACT_NESTED);
}

static bool open_folders(struct folder_act *act)
{
	const struct act_settings *settings = act->one.settings;
	enum act_outcome around;

	if (!open_folder(act, &act->kept, true) || !open_folder(act, &act->one.copy, false) ||
	    !is_apart(act))
		return false;
	around = one_act_examine_folders(&act->one, &act->kept);
	if (around != ACT_DONE)
		return one_act_refuse(&act->one, around);
	act->pair.kept = act->kept.held.fd;
	act->pair.copy = act->one.copy.held.fd;
	if (entry_set_destination(act->one.session, &act->entry) < 0)
		return one_act_fail(&act->one, -ENOMEM);
	if (settings->kind != ACT_MOVE)
		return true;
	return can_rename_between(act->one.session->destination, act->one.copy.place.directory) ||
	       one_act_refuse(&act->one, ACT_ACROSS);
}

/* Runs a check of the whole folder. Fills in the outcome if it returns false. */
static bool check_all(struct folder_act *act, enum folder_depth depth)
{
	int r;

	act->check.depth = depth;
	r = folder_check_run(&act->check, &act->pair);
	act->one.result->folder = act->check.found;
	return r == 0 || (r < 0 && one_act_fail(&act->one, r));
}

static void try(struct folder_act *act)
{
	enum act_kind kind = act->one.settings->kind;

	if (!open_folders(act) || !one_act_name_can_go(&act->one) ||
	    (kind == ACT_MOVE && !act_may_move(&act->one)) ||
	    (kind == ACT_TRASH && !act_may_trash(&act->one)) || !check_all(act, FOLDER_LOOK))
		return;
	if (kind == ACT_REMOVE)
		one_act_note_freed(&act->one, act->check.own_bytes, layer_of(act->pair.copy));
}

void folder_act_try(struct act_session *session, const struct act_file *kept,
		    const struct act_file *copy, struct act_result *result, struct bytes *inside)
{
	CLEANUP(folder_act_free) struct folder_act act;

	folder_act_init(&act, session, kept, copy, result);
	act.check.links = session->links;
	try(&act);
	session->links = act.check.links;
	act.check.links = (struct bytes){.length = 0};
	bytes_free(inside);
	*inside = act.pair.inside;
	act.pair.inside = (struct bytes){.length = 0};
}

/* ---- the folder under its quarantine name --------------------------------------------- */

/* Returns true if the kept folder is another one than the copy, which was renamed, and is at its
 * path. If not, fills in the outcome. */
static bool kept_is_in_place(struct one_act *one)
{
	const struct subject *kept = one->kept;

	if (held_is_itself(&kept->held, &one->copy.held))
		return one_act_refuse(one, ACT_KEPT_ITSELF);
	return (place_leads_to(&kept->place, kept->place.name, &kept->held.status) &&
		place_is_at(&kept->place, one->settings->sources, kept->file->source,
			    kept->file->path)) ||
	       one_act_refuse(one, ACT_KEPT_MISSING);
}

/* Checks the folder under its quarantine name once more. */
static bool is_still_equal(struct folder_act *act)
{
	struct one_act *one = &act->one;
	const struct act_file *file = one->copy.file;

	if (!place_leads_to(&one->copy.place, one->other, &one->copy.held.status))
		return one_act_refuse(one, ACT_CHANGED);
	if (!place_is_at(&one->copy.place, one->settings->sources, file->source, file->path))
		return one_act_refuse(one, ACT_MISSING);
	return kept_is_in_place(one) && check_all(act, FOLDER_RECHECK) && kept_is_in_place(one);
}

/* Renames the folder to its quarantine name and checks it there. */
static bool quarantine(struct folder_act *act)
{
	if (!one_act_hide(&act->one))
		return false;
	if (is_still_equal(act))
		return true;
	one_act_put_back(&act->one);
	return false;
}

/* ---- the act -------------------------------------------------------------------------- */

/* Moves the folder to the trash. */
static void throw_away(struct folder_act *act)
{
	CLEANUP(trash_folder_close) struct trash_folder trash = {.info = -1, .files = -1};

	if (one_act_open_trash(&act->one, &trash) && quarantine(act))
		one_act_throw_away(&act->one, &trash, kept_is_in_place);
}

/* Does the act on a folder that was compared. Returns 0 or -errno of the journal. */
static int perform(struct folder_act *act)
{
	struct one_act *one = &act->one;
	struct act_session *session = one->session;
	enum act_kind kind = one->settings->kind;
	int r;

	/* the names in an emptied folder have records of their own */
	act->entry.folder_bytes = kind == ACT_REMOVE ? 0 : act->check.found.bytes;
	r = entry_plan(session, &act->entry, &one->copy.place);
	if (r == 0)
		r = journal_intend(session->journal, &act->entry.intent);
	if (r == 0)
		r = journal_sync(session->journal);
	if (r < 0)
		return r;
	durable_note_directory(&session->durable, one->copy.place.directory,
			       one->copy.held.status.st_dev);
	if (kind == ACT_TRASH)
		throw_away(act);
	else if (quarantine(act) && kind == ACT_MOVE)
		one_act_move(one);
	else if (one->result->outcome == ACT_DONE)
		folder_act_empty(act);
	return one_act_note_end(one);
}

/* Syncs the file system of the kept folder. Returns 0 or ACT_CANNOT_SYNC, logged. */
static int sync_kept(struct folder_act *act)
{
	CLEANUP_BYTES struct bytes path = {0};

	if (syncfs(act->pair.kept) == 0)
		return 0;
	if (entry_absolute_path(act->one.session, act->kept.file, &path) == 0 && bytes_text(&path))
		log_error("cannot sync the file system of %s: %s; stopped; check the disk",
			  quote_path(bytes_text(&path)), error_text(errno));
	return ACT_CANNOT_SYNC;
}

int folder_act_run(struct act_session *session, const struct act_file *kept,
		   const struct act_file *copy)
{
	const struct act_settings *settings = session->settings;
	CLEANUP(folder_act_free) struct folder_act act;
	struct act_result result;
	int r = 0;

	folder_act_init(&act, session, kept, copy, &result);
	if (open_folders(&act) && one_act_name_can_go(&act.one) &&
	    check_all(&act, FOLDER_COMPARE)) {
		r = sync_kept(&act);
		if (r == 0)
			r = perform(&act);
	}
	if (r != 0 || (stop_requested() && result.outcome != ACT_DONE))
		return r;
	return settings->report(settings->context, copy, &result) ? 0 : ACT_STOPPED;
}
