/* SPDX-License-Identifier: MIT */
#include "act/arrived.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/copier.h"
#include "base/descriptor.h"
#include "base/xattrs.h"

uint64_t arrived_count_split(const struct arrived *arrived)
{
	return arrived->split +
	       (arrived->is_split || (arrived->is_known && arrived->original.st_nlink > 0));
}

void arrived_deinit(struct arrived *arrived)
{
	uint64_t split = arrived_count_split(arrived);

	if (arrived->is_known)
		held_close(&arrived->file);
	*arrived = (struct arrived){.split = split};
}

void arrived_expect(struct arrived *arrived, const struct held *copy)
{
	if (arrived->is_known && !is_same_inode(&arrived->original, &copy->status))
		arrived_deinit(arrived);
}

/* The copy knows how many names it has left: a FUSE server can hide a removed name and count it. If
 * the copy has no further name, or fstat(2) fails, closes the file that the copy became. This
 * ends the lease on that file, so that writers can continue. */
void arrived_note_link(struct arrived *arrived, const struct held *copy)
{
	if (fstat(copy->fd, &arrived->original) < 0)
		arrived->original = (struct stat){0};
	if (arrived->original.st_nlink > copy->status.st_nlink)
		arrived->original.st_nlink = copy->status.st_nlink;
	if (arrived->original.st_nlink == 0)
		held_close(&arrived->file);
}

void arrived_note(struct arrived *arrived, const struct held *copy, const struct place *there,
		  const struct stat *file)
{
	if (arrived->is_known) {
		arrived->is_split = true;
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

static bool has_same_owner(const struct stat *a, const struct stat *b)
{
	return a->st_mode == b->st_mode && a->st_uid == b->st_uid && a->st_gid == b->st_gid;
}

static bool has_same_attributes(const struct held *a, const struct held *b)
{
	CLEANUP_XATTRS struct xattrs one = {0}, other = {0};

	return xattrs_read(&one, a->fd) == 0 && xattrs_read(&other, b->fd) == 0 &&
	       xattrs_equal(&one, &other);
}

/* Compares the attributes of a copy. Returns whether nothing but its names changed. */
static bool is_unchanged(const struct stat *before, const struct stat *now)
{
	return has_same_owner(before, now) && before->st_size == now->st_size &&
	       clock_equal(before->st_mtim, now->st_mtim);
}

/* Returns whether the file may be linked as a further name of the copy. A user who can write to the
 * destination could replace the file by one with the same bytes. A link to that one would let this
 * user change the copy, so owner, mode and attributes must be equal. */
static bool can_be_linked(const struct arrived *arrived, const struct held *copy)
{
	struct stat now;

	return fstat(arrived->file.fd, &now) == 0 && has_same_owner(&now, &copy->status) &&
	       has_same_attributes(&arrived->file, copy) &&
	       held_same_bytes(&arrived->file, copy) == 1 && held_is_unbroken(&arrived->file);
}

/* Returns whether the error means that no link is possible: the file has no name or too many names,
 * the directory is on another file system, or links are not supported or not permitted. */
static bool is_no_link_possible(int error)
{
	return error == ENOENT || error == EXDEV || error == EMLINK || error == EPERM ||
	       error == EOPNOTSUPP;
}

int arrived_link(struct arrived *arrived, const struct held *copy, const struct place *to)
{
	struct fd_path path;

	if (!arrived->is_known || arrived->file.fd < 0 ||
	    !is_unchanged(&arrived->original, &copy->status) || !can_be_linked(arrived, copy))
		return ARRIVED_APART;
	path = fd_path(arrived->file.fd);
	if (linkat(AT_FDCWD, path.text, to->directory, to->name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	return is_no_link_possible(errno) ? ARRIVED_APART : -errno;
}
