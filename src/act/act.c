/* SPDX-License-Identifier: MIT */
#include "act/act.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "act/durable.h"
#include "act/folder_act.h"
#include "act/one_act.h"
#include "act/recording.h"
#include "act/recovery.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/extents.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/overlay_layer.h"
#include "base/path.h"
#include "base/stop.h"

/* Acts in a batch. One sync of the journal, which waits for the disk, is enough for all of them. */
#define BATCH_ACTS 128
/* Batches after which the journal is resolved, to bound its size. */
#define FLUSHES_PER_JOURNAL 64

/* A copy in the current batch. Its texts are in the arena. */
struct waiting {
	struct act_file kept, copy; /* kept.path is NULL if other hosts keep the content */
	struct act_attested attested;
	struct attributes kept_attributes, copy_attributes;
	struct intent intent;
	struct record record;
	struct xattrs xattrs; /* of the copy */
	char other[OTHER_NAME_SIZE];
	const char *target; /* ACT_SYMLINK */
	/* Nothing can change in the copy's folder, so the act has no intent: its first step fails.
	 */
	bool is_read_only;
};

struct act {
	struct act_settings settings;
	struct journal *journal;
	int destination; /* ACT_MOVE: the folder, O_PATH; -1: none */
	struct mount_identity to_mount; /* of the destination */
	struct bytes to_mount_path;
	struct waiting *list;
	size_t count;
	unsigned int flushes; /* since the journal was resolved */
	struct arena memory; /* of texts that the list points to */
	struct subject kept; /* stays open while successive acts have this kept file */
	bool kept_is_open;
	struct surroundings around[2]; /* of the kept file, and of the copy */
	struct durable durable;
	struct arrived arrived;
	struct recording recording;
	bool is_stopped; /* by act_settings.report */
};

/* ---- session ------------------------------------------------------------------------- */

static int open_destination(struct act *act)
{
	int r = one_act_open_destination(&act->settings, &act->destination);

	if (r < 0 || act->destination < 0)
		return r;
	if (place_find_mount(act->destination, &act->to_mount_path, &act->to_mount.root) == 0)
		act->to_mount.path = bytes_text(&act->to_mount_path);
	return 0;
}

static void act_free(struct act *act)
{
	journal_close(act->journal);
	durable_deinit(&act->durable);
	arrived_deinit(&act->arrived);
	recording_deinit(&act->recording);
	if (act->destination >= 0)
		close(act->destination);
	bytes_free(&act->to_mount_path);
	surroundings_deinit(&act->around[0]);
	surroundings_deinit(&act->around[1]);
	arena_free(&act->memory);
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
	int r = act_order_take(folder, act->settings.is_default_folder, &act->recording.order);

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
	made->destination = -1;
	recording_begin(&made->recording, settings->kind);
	made->list = calloc(BATCH_ACTS, sizeof(*made->list));
	r = made->list ? open_destination(made) : -ENOMEM;
	if (r == 0)
		r = journal_open(&made->journal, settings->folder);
	if (r == 0)
		r = recovery_run(made->journal, NULL, &undone);
	if (r == 0) {
		journal_copy_records(made->journal, settings->records);
		take_order(made);
	}
	/* the kernel sends SIGIO when a writer has to wait for a lease of this process */
	(void)signal(SIGIO, SIG_IGN);
	if (r < 0)
		act_free(made);
	else
		*act = made;
	return r;
}

static void close_kept(struct act *act)
{
	if (act->kept_is_open)
		subject_close(&act->kept);
	act->kept_is_open = false;
}

/* Syncs the changed folders, then resolves the journal, which undoes the intents without an end. */
static int resolve_journal(struct act *act)
{
	const struct recovery_wish wish = {.is_ending = true};
	struct recovery undone;
	int r = durable_sync_changed(&act->durable);

	act->flushes = 0;
	if (r < 0) {
		log_error("cannot sync the changed folders: %s; check the disk, then run "
			  "'twinfs recover' (the journal stays in %s)",
			  error_text(r), quote_path(act->settings.folder));
		return ACT_CANNOT_SYNC;
	}
	return recovery_run(act->journal, &wish, &undone);
}

