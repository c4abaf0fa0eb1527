/* SPDX-License-Identifier: MIT */
#include "backup/backup_check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/manifest.h"
#include "backup/tree_walk.h"
#include "base/copier.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/metadata.h"
#include "base/numbers.h"
#include "base/stop.h"

struct checking {
	const struct backup_check *check;
	struct backup_figures *figures;
	struct manifest_reader reader; /* its name is the next one of the manifest */
	int backup; /* open directory */
	struct copier copier;
	struct xattrs xattrs; /* of the current name in the backup */
	struct bytes path; /* of the current name in the backup */
	struct progress progress;
	struct progress_counts counts;
};

static int report(struct checking *checking, const struct bytes *path, enum backup_fault fault,
		  int error)
{
	checking->figures->faults[fault]++;
	return checking->check->found(checking->check->context, path, fault, error);
}

/* Returns whether a failure concerns this process instead of one file. */
static bool is_fatal(int result)
{
	return result == -EINTR || result == -ENOMEM || result == -EMFILE || result == -ENFILE;
}

/* ---- bytes ------------------------------------------------------------------------------- */

/* Compares an open file with the hash and size of a name. */
static int check_bytes(struct checking *checking, const struct manifest_name *name, int fd)
{
	struct hash128 found;
	struct stat status;
	int r = 0;

	if (fstat(fd, &status) < 0)
		return report(checking, &name->path, BACKUP_UNREADABLE, -errno);
	if (!S_ISREG(status.st_mode) || (name->hashed && (uint64_t)status.st_size != name->size))
		return report(checking, &name->path, BACKUP_DAMAGED, 0);
	if (!name->hashed)
		return report(checking, &name->path, BACKUP_UNPROVED, 0);
	/* reads the disk, not what a copy has just left in memory */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	r = copy_hash(&checking->copier, fd, &found);
	if (r == COPY_UNREADABLE)
		return report(checking, &name->path, BACKUP_UNREADABLE,
			      checking->copier.read_error);
	if (r < 0)
		return r;
	return r == COPY_CHANGED || !hash128_equal(found, name->hash)
		       ? report(checking, &name->path, BACKUP_DAMAGED, 0)
		       : 0;
}

/* Checks the file below a directory of the backup that has the bytes of a name. */
static int check_file(struct checking *checking, const struct manifest_name *name, int directory,
		      const char *path)
{
	AUTO_CLOSE int fd = open_beneath_for_reading(directory, path, 0, true);

	if (fd >= 0)
		return check_bytes(checking, name, fd);
	if (is_fatal(fd))
		return fd;
	if (fd == -ENOENT || fd == -ENOTDIR)
		return report(checking, &name->path, BACKUP_MISSING, 0);
	return report(checking, &name->path, fd == -ELOOP ? BACKUP_DAMAGED : BACKUP_UNREADABLE, fd);
}

/* ---- names that the backup lacks --------------------------------------------------------- */

static int count_name(struct checking *checking)
{
	checking->counts.files_done++;
	progress_update(&checking->progress, &checking->counts);
	return stop_requested() ? -EINTR : 0;
}

/* Checks a name that is not in the backup. */
static int check_absent(void *context)
{
	struct checking *checking = context;
	struct manifest_name *name = &checking->reader.name;
	const char *content = bytes_text(&name->content);
	int r;

	if (!content)
		return -ENOMEM;
	r = name->content.length > 0 ? check_file(checking, name, checking->backup, content)
				     : report(checking, &name->path, BACKUP_MISSING, 0);
	return r == 0 ? count_name(checking) : r;
}

/* ---- names in the backup ----------------------------------------------------------------- */

/* Returns whether the time is right. A file without a hash was being written to, and a folder that
 * could not be listed is not compared. */
static bool is_time_right(const struct manifest_name *name, const struct stat *status)
{
	return name->unread || (S_ISREG(name->type) && !name->hashed) ||
	       stored_time_equals(name->mtime, status);
}

