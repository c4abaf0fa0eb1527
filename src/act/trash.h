/* SPDX-License-Identifier: MIT */
#ifndef ACT_TRASH_H
#define ACT_TRASH_H

/* Trash folders of the desktop, by the Trash specification 1.0 of freedesktop.org
 * (https://specifications.freedesktop.org/trash-spec/). No symlink is followed that another user
 * could have made. An entry is files/NAME, and info/NAME.trashinfo with the original path of the
 * file and the time of its deletion. The info file is made first. Any thread. */

#include "act/place.h"
#include "base/attributes.h"
#include "base/bytes.h"

/* An open trash folder. A closed one has both descriptors -1 and empty texts. */
struct trash_folder {
	/* Makes nothing: a missing folder counts as made if its parent can take it. */
	bool only_looks;
	int info, files; /* its two directories */
	struct bytes path; /* of the folder, absolute */
	struct bytes original; /* value of Path in an info file, not encoded */
};

void trash_folder_close(struct trash_folder *trash);

/* Removes leftover info files of an interrupted act: an incomplete info file, and an info file that
 * names the original file but has no file in files/. Does nothing if the folder belongs to another
 * user than the effective one.
 *
 * info		absolute path of the info file
 * other	temporary name of the incomplete info file
 * original	absolute path of the original file
 */
void trash_entry_forget(const char *info, const char *other, const char *original);

#endif