int act_end(struct act *act)
{
	int r;

	close_kept(act);
	r = resolve_journal(act);
	act_free(act);
	return r;
}

/* ---- one copy ------------------------------------------------------------------------ */

static bool same_file(const struct act_file *a, const struct act_file *b)
{
	return a->source == b->source && strcmp(a->path, b->path) == 0;
}

/* Outcome besides ACT_CANNOT_SYNC: the current copy is refused. */
enum {
	KEPT_REFUSED = ACT_STOPPED + 1,
};

/* Syncs the kept file. ACT_DEDUPE needs no sync: the kernel writes both files before they share
 * blocks, and no name is removed. Returns 0, or ACT_CANNOT_SYNC (logged). */
static int ensure_kept(struct act *act, const struct waiting *waiting)
{
	CLEANUP_BYTES struct bytes path = {0};
	const struct sources *sources = act->settings.sources;
	int r;

	if (act->settings.kind == ACT_DEDUPE)
		return 0;
	r = durable_ensure_kept(&act->durable, &act->kept.held, sources, &waiting->kept_attributes);
	if (r == 0)
		return 0;
	if (source_absolute_path(sources, waiting->kept.source, waiting->kept.path, &path) == 0 &&
	    bytes_text(&path))
		log_error("cannot sync %s: %s; stopped; check the disk",
			  quote_path(bytes_text(&path)), error_text(r));
	return ACT_CANNOT_SYNC;
}

/* Opens and syncs the kept file, unless the previous act left it open. Returns 0,
 * KEPT_REFUSED with the result filled in, or ACT_CANNOT_SYNC. */
static int open_kept(struct act *act, const struct waiting *waiting, struct act_result *result)
{
	if (act->kept_is_open && same_file(act->kept.file, &waiting->kept) &&
	    held_is_unbroken(&act->kept.held))
		return 0;
	close_kept(act);
	act->kept = (struct subject){.file = &waiting->kept};
	if (subject_open(&act->kept, &act->settings, true, result) != 0)
		return KEPT_REFUSED;
	act->kept_is_open = true;
	return ensure_kept(act, waiting);
}

static void perform(struct one_act *one_act, struct surroundings around[2])
{
	static void (*const acts[])(struct one_act *) = {
		[ACT_REMOVE] = act_remove_or_move, [ACT_MOVE] = act_remove_or_move,
		[ACT_TRASH] = act_trash,           [ACT_LINK] = act_replace,
		[ACT_SYMLINK] = act_replace,       [ACT_DEDUPE] = act_dedupe,
	};

	enum act_outcome outcome = one_act_examine(one_act, around);

	if (outcome != ACT_DONE)
		(void)one_act_refuse(one_act, outcome);
	else
		acts[one_act->settings->kind](one_act);
}

/* Updates the record to what the copy is now, and the intent if that changes the record. */
static int update_record(struct one_act *one_act, struct waiting *waiting)
{
	const struct attributes *planned[] = {&waiting->copy_attributes, &waiting->kept_attributes};
	int r = recording_update(&waiting->record, &waiting->xattrs, &one_act->copy.held,
				 one_act->kept ? &one_act->kept->held : NULL, planned);

	return r == RECORDING_CHANGED ? one_act_amend(one_act, &waiting->intent, &waiting->record)
				      : r;
}

/* Acts on an open copy. */
static void act_on_copy(struct act *act, struct one_act *one_act, struct waiting *waiting)
{
	int r;

	arrived_expect(&act->arrived, &one_act->copy.held);
	r = update_record(one_act, waiting);
	if (r == 0)
		perform(one_act, act->around);
	else
		(void)one_act_fail(one_act, r);
	durable_note_changed(&act->durable, &one_act->copy);
	subject_close(&one_act->copy);
}

/* Notes how an act ended. The intent stays open while bytes are under the quarantine name or saved
 * elsewhere, and after a failure: then recovery finds out how far the act went. */
static int note_end(struct act *act, const struct one_act *one_act, const struct waiting *waiting)
{
	const struct act_result *result = one_act->result;

	if (one_act->is_saved_elsewhere || result->outcome == ACT_FAILED ||
	    (result->outcome == ACT_LEFTOVER && strcmp(result->leftover, waiting->other) == 0))
		return 0;
	return result->outcome == ACT_DONE
		       ? journal_note_did(act->journal, waiting->intent.number)
		       : journal_note_done(act->journal, waiting->intent.number);
}