/* Compares the metadata of a name, or of the root. fd: O_PATH or more. */
static int check_metadata(struct checking *checking, const struct manifest_name *name,
			  const struct stat *status, int fd)
{
	struct backup_metadata *metadata = &checking->figures->metadata;
	bool mode = !S_ISLNK(status->st_mode) && (status->st_mode & ALLPERMS) != name->mode;
	bool owner = status->st_uid != name->uid || status->st_gid != name->gid;
	bool time = !is_time_right(name, status);
	/* all names of an inode are in uniques/, or none is */
	bool links = name->content.length == 0 && name->links > 1 && status->st_nlink < name->links;
	bool xattrs;
	int r = xattrs_read(&checking->xattrs, fd);

	if (r < 0)
		return is_fatal(r) ? r : report(checking, &name->path, BACKUP_UNREADABLE, r);
	xattrs = !xattrs_equal(&checking->xattrs, &name->xattrs);
	metadata->modes += mode;
	metadata->owners += owner;
	metadata->times += time;
	metadata->links += links;
	metadata->xattrs += xattrs;
	if (metadata->first.length > 0 || !(mode || owner || time || links || xattrs))
		return 0;
	return bytes_append(&metadata->first, name->path.data, name->path.length);
}

/* Compares the target of a symlink, or the number of a device. */
static int check_special(struct checking *checking, const struct stat *status, int fd)
{
	const struct manifest_name *name = &checking->reader.name;
	char target[PATH_MAX];
	ssize_t length;
	bool same = true;

	if (S_ISLNK(name->type)) {
		length = readlinkat(fd, "", target, sizeof(target));
		if (length < 0)
			return report(checking, &name->path, BACKUP_UNREADABLE, -errno);
		same = (size_t)length == name->target.length &&
		       memcmp(target, name->target.data, name->target.length) == 0;
	} else if (S_ISCHR(name->type) || S_ISBLK(name->type)) {
		same = status->st_rdev == name->device;
	}
	return same ? 0 : report(checking, &name->path, BACKUP_DAMAGED, 0);
}

/* Checks the next name of the manifest, which is in a directory of the backup. */
static int check_present(struct checking *checking, int directory, const char *base)
{
	const struct manifest_name *name = &checking->reader.name;
	AUTO_CLOSE int fd = open_beneath(directory, base, O_PATH, true);
	struct stat status;
	int r;

	if (fd < 0 || fstat(fd, &status) < 0) {
		r = fd < 0 ? fd : -errno;
		return is_fatal(r) ? r : report(checking, &name->path, BACKUP_UNREADABLE, r);
	}
	if ((status.st_mode & S_IFMT) != name->type)
		return report(checking, &name->path, BACKUP_DAMAGED, 0);
	r = check_metadata(checking, name, &status, fd);
	if (r == 0 && name->unread)
		return report(checking, &name->path, BACKUP_UNLISTED, 0);
	if (r < 0 || S_ISDIR(name->type))
		return r;
	return S_ISREG(name->type) ? check_file(checking, name, directory, base)
				   : check_special(checking, &status, fd);
}

/* Returns whether the next name of the manifest is below the current path: the manifest possibly
 * lacks a directory that could not be opened. */
static bool is_above_next(const struct checking *checking)
{
	return !checking->reader.at_end &&
	       path_is_below(&checking->reader.name.path, &checking->path);
}

/* Checks a name of the backup. Sets *surplus to whether the manifest lacks it. */
static int check_name(struct checking *checking, int directory, const char *base, bool *surplus)
{
	bool found;
	int r = manifest_reader_seek(&checking->reader, &checking->path, check_absent, checking,
				     &found);

	*surplus = r == 0 && !found && !is_above_next(checking);
	if (r < 0 || (!found && !*surplus))
		return r;
	if (!found)
		return report(checking, &checking->path, BACKUP_SURPLUS, 0);
	r = check_present(checking, directory, base);
	if (r == 0)
		r = count_name(checking);
	return r < 0 ? r : manifest_reader_advance(&checking->reader);
}

/* ---- the walk ---------------------------------------------------------------------------- */

static int enter(void *context, const struct tree_dir *dir)
{
	struct checking *checking = context;
	bool surplus = false;
	int r = tree_path(&checking->path, dir->path, "");

	if (r == 0 && dir->path[0] != '\0')
		r = check_name(checking, dir->fd, "", &surplus);
	if (r < 0)
		return r;
	return surplus ? (int)TREE_PASS_OVER : 0;
}

static int item(void *context, const struct tree_dir *dir, const char *name,
		const struct stat *status)
{
	struct checking *checking = context;
	bool surplus;
	int r = tree_path(&checking->path, dir->path, name);

	(void)status;
	return r < 0 ? r : check_name(checking, dir->fd, name, &surplus);
}

