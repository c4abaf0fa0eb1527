/* SPDX-License-Identifier: MIT */
#ifndef ACT_TRASH_FOLDER_H
#define ACT_TRASH_FOLDER_H

/* The desktop's trash folders, by the Trash specification 1.0 of freedesktop.org
 * (https://specifications.freedesktop.org/trash-spec/): which one takes a file, opened without
 * following a symlink that another user could have made. Any thread. */

#include "act/place.h"
#include "base/attributes.h"
#include "base/bytes.h"

/* An open trash folder. All zero with descriptors of -1 is closed. */
struct trash_folder {
	int info, files; /* its two directories */
	struct bytes path; /* of the folder, absolute */
	struct bytes original; /* what Path in an info file says before it is encoded */
};

/* Outcome: the file can be put into no trash folder without copying it. */
enum {
	TRASH_FOLDER_NONE = 1,
};

/* Opens the trash folder that takes a file by a rename, making it where it is missing: the home
 * trash if it is on the same mount as the file, else .Trash/UID or .Trash-UID in the root directory
 * of that mount. Every folder of it belongs to the effective user.
 *
 * place	the file
 * absolute	its absolute path, borrowed
 *
 * Returns 0, TRASH_FOLDER_NONE, or -ENOMEM. trash_folder_close() ends it in each case. */
MUST_CHECK int trash_folder_open(struct trash_folder *trash, const struct place *place,
				 const char *absolute);
void trash_folder_close(struct trash_folder *trash);

#endif
