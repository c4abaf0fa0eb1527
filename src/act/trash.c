/* SPDX-License-Identifier: MIT */

/* ACT_TRASH: moves a copy into the desktop's trash by renames between open directories.
 *
 *	comparison	one_act_verify() compares all bytes.
 *	quarantine	one_act_quarantine() renames the copy within its directory and checks it.
 *	journal		The path of the info file is added to the intent before the info file is
 *			made.
 *	info file	The info file is on the disk before the copy is renamed into the trash.
 *	last check	If the file in the trash is not the compared inode, or a lease is broken,
 *			the copy is renamed back.
 *
 * The bytes are never copied, so the copy is always either in its folder or in the trash. */

#include <errno.h>
#include <unistd.h>

#include "act/one_act.h"
#include "act/trash_entry.h"
#include "act/trash_folder.h"
#include "source/source.h"

/* Writes the info file and renames the copy into the trash. Returns 0, -EEXIST if the name is in
 * use, or another -errno. */
static int move_to_trash(struct one_act *act, struct trash_folder *trash, const char *name)
{
	const struct place hidden = {.directory = act->copy.place.directory, .name = act->other};
	const struct place arrived = {.directory = trash->files, .name = name};
	int r = trash_entry_write_info(trash, name, act->other);

	if (r < 0)
		return r;
	r = place_move(&hidden, &arrived);
	if (r < 0)
		trash_entry_remove_info(trash, name);
	return r;
}

/* Adds the path of the info file to the intent in the journal. If the copy does not arrive in the
 * trash, undo removes the info file. */
static int note_info(struct one_act *act, const struct trash_folder *trash, const char *name)
{
	CLEANUP_BYTES struct bytes info = {0}, file = {0};
	struct intent intent = *act->intent;
	struct record record = *act->record;
	int r = trash_entry_info_path(trash, name, &info);

	if (r == 0)
		r = trash_entry_file_path(trash, name, &file);
	record.info = intent.info = bytes_text(&info);
	record.to = bytes_text(&file);
	if (r < 0 || !record.info || !record.to)
		return -ENOMEM;
	return one_act_amend(act, &intent, &record);
}

/* Gives a file in the trash its quarantine name, and then its own name back. */
static void take_out(struct one_act *act, const struct trash_folder *trash, const char *name)
{
	const struct place arrived = {.directory = trash->files, .name = name};
	const struct place hidden = {.directory = act->copy.place.directory, .name = act->other};

	if (place_move(&arrived, &hidden) < 0)
		return;
	trash_entry_remove_info(trash, name);
	one_act_put_back(act);
}

/* Does the last check of a copy in the trash. */
static void check_trashed(struct one_act *act, const struct trash_folder *trash, const char *name,
			  bool (*is_valid)(struct one_act *act))
{
	const struct place arrived = {.directory = trash->files, .name = name};

	act->result->outcome = ACT_DONE;
	if (!place_leads_to(&arrived, name, &act->copy.held.status))
		(void)one_act_refuse(act, ACT_CHANGED);
	else if (is_valid(act))
		return;
	take_out(act, trash, name);
}

void one_act_throw_away(struct one_act *act, struct trash_folder *trash,
			bool (*is_valid)(struct one_act *act))
{
	CLEANUP_BYTES struct bytes name = {0};
	int r = -EEXIST;

	for (int try = 1; r == -EEXIST && try <= TRASH_NAMES_MAX; try++) {
		r = trash_entry_name(&name, act->copy.place.name, try);
		if (r == 0 && !bytes_text(&name))
			r = -ENOMEM;
		if (r == 0)
			r = note_info(act, trash, bytes_text(&name));
		if (r == 0)
			r = move_to_trash(act, trash, bytes_text(&name));
	}
	if (r == 0) {
		check_trashed(act, trash, bytes_text(&name), is_valid);
		return;
	}
	(void)one_act_fail(act, r);
	one_act_put_back(act);
}

bool one_act_open_trash(struct one_act *act, struct trash_folder *trash)
{
	const struct act_file *file = act->copy.file;
	CLEANUP_BYTES struct bytes path = {0};
	int r = source_absolute_path(act->settings->sources, file->source, file->path, &path);

	if (r == 0)
		r = bytes_text(&path)
			    ? trash_folder_open(trash, &act->copy.place, bytes_text(&path))
			    : -ENOMEM;
	if (r == TRASH_FOLDER_NONE)
		return one_act_refuse(act, ACT_NO_TRASH);
	return r == 0 || one_act_fail(act, r);
}

bool act_may_trash(struct one_act *act)
{
	CLEANUP(trash_folder_close)
	struct trash_folder trash = {.only_looks = true, .info = -1, .files = -1};

	return one_act_open_trash(act, &trash);
}

void act_trash(struct one_act *act)
{
	CLEANUP(trash_folder_close) struct trash_folder trash = {.info = -1, .files = -1};

	if (one_act_verify(act) && one_act_open_trash(act, &trash) && one_act_quarantine(act))
		one_act_throw_away(act, &trash, one_act_still_holds);
}