/* Reports a directory that cannot be read. Its names are then missing. */
static int failed(void *context, const char *path, int error)
{
	struct checking *checking = context;
	int r = is_fatal(error) ? error : tree_path(&checking->path, path, "");

	return r < 0 ? r : report(checking, &checking->path, BACKUP_UNREADABLE, error);
}

/* Compares the metadata of the root, if the manifest has it. */
static int check_root(struct checking *checking)
{
	const struct manifest_name *root = &checking->reader.root;
	struct stat status;

	if (root->path.length == 0)
		return 0;
	if (fstat(checking->backup, &status) < 0)
		return -errno;
	return check_metadata(checking, root, &status, checking->backup);
}

static int check_all(struct checking *checking)
{
	const struct tree_visitor visitor = {
		.enter = enter,
		.item = item,
		.failed = failed,
		.context = checking,
	};
	bool found;
	int r = check_root(checking);

	if (r == 0)
		r = manifest_reader_advance(&checking->reader);
	if (r == 0)
		r = tree_walk(checking->backup, &visitor);
	if (r == 0)
		r = manifest_reader_seek(&checking->reader, NULL, check_absent, checking, &found);
	checking->figures->names = checking->reader.names;
	return r;
}

/* ---- the manifest ------------------------------------------------------------------------ */

/* Reads the whole manifest, so that a damaged one is refused before anything is reported. */
static int check_manifest(struct checking *checking, int fd)
{
	CLEANUP_MANIFEST_READER struct manifest_reader reader = {0};
	const char *path = checking->check->manifest;
	int r = manifest_reader_init(&reader, fd, path);

	if (r == 0 && reader.format != MANIFEST_ALL) {
		log_error("cannot check a backup by the manifest %s: it has only the names that "
			  "uniques/ leaves out; make it with 'twinfs manifest --all'",
			  quote_path(path));
		return -EINVAL;
	}
	while (r == 0 && (r = manifest_reader_next(&reader)) == 0)
		r = stop_requested() ? -EINTR : 0;
	checking->counts.files_total = reader.names;
	return r == MANIFEST_END ? 0 : r;
}

static int open_backup(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	log_error("cannot open the backup %s: %s", quote_path(path), error_text(-errno));
	return -EINVAL;
}

/* Writes what is only in memory to the disk, so that the check reads from there what it can. A disk
 * that cannot write reports that here. */
static int write_out(const struct checking *checking)
{
	int r = syncfs(checking->backup) < 0 ? -errno : 0;

	if (r < 0)
		log_error("cannot write the disk of the backup %s: %s",
			  quote_path(checking->check->backup), error_text(r));
	return r;
}

static void count_bytes(void *context, uint64_t bytes)
{
	struct checking *checking = context;

	checking->counts.bytes_done = size_add(checking->counts.bytes_done, bytes);
	progress_update(&checking->progress, &checking->counts);
}

static int run(struct checking *checking, int fd)
{
	int r = check_manifest(checking, fd);

	if (r == 0)
		r = copier_init(&checking->copier);
	if (r < 0)
		return r;
	checking->copier.progress = count_bytes;
	checking->copier.context = checking;
	checking->backup = open_backup(checking->check->backup);
	if (checking->backup < 0)
		return checking->backup;
	r = write_out(checking);
	if (r < 0)
		return r;
	progress_start(&checking->progress, checking->check->progress, "checking");
	r = manifest_reader_init(&checking->reader, fd, checking->check->manifest);
	if (r == 0)
		r = check_all(checking);
	progress_end(&checking->progress, &checking->counts);
	return r;
}

void backup_figures_deinit(struct backup_figures *figures)
{
	bytes_free(&figures->metadata.first);
}

int backup_check_run(const struct backup_check *check, struct backup_figures *figures)
{
	struct checking checking = {.check = check, .figures = figures, .backup = -1};
	AUTO_CLOSE int fd = manifest_open(check->manifest);
	int r;

	*figures = (struct backup_figures){0};
	r = fd < 0 ? fd : run(&checking, fd);
	if (r == -ENOMEM)
		log_error("cannot check %s: %s", quote_path(check->backup), error_text(r));
	manifest_reader_deinit(&checking.reader);
	copier_deinit(&checking.copier);
	xattrs_free(&checking.xattrs);
	bytes_free(&checking.path);
	cleanup_close(&checking.backup);
	return r;
}
