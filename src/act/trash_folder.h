/* SPDX-License-Identifier: MIT */
#ifndef ACT_TRASH_FOLDER_H
#define ACT_TRASH_FOLDER_H

/* Trash folders of the desktop, by the Trash specification 1.0 of freedesktop.org
 * (https://specifications.freedesktop.org/trash-spec/). No symlink is followed that another user
 * could have made. Any thread. */

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

/* Outcome: no trash folder can take the file by a rename. */
enum {
	TRASH_FOLDER_NONE = 1,
};

/* Opens or creates a trash folder that can take a file by a rename; if trash->only_looks is set,
 * creates nothing, and the descriptors are of no use. Tries the home trash first,
 * then .Trash/UID, then .Trash-UID, both in the root directory of the file's mount. The trash
 * folder and its subfolders belong to the effective user.
 *
 * place	the file
 * absolute	its absolute path, borrowed
 *
 * Returns 0, TRASH_FOLDER_NONE, or -ENOMEM. The caller calls trash_folder_close() in any case. */
MUST_CHECK int trash_folder_open(struct trash_folder *trash, const struct place *place,
				 const char *absolute);
void trash_folder_close(struct trash_folder *trash);

#endif
