/* SPDX-License-Identifier: MIT */
#include "act/file_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copier.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/metadata.h"

static int copy_all_bytes(int from, int to, bool save)
{
	struct copier copier;
	int r = copier_init(&copier);

	copier.to_the_end = save;
	if (r == 0)
		r = copy_bytes(&copier, from, to, NULL);
	if (r == COPY_CHANGED)
		r = save ? 0 : -EBUSY;
	else if (r == COPY_UNREADABLE)
		r = copier.read_error;
	copier_deinit(&copier);
	return r;
}

static int copy_metadata(int from, int to)
{
	CLEANUP_XATTRS struct xattrs xattrs = {0};
	struct metadata_refused refused = {0};
	struct metadata metadata;
	struct stat status;
	int r = xattrs_read(&xattrs, from);

	if (r == 0 && fstat(from, &status) < 0)
		r = -errno;
	if (r < 0)
		return r;
	metadata = metadata_of(&status, &xattrs);
	r = metadata_apply(&metadata, to, &refused);
	if (r == 0 && refused.owners + refused.xattrs > 0)
		r = -ENOTSUP;
	if (r == 0 && refused.times > 0)
		r = -EOVERFLOW;
	return r;
}

/* Fills and syncs a new file. If save is set, first tries to share the blocks of the old file, as
 * shared blocks need no space. */
static int fill(int from, int to, bool save)
{
	int r = save && ioctl(to, FICLONE, from) == 0 ? 0 : copy_all_bytes(from, to, save);

	if (r == 0)
		r = copy_metadata(from, to);
	if (save && (r == -ENOTSUP || r == -EOVERFLOW))
		r = 0;
	return r == 0 && fsync(to) < 0 ? -errno : r;
}

static int make_named(int from, int directory, const char *name, bool save)
{
	AUTO_CLOSE int to =
		openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (to < 0)
		return -errno;
	r = fill(from, to, save);
	if (r < 0)
		(void)unlinkat(directory, name, 0);
	return r;
}

/* Returns whether a file without a name can get none here: /proc is not mounted (ENOENT), or the
 * file system has no hard links (EPERM). */
static bool cannot_name(int error)
{
	return error == ENOENT || error == EPERM;
}

/* Saves into a file without a name, which gets its name when it is complete. Returns 0, -EOPNOTSUPP
 * if no such file can be made or /proc, which names it, is not mounted, or another -errno. */
static int make_nameless(int from, int directory, const char *name)
{
	AUTO_CLOSE int to = openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	struct fd_path path = fd_path(to);
	int r;

	if (to < 0)
		return -EOPNOTSUPP;
	r = fill(from, to, true);
	if (r < 0)
		return r;
	if (linkat(AT_FDCWD, path.text, directory, name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	return cannot_name(errno) ? -EOPNOTSUPP : -errno;
}

/* Saves into a file with a temporary name, which is renamed when it is complete. */
static int make_renamed(int from, int directory, const char *name)
{
	char part[NAME_MAX + 1];
	int r;

	if (snprintf(part, sizeof(part), "%s" FILE_COPY_PART, name) >= (int)sizeof(part))
		return -ENAMETOOLONG;
	/* removes a leftover of an interrupted act */
	if (unlinkat(directory, part, 0) < 0 && errno != ENOENT)
		return -errno;
	r = make_named(from, directory, part, true);
	if (r < 0)
		return r;
	if (renameat2(directory, part, directory, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno == EINVAL && renameat(directory, part, directory, name) == 0)
		return 0; /* EINVAL: no RENAME_NOREPLACE; only this act uses the name */
	r = -errno;
	(void)unlinkat(directory, part, 0);
	return r;
}

/* ---- a file with other metadata ------------------------------------------------------ */

static int fill_as_wished(int from, int to, struct file_copy_wish *wish)
{
	struct hash128 hash = {0};
	int r;

	if (wish->has_flags)
		inode_flag_bits_set_early(to, wish->flags);
	r = ioctl(to, FICLONE, from) == 0 ? 0 : copy_all_bytes(from, to, false);
	if (r == 0)
		r = file_hash(to, NULL, &hash);
	if (r < 0)
		return r == -EBUSY ? FILE_COPY_DIFFERS : r;
	if (!hash128_equal(hash, wish->hash))
		return FILE_COPY_DIFFERS;
	wish->refused = (struct metadata_refused){0};
	r = metadata_apply(&wish->metadata, to, &wish->refused);
	wish->fewer_flags = r == 0 && wish->has_flags && !inode_flag_bits_set(to, wish->flags);
	if (r == 0 && fsync(to) < 0)
		r = -errno;
	return r < 0 || wish->is_valid(wish->context) ? r : FILE_COPY_DIFFERS;
}

/* Renames the new file and replaces nothing. Returns 0, -EOPNOTSUPP if the file system has neither
 * RENAME_NOREPLACE nor hard links, or another -errno. */
static int name_part(int directory, const char *part, const char *name)
{
	if (renameat2(directory, part, directory, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(directory, part, directory, name, 0) < 0)
		return errno == EEXIST ? -EEXIST : -EOPNOTSUPP;
	return unlinkat(directory, part, 0) < 0 ? -errno : 0;
}

/* Makes the file under the private name, then renames it. With part == name, the file is incomplete
 * under its name. */
static int restore_renamed(int from, int directory, const char *name, const char *part,
			   struct file_copy_wish *wish)
{
	AUTO_CLOSE int to =
		openat(directory, part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (to < 0)
		return -errno;
	r = fill_as_wished(from, to, wish);
	if (r == 0 && part != name)
		r = name_part(directory, part, name);
	if (r != 0)
		(void)unlinkat(directory, part, 0);
	return r;
}

int file_copy_restore(int from, int directory, const char *name, const char *part,
		      struct file_copy_wish *wish)
{
	AUTO_CLOSE int to = openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct fd_path path = fd_path(to);
	int r = to < 0 ? -EOPNOTSUPP : fill_as_wished(from, to, wish);

	if (r == 0 && linkat(AT_FDCWD, path.text, directory, name, AT_SYMLINK_FOLLOW) < 0)
		r = cannot_name(errno) ? -EOPNOTSUPP : -errno;
	return r == -EOPNOTSUPP && part ? restore_renamed(from, directory, name, part, wish) : r;
}

/* ---- a copy with all metadata -------------------------------------------------------- */

int file_copy(int from, int directory, const char *name)
{
	return make_named(from, directory, name, false);
}

int file_copy_save(int from, int directory, const char *name)
{
	int r = make_nameless(from, directory, name);

	return r == -EOPNOTSUPP ? make_renamed(from, directory, name) : r;
}
