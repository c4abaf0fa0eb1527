/* SPDX-License-Identifier: MIT */
#include "act/examine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/descriptor.h"
#include "base/extents.h"

/* Returns whether the name is the link of the act. A hard link that is the only name of its file
 * does not count, as removing it would lose the bytes. Some file systems do not show the target of
 * a symlink, but no other program knows the quarantine name. */
static bool is_the_link(const struct place *place, const char *name, const struct intent *intent,
			const struct statx *status)
{
	if (intent->kind == INTENT_LINK)
		return S_ISREG(status->stx_mode) && status->stx_ino == intent->kept_inode &&
		       status->stx_nlink > 1;
	return intent->kind == INTENT_SYMLINK && intent->target && S_ISLNK(status->stx_mode) &&
	       (strcmp(name, intent->other) == 0 ||
		place_is_symlink_to(place, name, intent->target));
}

int examine_name(const struct place *place, const char *name, const struct intent *intent,
		 enum found *found)
{
	struct statx status;

	*found = FOUND_NOTHING;
	if (statx(place->directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS | STATX_BTIME, &status) < 0)
		return errno == ENOENT ? 0 : -errno;
	*found = FOUND_OTHER;
	if (place_is_inode(&status, intent->inode, intent->born_ns))
		*found = FOUND_COPY;
	else if (is_the_link(place, name, intent, &status))
		*found = FOUND_LINK;
	return 0;
}

static bool is_at(const char *path, uint64_t inode, int64_t born_ns)
{
	struct statx status;

	return path && inode &&
	       statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_INO | STATX_BTIME,
		     &status) == 0 &&
	       place_is_inode(&status, inode, born_ns);
}

/* Returns whether the copy shares all blocks of the kept file. */
static bool is_shared(const struct place *place, const struct record *record)
{
	AUTO_CLOSE int copy = open_beneath_for_reading(place->directory, place->name, 0, false);
	AUTO_CLOSE int kept =
		record->kept ? open(record->kept, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
			     : -1;

	return copy >= 0 && kept >= 0 && extents_all_shared(copy, kept);
}

enum deed examine_deed(const struct place *place, const struct intent *intent,
		       const struct record *record)
{
	enum found found = FOUND_NOTHING;

	if (place->directory < 0)
		return intent->did ? DEED_DONE : DEED_UNCERTAIN;
	if (intent->kind == INTENT_SHARE)
		return intent->did || is_shared(place, record) ? DEED_DONE : DEED_NONE;
	if (examine_name(place, place->name, intent, &found) == 0 && found == FOUND_COPY)
		return DEED_NONE;
	if (intent->did || intent->is_emptied || found == FOUND_LINK ||
	    is_at(record->to, intent->inode, intent->born_ns) ||
	    is_at(record->to, intent->made_inode, intent->made_born_ns))
		return DEED_DONE;
	return DEED_UNCERTAIN;
}

bool examine_second_name(const struct place *other, const struct intent *intent)
{
	CLEANUP_DECODED_RECORD struct decoded_record decoded = {.record = {.act = NULL}};
	struct stat status;
	struct place there;
	bool has;

	if (!intent->record ||
	    record_decode(intent->record, strlen(intent->record), &decoded) < 0 ||
	    !decoded.record.to ||
	    fstatat(other->directory, other->name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    status.st_nlink <= decoded.record.links ||
	    place_open_parent(&there, decoded.record.to) < 0)
		return false;
	has = place_are_one_file(other, &there) && sync_directory(there.directory) == 0;
	place_close(&there);
	return has;
}
