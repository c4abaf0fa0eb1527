/* SPDX-License-Identifier: MIT */
#ifndef ACT_FILE_COPY_H
#define ACT_FILE_COPY_H

#include <stdbool.h>

#include "base/attributes.h"
#include "base/hash.h"
#include "base/metadata.h"

/* Copies an open file to a new file in an open directory and syncs the new file. Copies bytes,
 * holes, mode, owner, times and extended attributes. Blocks on the disk; any thread.
 *
 * Returns 0, -EEXIST if the name exists, -EBUSY if a program wrote to the file meanwhile, -EINTR if
 * stop_requested(), -ENOTSUP if the new file cannot have the same owner or extended attributes, or
 * another -errno. After a failure there is no new file. */
MUST_CHECK int file_copy(int from, int directory, const char *name);

/* Saves an open file, whose bytes possibly exist nowhere else, in an open directory, and syncs the
 * new file. Continues even if a program writes meanwhile, if stop_requested(), or if the new file
 * cannot have the same owner or extended attributes.
 *
 * The new file gets its name when it is complete. Until then it has no name (O_TMPFILE). If that is
 * not possible, it has the name with the suffix FILE_COPY_PART, and replaces a leftover of that
 * name. Returns 0 or -errno. */
MUST_CHECK int file_copy_save(int from, int directory, const char *name);

/* What file_copy_restore() makes of a file. */
struct file_copy_wish {
	struct metadata metadata;
	struct hash128 hash;
	bool has_flags; /* the inode flags are known */
	uint32_t flags; /* inode_flag_bits_read() */
	/* Called when the new file is complete and has no name yet. Returns whether the content is
	 * still that of the open file as it was wished. */
	bool (*is_valid)(void *context);
	void *context;
	struct metadata_refused refused; /* set: what could not be set */
	bool fewer_flags; /* set: not all flags could be set */
};

/* Outcome: the file does not have the wished content. */
enum {
	FILE_COPY_DIFFERS = 1,
};

/* Makes a new file with the content of an open file and the wished metadata, and syncs it. Shares
 * the blocks of the file if possible. The new file has its name only if it is complete and has the
 * wished hash.
 *
 * part		private name that the file has until then, if the file system has no files without
 *		a name; NULL: the result is -EOPNOTSUPP in this case; name itself: the file has its
 *		name before it is complete
 *
 * If the file system can give a new name to no file without the risk to replace another one, the
 * result is -EOPNOTSUPP, too, unless part is name.
 *
 * Returns 0, FILE_COPY_DIFFERS, -EEXIST if the name exists, or another -errno. After a failure
 * there is no new file. */
MUST_CHECK int file_copy_restore(int from, int directory, const char *name, const char *part,
				 struct file_copy_wish *wish);

#define FILE_COPY_PART ".part"

#endif