/* Acts without a kept file. */
static void use_attested(struct one_act *one_act, const struct waiting *waiting)
{
	one_act->kept = NULL;
	one_act->attested = &waiting->attested;
}

static int refuse_read_only(struct act *act, const struct waiting *waiting)
{
	const struct act_result result = {.outcome = ACT_FAILED, .error = EROFS};

	act->is_stopped = !act->settings.report(act->settings.context, &waiting->copy, &result);
	return 0;
}

static int act_on(struct act *act, struct waiting *waiting)
{
	struct act_result result = {0};
	CLEANUP_BYTES struct bytes leftover = {0};
	struct one_act one_act = {.settings = &act->settings,
				  .kept = &act->kept,
				  .copy = {.file = &waiting->copy},
				  .other = waiting->other,
				  .to = waiting->intent.to,
				  .destination = act->destination,
				  .arrived = &act->arrived,
				  .target = waiting->target,
				  .journal = act->journal,
				  .intent = &waiting->intent,
				  .record = &waiting->record,
				  .result = &result,
				  .leftover = &leftover};
	int r = 0;

	if (waiting->is_read_only)
		return refuse_read_only(act, waiting);
	if (waiting->kept.path)
		r = open_kept(act, waiting, &result);
	else
		use_attested(&one_act, waiting);
	if (r == ACT_CANNOT_SYNC)
		return r;
	if (r == 0 && subject_open(&one_act.copy, &act->settings, false, &result) == 0)
		act_on_copy(act, &one_act, waiting);
	act->is_stopped = !act->settings.report(act->settings.context, &waiting->copy, &result);
	if (act_is_refused(result.outcome))
		close_kept(act); /* the next act must check the kept file anew */
	return note_end(act, &one_act, waiting);
}

/* Notes that an act did not begin. */
static int note_done(struct act *act, const struct waiting *waiting)
{
	return waiting->is_read_only ? 0 : journal_note_done(act->journal, waiting->intent.number);
}

uint64_t act_count_split(const struct act *act)
{
	return arrived_count_split(&act->arrived);
}

int act_flush(struct act *act)
{
	int r = act->count > 0 ? journal_sync(act->journal) : 0;
	size_t done = 0;

	for (; r == 0 && done < act->count && !act->is_stopped && !stop_requested(); done++)
		r = act_on(act, &act->list[done]);
	/* the acts that did not begin; an act that failed to sync the kept file did not either */
	for (size_t i = r == ACT_CANNOT_SYNC ? done - 1 : done; r >= 0 && i < act->count; i++)
		r = note_done(act, &act->list[i]) < 0 ? -ENOMEM : r;
	close_kept(act); /* act->kept points into the list */
	act->count = 0;
	arena_reset(&act->memory);
	if (r == 0 && act->is_stopped)
		return ACT_STOPPED;
	if (r == 0 && ++act->flushes == FLUSHES_PER_JOURNAL)
		r = resolve_journal(act);
	return r;
}

/* ---- adding -------------------------------------------------------------------------- */

/* Copies a text into the memory of the batch. Returns NULL if memory is short or result is
 * negative.
 *
 * result	of making the text: 0 or -errno
 */
static const char *store(struct act *act, const struct bytes *text, int result)
{
	return result < 0 ? NULL : arena_copy(&act->memory, text->data, text->length);
}

static const char *absolute_path(struct act *act, const struct act_file *file)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = source_absolute_path(act->settings.sources, file->source, file->path, &path);

	return store(act, &path, r);
}

static const char *destination_path(struct act *act, const struct act_file *copy)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = one_act_destination_path(&act->settings, copy, &path);

	return store(act, &path, r);
}

/* Makes the relative target of a symlink.
 *
 * from		absolute path of the symlink
 * to		absolute path of its target
 */
