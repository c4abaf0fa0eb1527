/* SPDX-License-Identifier: MIT */
#ifndef ACT_TRASH_ENTRY_H
#define ACT_TRASH_ENTRY_H

/* Entries of a trash folder: files/NAME, and info/NAME.trashinfo, which says where the file was and
 * when it was thrown away. The info file is there first. Any thread. */

#include "act/trash_folder.h"
#include "base/attributes.h"
#include "base/bytes.h"

/* How many names an entry is tried under. The last ones are unlike any that is in use. */
#define TRASH_NAMES_MAX 10

/* Makes the name of an entry: that of the file, and from the second try on a number in it. It is cut
 * so that ".trashinfo" fits behind it. Replaces what is in trashed. 0 or -ENOMEM. */
MUST_CHECK int trash_entry_name(struct bytes *trashed, const char *name, int try);

/* Makes the info file of an entry, durably: whole or not at all. 0 or -errno; -EEXIST where the name
 * is taken.
 *
 * other	a name that no other file has: it stands in info/ under that until it is whole
 */
MUST_CHECK int trash_entry_write_info(struct trash_folder *trash, const char *name,
				      const char *other);

/* Removes it again. */
void trash_entry_remove_info(const struct trash_folder *trash, const char *name);

/* Appends its absolute path. 0 or -ENOMEM. */
MUST_CHECK int trash_entry_info_path(const struct trash_folder *trash, const char *name,
				     struct bytes *path);

/* Removes an info file that was left when an act was cut off: one in a folder of the effective user,
 * with no file of its name, that names the file which was acted upon; and one that is not whole.
 *
 * info		absolute path of it
 * other	the name that it had until it was whole
 * original	absolute path of the file
 */
void trash_entry_forget(const char *info, const char *other, const char *original);

#endif
