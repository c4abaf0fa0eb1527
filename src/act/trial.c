/* SPDX-License-Identifier: MIT */
#include "act/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "act/folder_act.h"
#include "act/one_act.h"
#include "base/descriptor.h"
#include "base/extents.h"
#include "base/overlay_layer.h"

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

static void close_kept(struct act_trial *trial)
{
	if (trial->kept_is_open)
		subject_close(&trial->kept);
	trial->kept_is_open = false;
}

void act_trial_free(struct act_trial *trial)
{
	if (!trial)
		return;
	close_kept(trial);
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
static bool open_kept(struct act_trial *trial, const struct act_file *kept,
		      struct act_result *result)
{
	if (trial->kept_is_open && trial->kept_file.source == kept->source &&
	    strcmp(trial->kept_file.path, kept->path) == 0 && held_is_unbroken(&trial->kept.held))
		return true;
	close_kept(trial);
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
	if ((kept && !open_kept(trial, kept, result)) ||
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
