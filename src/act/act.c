/* SPDX-License-Identifier: MIT */
#include "act/act.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "act/one_act.h"
#include "act/recovery.h"
#include "base/descriptor.h"
#include "base/extents.h"
#include "base/filesystem.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/stop.h"

/* Acts in a batch. One sync of the journal, which waits for the disk, is enough for all of them. */
#define BATCH_ACTS 128
/* Batches after which the journal is resolved, to bound its size. */
#define FLUSHES_PER_JOURNAL 64

struct act {
	struct act_settings settings;
	struct act_session session;
	struct act_entry *list; /* the copies in the current batch */
	size_t count;
	unsigned int flushes; /* since the journal was resolved */
	struct keeper kept;
	bool is_stopped; /* by act_settings.report */
};

/* ---- session ------------------------------------------------------------------------- */

/* Opens the destination of a move, and makes the process ignore SIGIO, which the kernel sends when
 * a writer has to wait for a lease of this process. Returns 0 or -errno. The caller calls
 * act_session_end() in any case. */
static int act_session_begin(struct act_session *session, const struct act_settings *settings)
{
	struct mount_identity *mount = &session->to_mount;

	*session = (struct act_session){.settings = settings, .destination = -1};
	(void)signal(SIGIO, SIG_IGN);
	if (settings->kind != ACT_MOVE)
		return 0;
	session->destination = open(settings->destination, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (session->destination < 0)
		return -errno;
	if (place_find_mount(session->destination, &session->to_mount_path, &mount->root) == 0)
		mount->path = bytes_text(&session->to_mount_path);
	return 0;
}

static void act_session_end(struct act_session *session)
{
	durable_deinit(&session->durable);
	arrived_deinit(&session->arrived);
	bytes_free(&session->recording.mount_path);
	if (session->destination >= 0)
		close(session->destination);
	bytes_free(&session->to_mount_path);
	surroundings_deinit(&session->around[0]);
	surroundings_deinit(&session->around[1]);
	arena_free(&session->memory);
	bytes_free(&session->links);
}

static void act_free(struct act *act)
{
	journal_close(act->session.journal);
	keeper_deinit(&act->kept);
	act_session_end(&act->session);
	for (size_t i = 0; act->list && i < BATCH_ACTS; i++)
		xattrs_free(&act->list[i].xattrs);
	free(act->list);
	free(act);
}

/* Takes the number of the act. Without one, the act is possible, but a later undo possibly does not
 * know which act was the last one. */
static void take_order(struct act *act)
{
	const char *folder = act->settings.folder;
	int r = act_order_take(folder, act->settings.is_default_folder,
			       &act->session.recording.order);

	if (r < 0)
		log_warning("cannot write the order of acts beside %s: %s", quote_path(folder),
			    error_text(r));
}

int act_begin(struct act **act, const struct act_settings *settings)
{
	struct act *made = calloc(1, sizeof(*made));
	struct recovery undone;
	int r;

	*act = NULL;
	if (!made)
		return -ENOMEM;
	made->settings = *settings;
	r = act_session_begin(&made->session, &made->settings);
	record_make_id(made->session.recording.id);
	made->list = calloc(BATCH_ACTS, sizeof(*made->list));
	if (!made->list)
		r = -ENOMEM;
	if (r == 0)
		r = journal_open(&made->session.journal, settings->folder);
	if (r == 0)
		r = recovery_run(made->session.journal, NULL, &undone);
	if (r == 0) {
		journal_copy_records(made->session.journal, settings->records);
		take_order(made);
	}
	if (r < 0)
		act_free(made);
	else
		*act = made;
	return r;
}

/* Syncs the changed folders, then resolves the journal, which undoes the intents without an end. */
static int resolve_journal(struct act *act)
{
	const struct recovery_wish wish = {.is_ending = true};
	struct recovery undone;
	int r = durable_sync_changed(&act->session.durable);

	act->flushes = 0;
	if (r < 0) {
		log_error("cannot sync the changed folders: %s; check the disk, then run "
			  "'twinfs recover' (the journal stays in %s)",
			  error_text(r), quote_path(act->settings.folder));
		return ACT_CANNOT_SYNC;
	}
	return recovery_run(act->session.journal, &wish, &undone);
}

int act_end(struct act *act)
{
	int r;

	keeper_close(&act->kept);
	r = resolve_journal(act);
	act_free(act);
	return r;
}

/* ---- one copy ------------------------------------------------------------------------ */

/* Outcome besides ACT_CANNOT_SYNC: the current copy is refused. */
enum {
	KEPT_REFUSED = ACT_STOPPED + 1,
};

/* Syncs the kept file. ACT_DEDUPE needs no sync: the kernel writes both files before they share
 * blocks, and no name is removed. Returns 0, or ACT_CANNOT_SYNC (logged). */
static int ensure_kept(struct act *act)
{
	CLEANUP_BYTES struct bytes path = {0};
	const struct subject *kept = &act->kept.subject;
	int r;

	if (act->settings.kind == ACT_DEDUPE)
		return 0;
	r = durable_ensure_kept(&act->session.durable, &kept->held, act->settings.sources,
				kept->file->attributes);
	if (r == 0)
		return 0;
	if (entry_absolute_path(&act->session, kept->file, &path) == 0 && bytes_text(&path))
		log_error("cannot sync %s: %s; stopped; check the disk",
			  quote_path(bytes_text(&path)), error_text(r));
	return ACT_CANNOT_SYNC;
}

/* Opens and syncs the kept file, unless the previous act left it open. Returns 0,
 * KEPT_REFUSED with the result filled in, or ACT_CANNOT_SYNC. */
static int open_kept(struct act *act, const struct act_file *kept, struct act_result *result)
{
	if (!kept->path || keeper_has(&act->kept, kept))
		return 0;
	return keeper_open(&act->kept, &act->settings, kept, result) ? ensure_kept(act)
								     : KEPT_REFUSED;
}

static void perform(struct one_act *one_act)
{
	static void (*const acts[])(struct one_act *) = {
		[ACT_REMOVE] = act_remove_or_move, [ACT_MOVE] = act_remove_or_move,
		[ACT_TRASH] = act_trash,           [ACT_LINK] = act_replace,
		[ACT_SYMLINK] = act_replace,       [ACT_DEDUPE] = act_dedupe,
	};

	enum act_outcome outcome = one_act_examine(one_act);

	if (outcome != ACT_DONE)
		(void)one_act_refuse(one_act, outcome);
	else
		acts[one_act->settings->kind](one_act);
}

/* Acts on an open copy. The record becomes that of what the copy is now. */
static void act_on_copy(struct one_act *one_act)
{
	struct act_session *session = one_act->session;
	struct act_entry *entry = one_act->entry;
	const struct held *copy = &one_act->copy.held;
	int r;

	arrived_expect(&session->arrived, copy);
	r = entry_update(entry, copy, one_act->kept ? &one_act->kept->held : NULL);
	if (r == ENTRY_CHANGED)
		r = one_act_amend(one_act, &entry->intent, &entry->record);
	if (r == 0)
		perform(one_act);
	else
		(void)one_act_fail(one_act, r);
	durable_note_directory(&session->durable, one_act->copy.place.directory,
			       copy->status.st_dev);
	subject_close(&one_act->copy);
}

static int refuse_read_only(struct act *act, const struct act_entry *entry)
{
	const struct act_result result = {.outcome = ACT_FAILED, .error = EROFS};

	act->is_stopped = !act->settings.report(act->settings.context, &entry->copy, &result);
	return 0;
}

static int act_on(struct act *act, struct act_entry *entry)
{
	struct act_result result = {0};
	CLEANUP_BYTES struct bytes leftover = {0};
	struct one_act one_act = {.settings = &act->settings,
				  .session = &act->session,
				  .entry = entry,
				  .kept = entry->kept.path ? &act->kept.subject : NULL,
				  .copy = {.file = &entry->copy},
				  .other = entry->other,
				  .result = &result,
				  .leftover = &leftover};
	int r;

	if (entry->is_read_only)
		return refuse_read_only(act, entry);
	r = open_kept(act, &entry->kept, &result);
	if (r == ACT_CANNOT_SYNC)
		return r;
	if (r == 0 && subject_open(&one_act.copy, &act->settings, false, &result) == 0)
		act_on_copy(&one_act);
	act->is_stopped = !act->settings.report(act->settings.context, &entry->copy, &result);
	if (act_is_refused(result.outcome))
		keeper_close(&act->kept); /* the next act must check the kept file anew */
	return one_act_note_end(&one_act);
}

/* Notes that an act did not begin. */
static int note_done(struct act *act, const struct act_entry *entry)
{
	return entry->is_read_only ? 0
				   : journal_note_done(act->session.journal, entry->intent.number);
}

uint64_t act_count_split(const struct act *act)
{
	return arrived_count_split(&act->session.arrived);
}

int act_flush(struct act *act)
{
	int r = act->count > 0 ? journal_sync(act->session.journal) : 0;
	size_t done = 0;

	for (; r == 0 && done < act->count && !act->is_stopped && !stop_requested(); done++)
		r = act_on(act, &act->list[done]);
	/* the acts that did not begin; an act that failed to sync the kept file did not either */
	for (size_t i = r == ACT_CANNOT_SYNC ? done - 1 : done; r >= 0 && i < act->count; i++)
		r = note_done(act, &act->list[i]) < 0 ? -ENOMEM : r;
	keeper_close(&act->kept); /* planning the next batch can take long */
	act->count = 0;
	arena_reset(&act->session.memory);
	if (r == 0 && act->is_stopped)
		return ACT_STOPPED;
	if (r == 0 && ++act->flushes == FLUSHES_PER_JOURNAL)
		r = resolve_journal(act);
	return r;
}

/* ---- adding -------------------------------------------------------------------------- */

static bool is_read_only(int directory)
{
	return access_effective(directory, ".", W_OK) < 0 && errno == EROFS;
}

/* Opens the directory of the copy, and plans the act with what is found there. If the directory is
 * missing, the act will be refused. */
static int plan(struct act *act, struct act_entry *entry)
{
	struct place place;
	int r;

	if (place_open(&place, act->settings.sources, entry->copy.source, entry->copy.path) < 0)
		place.directory = -1;
	r = entry_plan(&act->session, entry, &place);
	entry->is_read_only = act->settings.kind != ACT_DEDUPE && place.directory >= 0 &&
			      is_read_only(place.directory);
	place_close(&place);
	return r;
}

/* Adds the next copy of the batch. */
static int add(struct act *act, const struct act_file *kept, const struct act_attested *attested,
	       const struct act_file *copy)
{
	struct act_entry *entry = &act->list[act->count];
	int r = entry_set(&act->session, entry, kept, attested, copy);

	if (r == 0)
		r = entry_set_destination(&act->session, entry);
	if (r == 0)
		r = plan(act, entry);
	if (r == 0 && !entry->is_read_only)
		r = journal_intend(act->session.journal, &entry->intent);
	if (r < 0)
		return r;
	act->count++;
	return act->count == BATCH_ACTS ? act_flush(act) : 0;
}

int act_add(struct act *act, const struct act_file *kept, const struct act_file *copy)
{
	return add(act, kept, NULL, copy);
}

int act_add_attested(struct act *act, const struct act_file *copy,
		     const struct act_attested *attested)
{
	return add(act, NULL, attested, copy);
}

int act_add_folder(struct act *act, const struct act_file *kept, const struct act_file *copy)
{
	int r = folder_act_run(&act->session, kept, copy);

	if (act->count == 0)
		arena_reset(&act->session.memory);
	if (r == 0 && ++act->flushes == FLUSHES_PER_JOURNAL)
		r = resolve_journal(act);
	return r;
}

/* ---- trial ---------------------------------------------------------------------------- */

struct act_trial {
	struct act_session session;
	struct keeper kept; /* of the last trial */
	struct bytes inside; /* of the result of the last trial of a folder */
};

int act_trial_new(struct act_trial **trial, const struct act_settings *settings)
{
	struct act_trial *made = calloc(1, sizeof(*made));
	int r = made ? act_session_begin(&made->session, settings) : -ENOMEM;

	*trial = NULL;
	if (r < 0)
		act_trial_free(made);
	else
		*trial = made;
	return r;
}

void act_trial_free(struct act_trial *trial)
{
	if (!trial)
		return;
	keeper_deinit(&trial->kept);
	act_session_end(&trial->session);
	bytes_free(&trial->inside);
	free(trial);
}

/* Returns whether the act frees the bytes of a copy when its last name is gone. */
static bool frees_bytes(const struct one_act *act)
{
	switch (act->settings->kind) {
	case ACT_TRASH:
		return false;
	case ACT_MOVE:
		return !can_rename_between(act->session->destination, act->copy.place.directory);
	case ACT_REMOVE:
	case ACT_LINK:
	case ACT_SYMLINK:
	case ACT_DEDUPE:
		break;
	}
	return true;
}

/* Checks a copy that is held, and its kept file if it has one. Returns whether the act would be
 * done. */
static bool may_be_done(struct one_act *act)
{
	const struct stat *copy = &act->copy.held.status;
	enum act_outcome outcome = one_act_examine(act);

	if (outcome != ACT_DONE)
		return one_act_refuse(act, outcome);
	if (act->kept && is_same_inode(&act->kept->held.status, copy))
		return one_act_refuse(act, ACT_NEEDLESS);
	if (act->kept && act->kept->held.status.st_size != copy->st_size)
		return one_act_refuse(act, ACT_DIFFERS);
	switch (act->settings->kind) {
	case ACT_DEDUPE:
		return act_may_dedupe(act);
	case ACT_LINK:
	case ACT_SYMLINK:
		return act_may_replace(act) && one_act_name_can_go(act);
	case ACT_MOVE:
		return one_act_name_can_go(act) && act_may_move(act);
	case ACT_TRASH:
		return act_may_trash(act) && one_act_name_can_go(act);
	case ACT_REMOVE:
		break;
	}
	return one_act_name_can_go(act);
}

void act_try(struct act_trial *trial, const struct act_file *kept, const struct act_file *copy,
	     struct act_result *result)
{
	CLEANUP_BYTES struct bytes leftover = {0};
	struct act_session *session = &trial->session;
	struct act_entry entry = {.copy = *copy};
	struct one_act act = {.settings = session->settings,
			      .session = session,
			      .entry = &entry,
			      .kept = kept ? &trial->kept.subject : NULL,
			      .copy = {.file = copy},
			      .result = result,
			      .leftover = &leftover};

	*result = (struct act_result){.outcome = ACT_DONE};
	if ((kept && !keeper_has(&trial->kept, kept) &&
	     !keeper_open(&trial->kept, session->settings, kept, result)) ||
	    subject_open(&act.copy, session->settings, false, result) != 0)
		return;
	if (entry_set_destination(session, &entry) < 0)
		(void)one_act_fail(&act, -ENOMEM);
	else if (may_be_done(&act) && frees_bytes(&act))
		one_act_note_freed(&act, extents_estimate_own_bytes(act.copy.held.fd),
				   layer_of(act.copy.held.fd));
	subject_close(&act.copy);
	arena_reset(&session->memory);
}

void act_try_folder(struct act_trial *trial, const struct act_file *kept,
		    const struct act_file *copy, struct act_result *result)
{
	folder_act_try(&trial->session, kept, copy, result, &trial->inside);
	arena_reset(&trial->session.memory);
}
