/* SPDX-License-Identifier: MIT */

/* Puts a copy into the desktop's trash by renames between open directories, so that what arrives
 * there is what was compared. It is renamed within its own directory first, as a copy that is
 * removed. Its info file is on the disk before it is renamed into the trash folder. */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "act/internal.h"
#include "act/trash_entry.h"
#include "act/trash_folder.h"
#include "source/source.h"

/* Writes the info file and renames the copy to it. -EEXIST if the name is taken. */
static int enter(struct deed *deed, struct trash_folder *trash, const char *name)
{
	int r = trash_entry_write_info(trash, name, deed->other);

	if (r < 0)
		return r;
	if (renameat2(deed->copy.place.directory, deed->other, trash->files, name,
		      RENAME_NOREPLACE) == 0)
		return 0;
	r = -errno;
	trash_entry_remove_info(trash, name);
	return r;
}

/* Tells the journal which info file is about to be made, so that none is left without a file. */
static int note_info(struct deed *deed, const struct trash_folder *trash, const char *name)
{
	struct bytes info CLEANUP_BYTES = {0};
	struct intent intent = *deed->intent;
	int r = trash_entry_info_path(trash, name, &info);

	intent.info = bytes_text(&info);
	if (r < 0 || !intent.info)
		return -ENOMEM;
	return journal_amend(deed->journal, &intent);
}

/* What arrived is not what was compared, or is needed in its place by now. */
static void take_out(struct deed *deed, const struct trash_folder *trash, const char *name)
{
	if (renameat2(trash->files, name, deed->copy.place.directory, deed->other,
		      RENAME_NOREPLACE) < 0)
		return;
	trash_entry_remove_info(trash, name);
	deed_put_back(deed);
}

static void judge(struct deed *deed, const struct trash_folder *trash, const char *name)
{
	const struct place arrived = {.directory = trash->files, .name = name};

	deed->result->outcome = ACT_DONE;
	if (!place_leads_to(&arrived, name, &deed->copy.held.status))
		(void)deed_refuse(deed, ACT_CHANGED);
	else if (deed_still_holds(deed))
		return;
	take_out(deed, trash, name);
}

static void throw_away(struct deed *deed, struct trash_folder *trash)
{
	struct bytes name CLEANUP_BYTES = {0};
	int r = -EEXIST;

	for (int try = 1; r == -EEXIST && try <= TRASH_NAMES_MAX; try++) {
		r = trash_entry_name(&name, deed->copy.place.name, try);
		if (r == 0 && !bytes_text(&name))
			r = -ENOMEM;
		if (r == 0)
			r = note_info(deed, trash, bytes_text(&name));
		if (r == 0)
			r = enter(deed, trash, bytes_text(&name));
	}
	if (r == 0) {
		judge(deed, trash, bytes_text(&name));
		return;
	}
	deed_fail(deed, r);
	deed_put_back(deed);
}

void deed_trash(struct deed *deed)
{
	const struct act_file *file = deed->copy.file;
	struct trash_folder trash CLEANUP(trash_folder_close) = {.info = -1, .files = -1};
	struct bytes path CLEANUP_BYTES = {0};
	int r;

	if (!deed_verify(deed))
		return;
	r = source_absolute_path(deed->settings->sources, file->source, file->path, &path);
	if (r == 0)
		r = bytes_text(&path)
			    ? trash_folder_open(&trash, &deed->copy.place, bytes_text(&path))
			    : -ENOMEM;
	if (r == TRASH_FOLDER_NONE)
		(void)deed_refuse(deed, ACT_NO_TRASH);
	else if (r < 0)
		deed_fail(deed, r);
	else if (deed_set_aside(deed))
		throw_away(deed, &trash);
}
