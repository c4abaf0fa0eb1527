/* SPDX-License-Identifier: MIT */
#include "act/arrived.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/copier.h"
#include "base/descriptor.h"

uint64_t arrived_count_parted(const struct arrived *arrived)
{
	return arrived->parted +
	       (arrived->is_parted || (arrived->is_known && arrived->original.st_nlink > 0));
}

void arrived_deinit(struct arrived *arrived)
{
	uint64_t parted = arrived_count_parted(arrived);

	if (arrived->is_known)
		held_close(&arrived->file);
	*arrived = (struct arrived){.parted = parted};
}

void arrived_expect(struct arrived *arrived, const struct held *copy)
{
	if (arrived->is_known && !is_same_inode(&arrived->original, &copy->status))
		arrived_deinit(arrived);
}

/* A copy that cannot be examined is taken to have no further names. A writer of the file does not have
 * to wait any more then. */
void arrived_note_link(struct arrived *arrived, const struct held *copy)
{
	if (fstat(copy->fd, &arrived->original) < 0)
		arrived->original = (struct stat){0};
	if (arrived->original.st_nlink == 0)
		held_close(&arrived->file);
}

void arrived_note(struct arrived *arrived, const struct held *copy, const struct place *there,
		  const struct stat *file)
{
	if (arrived->is_known) {
		arrived->is_parted = true;
		held_close(&arrived->file);
	}
	arrived->is_known = true;
	arrived->file.fd = -1;
	arrived_note_link(arrived, copy);
	if (arrived->original.st_nlink == 0 || held_open_any(&arrived->file, there) != 0)
		return;
	if (!copy_same_signature(&arrived->file.status, file))
		held_close(&arrived->file);
}

/* Was nothing changed of a copy but its names? */
static bool is_unchanged(const struct stat *before, const struct stat *now)
{
	return before->st_mode == now->st_mode && before->st_uid == now->st_uid &&
	       before->st_gid == now->st_gid && before->st_size == now->st_size &&
	       before->st_mtim.tv_sec == now->st_mtim.tv_sec &&
	       before->st_mtim.tv_nsec == now->st_mtim.tv_nsec;
}

/* Has the file system no such link? The file has no name any more, too many of them, or the
 * directory is on another file system. */
static bool is_no_link_possible(int error)
{
	return error == ENOENT || error == EXDEV || error == EMLINK || error == EPERM ||
	       error == EOPNOTSUPP;
}

int arrived_link(struct arrived *arrived, const struct held *copy, const struct place *to)
{
	struct fd_path path;

	if (!arrived->is_known || arrived->file.fd < 0 ||
	    !is_unchanged(&arrived->original, &copy->status) ||
	    held_same_bytes(&arrived->file, copy) != 1 || !held_is_unbroken(&arrived->file))
		return ARRIVED_APART;
	path = fd_path(arrived->file.fd);
	if (linkat(AT_FDCWD, path.text, to->directory, to->name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	return is_no_link_possible(errno) ? ARRIVED_APART : -errno;
}