static int relative_target(struct bytes *target, const char *from, const char *to)
{
	size_t common = 0;
	int r = 0;

	for (size_t i = 0; from[i] && from[i] == to[i]; i++) {
		if (from[i] == '/')
			common = i + 1;
	}
	for (const char *rest = strchr(from + common, '/'); r == 0 && rest;
	     rest = strchr(rest + 1, '/'))
		r = bytes_append_text(target, "../");
	return r < 0 ? r : bytes_append_text(target, to + common);
}

static const char *link_target(struct act *act, const struct waiting *waiting)
{
	const char *kept = absolute_path(act, &waiting->kept);
	const char *copy = absolute_path(act, &waiting->copy);
	CLEANUP_BYTES struct bytes target = {0};

	if (!act->settings.relative || !kept || !copy)
		return kept;
	return store(act, &target, relative_target(&target, copy, kept));
}

static bool store_file(struct act *act, struct act_file *kept, struct attributes *attributes,
		       const struct act_file *file)
{
	*attributes = *file->attributes;
	*kept = (struct act_file){file->source,
				  arena_copy(&act->memory, file->path, strlen(file->path)),
				  attributes, file->hash};
	return kept->path;
}

/* Notes in the record on which mount the copy is. If that is below the source, notes it in the
 * intent, too: recovery needs it. Returns 0 or -ENOMEM. */
static int note_mount(struct act *act, struct waiting *waiting, const struct place *place)
{
	const struct source *source = &act->settings.sources->list[waiting->copy.source];
	struct mount_identity *mount = &waiting->record.mount;
	const char *below;
	int r = recording_note_place(&act->recording, &waiting->record, place);

	if (r < 0 || !mount->path)
		return r;
	mount->path = arena_copy(&act->memory, mount->path, strlen(mount->path));
	if (!mount->path)
		return -ENOMEM;
	below = path_below(mount->path, source->path);
	if (below && *below)
		waiting->intent.mount = *mount;
	return 0;
}

/* Notes in the record which file or which hosts keep the content. Returns 0 or -ENOMEM. */
static int note_keeper(struct act *act, struct waiting *waiting)
{
	const struct attributes *kept = &waiting->kept_attributes;
	struct record *record = &waiting->record;

	if (!waiting->kept.path) {
		memcpy(record->sha256, waiting->attested.sha256, sizeof(record->sha256));
		record->kept_by = waiting->attested.hosts;
		return 0;
	}
	record->kept_source = act->settings.sources->list[waiting->kept.source].path;
	record->kept = absolute_path(act, &waiting->kept);
	record->kept_inode = kept->inode;
	record->kept_born_ns = clock_ns(kept->btime);
	record->kept_changed_ns = clock_ns(kept->ctime);
	return record->kept ? 0 : -ENOMEM;
}

/* Makes the record of an act and stores it in the intent. */
static int plan_record(struct act *act, struct waiting *waiting, const struct place *place)
{
	const struct sources *sources = act->settings.sources;
	struct record *record = &waiting->record;
	CLEANUP_BYTES struct bytes line = {0};
	int r;

	*record = (struct record){.source = sources->list[waiting->copy.source].path,
				  .path = absolute_path(act, &waiting->copy),
				  .root = waiting->intent.root,
				  .size = waiting->copy.attributes->size,
				  .to = waiting->intent.to,
				  .new_folders = waiting->intent.new_folders,
				  .target = waiting->target};
	r = record->path ? note_keeper(act, waiting) : -ENOMEM;
	if (r == 0)
		r = note_mount(act, waiting, place);
	if (r == 0)
		r = recording_plan(&act->recording, record, place, &waiting->copy,
				   &waiting->xattrs);
	if (r == 0)
		r = record_encode(&line, record);
	waiting->intent.record = store(act, &line, r);
	return r < 0 || waiting->intent.record ? r : -ENOMEM;
}

static bool is_read_only(int directory)
{
	return access_effective(directory, ".", W_OK) < 0 && errno == EROFS;
}

/* Opens the directory of the copy, and notes in the intent what is found there. If the directory is
 * missing, the act will be refused. */
static int examine_copy(struct act *act, struct waiting *waiting)
{
	struct place place;
	int r;

	if (place_open(&place, act->settings.sources, waiting->copy.source, waiting->copy.path) < 0)
		place.directory = -1;
	r = plan_record(act, waiting, &place);
	waiting->is_read_only = act->settings.kind != ACT_DEDUPE && place.directory >= 0 &&
				is_read_only(place.directory);
	place_close(&place);
	return r;
}

