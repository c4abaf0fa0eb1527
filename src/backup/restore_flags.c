/* SPDX-License-Identifier: MIT */

/* Sets the flags of restored names, after everything else: an immutable file can get no name, and
 * an immutable directory no entry. */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "backup/restoring.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/inode_flags.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/stop.h"

static void note(struct restoring *restoring, const struct manifest_name *name, int result)
{
	char flags[INODE_FLAGS_TEXT_MAX];

	if (result == 0)
		return;
	log_warning("restored %s without the attributes '%s' of chattr: %s",
		    quote_bytes((const char *)name->path.data, name->path.length),
		    inode_flags_text(name->flags, flags), error_text(result));
	restoring->result->flags++;
}

static int set(struct restoring *restoring, struct manifest_name *name)
{
	const char *path = bytes_text(&name->path);
	int flags = S_ISDIR(name->type) ? O_DIRECTORY : 0;
	AUTO_CLOSE int fd = -1;
	int r;

	if (!path)
		return -ENOMEM;
	fd = open_beneath_for_reading(restoring->target, path, flags, true);
	if (fd < 0)
		r = fd;
	else if (flags == 0 && restoring->settings->way == RESTORE_LINK)
		r = -EMLINK; /* it can be a link of a file in the backup, which must not change */
	else
		r = inode_flags_add(fd, name->flags);
	note(restoring, name, r);
	return 0;
}

int restore_flags(struct restoring *restoring, struct manifest_reader *checked)
{
	CLEANUP_MANIFEST_READER struct manifest_reader reader = {0};
	struct manifest_name *name = &reader.name;
	int r;

	if (checked->flagged == 0)
		return 0;
	r = manifest_reader_init(&reader, checked->lines.fd, checked->path);
	while (r == 0 && (r = manifest_reader_next(&reader)) == 0) {
		if (stop_requested())
			return -EINTR;
		if (name->flags != 0 &&
		    restore_only_part(restoring->settings->only, name->path.data,
				      name->path.length) != RESTORE_NOTHING)
			r = set(restoring, name);
	}
	return r == MANIFEST_END ? 0 : r;
}

void restore_root_flags(struct restoring *restoring, const struct manifest_reader *checked)
{
	if (checked->root.flags != 0)
		note(restoring, &checked->root,
		     inode_flags_add(restoring->target, checked->root.flags));
}
