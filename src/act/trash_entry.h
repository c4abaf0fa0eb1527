/* SPDX-License-Identifier: MIT */
#ifndef ACT_TRASH_ENTRY_H
#define ACT_TRASH_ENTRY_H

/* Entries of a trash folder: files/NAME, and info/NAME.trashinfo with the original path of the file
 * and the time of its deletion. The info file is made first. Any thread. */

#include "act/trash_folder.h"
#include "base/attributes.h"
#include "base/bytes.h"

/* Highest number of names that are tried for an entry. The last ones have random numbers. */
#define TRASH_NAMES_MAX 10

/* Makes the name of an entry: the name of the file, with a number from the second try on. The name
 * is cut so that the suffix ".trashinfo" fits. Replaces the text in trashed. Returns 0 or
 * -ENOMEM. */
MUST_CHECK int trash_entry_name(struct bytes *trashed, const char *name, int try);

/* Makes the info file of an entry, completely or not at all, and syncs it. Returns 0, -EEXIST if
 * the name is in use, or another -errno.
 *
 * other	unique temporary name of the file in info/ until it is complete
 */
MUST_CHECK int trash_entry_write_info(struct trash_folder *trash, const char *name,
				      const char *other);

/* Removes the info file of an entry. */
void trash_entry_remove_info(const struct trash_folder *trash, const char *name);

/* Appends the absolute path of an info file, or of the file itself. Returns 0 or -ENOMEM. */
MUST_CHECK int trash_entry_info_path(const struct trash_folder *trash, const char *name,
				     struct bytes *path);
MUST_CHECK int trash_entry_file_path(const struct trash_folder *trash, const char *name,
				     struct bytes *path);

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