static const enum intent_kind intent_kinds[] = {
	[ACT_REMOVE] = INTENT_AWAY, [ACT_MOVE] = INTENT_AWAY,       [ACT_TRASH] = INTENT_AWAY,
	[ACT_LINK] = INTENT_LINK,   [ACT_SYMLINK] = INTENT_SYMLINK, [ACT_DEDUPE] = INTENT_SHARE,
};

/* Adds the intent of an act to the journal. */
static int add_intent(struct act *act, struct waiting *waiting)
{
	const struct source *source = &act->settings.sources->list[waiting->copy.source];
	const struct attributes *attributes = waiting->copy.attributes;
	enum act_kind kind = act->settings.kind;
	int r;

	journal_other_name(waiting->other);
	waiting->intent = (struct intent){.kind = intent_kinds[kind],
					  .source = source->path,
					  .path = waiting->copy.path,
					  .other = waiting->other,
					  .inode = attributes->inode,
					  .kept_inode = waiting->kept_attributes.inode,
					  .target = waiting->target,
					  .born_ns = clock_ns(attributes->btime)};
	waiting->intent.root = place_identify_root(source->fd);
	if (kind == ACT_MOVE) {
		waiting->intent.to = destination_path(act, &waiting->copy);
		if (!waiting->intent.to)
			return -ENOMEM;
		waiting->intent.to_mount = act->to_mount;
		waiting->intent.new_folders = place_count_missing(waiting->intent.to);
	}
	r = examine_copy(act, waiting);
	return r < 0 || waiting->is_read_only ? r : journal_intend(act->journal, &waiting->intent);
}

/* Adds the next copy of the batch, whose kept file or hosts are set. */
static int add(struct act *act, struct waiting *waiting, const struct act_file *copy)
{
	int r;

	waiting->target = NULL;
	if (!store_file(act, &waiting->copy, &waiting->copy_attributes, copy))
		return -ENOMEM;
	if (act->settings.kind == ACT_SYMLINK) {
		waiting->target = link_target(act, waiting);
		if (!waiting->target)
			return -ENOMEM;
	}
	r = add_intent(act, waiting);
	if (r < 0)
		return r;
	act->count++;
	return act->count == BATCH_ACTS ? act_flush(act) : 0;
}

int act_add(struct act *act, const struct act_file *kept, const struct act_file *copy)
{
	struct waiting *waiting = &act->list[act->count];

	if (!store_file(act, &waiting->kept, &waiting->kept_attributes, kept))
		return -ENOMEM;
	return add(act, waiting, copy);
}

int act_add_attested(struct act *act, const struct act_file *copy,
		     const struct act_attested *attested)
{
	struct waiting *waiting = &act->list[act->count];

	waiting->kept = (struct act_file){.path = NULL};
	waiting->kept_attributes = (struct attributes){.inode = 0};
	waiting->attested = *attested;
	waiting->attested.hosts =
		arena_copy(&act->memory, attested->hosts, strlen(attested->hosts));
	return waiting->attested.hosts ? add(act, waiting, copy) : -ENOMEM;
}

int act_add_folder(struct act *act, const struct act_file *kept, const struct act_file *copy)
{
	const struct folder_session session = {.settings = &act->settings,
					       .journal = act->journal,
					       .durable = &act->durable,
					       .recording = &act->recording,
					       .destination = act->destination,
					       .to_mount = &act->to_mount};
	int r = folder_act_run(&session, kept, copy);

	if (r == 0 && ++act->flushes == FLUSHES_PER_JOURNAL)
		r = resolve_journal(act);
	return r;
}

/* ---- trial ---------------------------------------------------------------------------- */

struct act_trial {
	const struct act_settings *settings;
	int destination; /* ACT_MOVE: the folder, O_PATH; -1: none */
	/* The kept file of the last trial, which stays open while successive trials have it. */
	struct subject kept;
	bool kept_is_open;
	struct act_file kept_file;
	struct attributes kept_attributes;
	struct bytes kept_path;
	struct surroundings around[2]; /* of the kept file, and of the copy */
	struct bytes inside; /* of the result of the last trial of a folder */
	struct bytes links; /* of all trials of folders */
};

int act_trial_new(struct act_trial **trial, const struct act_settings *settings)
{
	struct act_trial *made = calloc(1, sizeof(*made));
	int r = made ? 0 : -ENOMEM;

	*trial = NULL;
	if (r == 0) {
		made->settings = settings;
		made->destination = -1;
		r = one_act_open_destination(settings, &made->destination);
	}
	/* the kernel sends SIGIO when a writer has to wait for a lease of this process */
	(void)signal(SIGIO, SIG_IGN);
	if (r < 0)
		act_trial_free(made);
	else
		*trial = made;
	return r;
}

static void close_trial_kept(struct act_trial *trial)
{
	if (trial->kept_is_open)
		subject_close(&trial->kept);
	trial->kept_is_open = false;
}

void act_trial_free(struct act_trial *trial)
{
	if (!trial)
		return;
	close_trial_kept(trial);
	bytes_free(&trial->kept_path);
	bytes_free(&trial->inside);
	bytes_free(&trial->links);
	surroundings_deinit(&trial->around[0]);
	surroundings_deinit(&trial->around[1]);
	if (trial->destination >= 0)
		close(trial->destination);
	free(trial);
}

/* Opens the kept file, unless the last trial left it open. Returns false and fills in the result if
 * that is refused. */
static bool open_trial_kept(struct act_trial *trial, const struct act_file *kept,
			    struct act_result *result)
{
	if (trial->kept_is_open && trial->kept_file.source == kept->source &&
	    strcmp(trial->kept_file.path, kept->path) == 0 && held_is_unbroken(&trial->kept.held))
		return true;
	close_trial_kept(trial);
	trial->kept_path.length = 0;
	trial->kept_attributes = *kept->attributes;
	if (bytes_append_text(&trial->kept_path, kept->path) < 0 ||
	    !bytes_text(&trial->kept_path)) {
		*result = (struct act_result){.outcome = ACT_FAILED, .error = ENOMEM};
		return false;
	}
	trial->kept_file = (struct act_file){kept->source, bytes_text(&trial->kept_path),
					     &trial->kept_attributes, kept->hash};
	trial->kept = (struct subject){.file = &trial->kept_file};
	trial->kept_is_open = subject_open(&trial->kept, trial->settings, true, result) == 0;
	return trial->kept_is_open;
}

/* Returns whether the act frees the bytes of a copy when its last name is gone. */
static bool frees_bytes(const struct one_act *act)
{
	switch (act->settings->kind) {
	case ACT_TRASH:
		return false;
	case ACT_MOVE:
		return !can_rename_between(act->destination, act->copy.place.directory);
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
static bool may_be_done(struct one_act *act, struct surroundings around[2])
{
	const struct stat *copy = &act->copy.held.status;
	enum act_outcome outcome = one_act_examine(act, around);

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
	CLEANUP_BYTES struct bytes to = {0}, leftover = {0};
	struct one_act act = {.settings = trial->settings,
			      .kept = kept ? &trial->kept : NULL,
			      .copy = {.file = copy},
			      .destination = trial->destination,
			      .result = result,
			      .leftover = &leftover};
	int r;

	*result = (struct act_result){.outcome = ACT_DONE};
	if ((kept && !open_trial_kept(trial, kept, result)) ||
	    subject_open(&act.copy, trial->settings, false, result) != 0)
		return;
	r = one_act_destination_path(trial->settings, copy, &to);
	act.to = r == 0 ? bytes_text(&to) : NULL;
	if (!act.to)
		(void)one_act_fail(&act, -ENOMEM);
	else if (may_be_done(&act, trial->around) && frees_bytes(&act))
		one_act_note_freed(&act, extents_estimate_own_bytes(act.copy.held.fd),
				   layer_of(act.copy.held.fd));
	subject_close(&act.copy);
}

void act_try_folder(struct act_trial *trial, const struct act_file *kept,
		    const struct act_file *copy, struct act_result *result)
{
	const struct folder_session session = {.settings = trial->settings,
					       .destination = trial->destination,
					       .links = &trial->links};

	folder_act_try(&session, kept, copy, result, &trial->inside);
}
