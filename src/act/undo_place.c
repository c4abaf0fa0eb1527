/* SPDX-License-Identifier: MIT */
#include "act/undo_place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/directory.h"
#include "base/log.h"
#include "base/path.h"
#include "base/quote.h"
#include "base/xattrs.h"
#include "catalog/filesystem.h"

/* Outcome of find_entry(), which ends the visit. */
enum {
	ENTRY_FOUND = 1,
};

/* What is compared with the record of a file: the directory of its source. */
struct undo_root {
	const struct record *record;
	int fd;
	bool any_filesystem;
};

/* Returns whether a directory is on the mount that the record names. */
static bool is_on_its_mount(const struct record *record, int directory)
{
	CLEANUP_BYTES struct bytes path = {0};
	struct root_identity root;

	return place_find_mount(directory, &path, &root) == 0 && bytes_text(&path) &&
	       strcmp(bytes_text(&path), record->mount.path) == 0 &&
	       root.inode == record->mount.root.inode && root.born_ns == record->mount.root.born_ns;
}

/* Returns whether the source is the same directory as at the time of the act, and no mount is
 * between it and the directory, now and at that time. The source itself can have another mount. */
static bool is_in_its_source(const struct undo_root *root, int directory)
{
	const struct record *record = root->record;
	const char *below = path_below(record->mount.path, record->source);
	const struct root_identity now = place_identify_root(root->fd);
	struct stat one, other;

	return (!below || !*below) && now.born_ns && now.born_ns == record->root.born_ns &&
	       now.inode == record->root.inode && fstat(root->fd, &one) == 0 &&
	       fstat(directory, &other) == 0 && one.st_dev == other.st_dev;
}

/* Returns whether a directory is on the file system of the record. If it is not, the former one is
 * probably not mounted. Of a file system without an identity, the mount is compared. A record
 * without a mount was made where /proc was not mounted. */
static bool is_on_its_filesystem(const struct undo_root *root, int directory)
{
	const struct record *record = root->record;
	uint64_t now = record->filesystem ? filesystem_lasting_identity(directory) : 0;

	if (root->any_filesystem)
		return true;
	if (now && now != record->filesystem)
		return false;
	return !record->mount.path || is_on_its_mount(record, directory) ||
	       is_in_its_source(root, directory);
}

/* Gives a new directory its former owner and mode. ACLs that it inherited would give rights that it
 * did not give. Returns 0, UNDO_PLACE_PRIVATE, or -errno. */
static int restore_access(const struct record *record, int fd)
{
	const struct xattrs none = {0};
	uint64_t refused = 0;
	int r = xattrs_write(&none, fd, &refused);

	if (r < 0 || refused > 0)
		return r < 0 ? r : UNDO_PLACE_PRIVATE;
	if (fchown(fd, record->folder_uid, record->folder_gid) < 0)
		return UNDO_PLACE_PRIVATE;
	return fchmod(fd, record->folder_mode) < 0 ? -errno : 0;
}

/* Gives a new directory of which nothing is known the owner of the directory above. A user without
 * the right to do this keeps it. In a sticky directory, such as /tmp, each user has files. */
static int make_private(int above, int fd)
{
	struct stat status;

	if (fstat(above, &status) < 0)
		return -errno;
	if ((status.st_mode & S_ISVTX) == 0 && fchown(fd, status.st_uid, status.st_gid) < 0)
		return errno == EPERM ? UNDO_PLACE_PRIVATE : -errno;
	return UNDO_PLACE_PRIVATE;
}

/* A directory to make: the path up to length. */
struct folder_making {
	const struct undo_root *root;
	const char *path;
	size_t length;
	const char *name; /* its last component */
	bool is_private; /* set */
};

static void explain_private(const struct folder_making *making)
{
	CLEANUP_BYTES struct bytes path = {0};

	if (bytes_format(&path, "%s/%.*s", making->root->record->source, (int)making->length,
			 making->path) == 0 &&
	    bytes_text(&path))
		log_warning("made the folder %s with the mode 0700: its former owner and mode are "
			    "unknown, or only root can restore them; check who needs access",
			    quote_path(bytes_text(&path)));
}

/* Opens a directory, and makes it if it is missing. The record knows only the directory of the
 * file itself. Returns a descriptor or -errno. */
static int descend(int above, struct folder_making *making)
{
	const struct record *record = making->root->record;
	bool is_last = !strchr(making->path + making->length + 1, '/');
	bool is_new;
	int fd, r;

	if (!is_on_its_filesystem(making->root, above))
		return -ENODEV;
	is_new = mkdirat(above, making->name, 0700) == 0;
	if (!is_new && errno != EEXIST)
		return -errno;
	fd = openat(above, making->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || !is_new)
		return fd < 0 ? -errno : fd;
	r = is_last && record->folder_known ? restore_access(record, fd) : make_private(above, fd);
	if (r == UNDO_PLACE_PRIVATE) {
		explain_private(making);
		making->is_private = true;
	}
	if (r >= 0)
		r = sync_directory(above);
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

/* Opens the longest existing part of a path below a directory. Sets *rest to the remaining
 * components. Returns a descriptor or -errno. */
static int open_existing(const struct undo_root *root, const char *path, const char **rest)
{
	AUTO_FREE char *part = strdup(path);
	int fd = part ? -ENOENT : -ENOMEM;

	for (*rest = path + strlen(path); fd == -ENOENT;) {
		char *slash = strrchr(part, '/');

		*(slash ? slash : part) = '\0';
		*rest = path + strlen(part) + (slash ? 1 : 0);
		fd = open_beneath(root->fd, part, O_PATH | O_DIRECTORY, true);
	}
	return fd;
}

/* Makes the directories of a path that are missing. Returns 0, UNDO_PLACE_PRIVATE or -errno. */
static int make_directories(const struct undo_root *root, const char *path)
{
	struct folder_making making = {.root = root, .path = path};
	const char *rest, *slash;
	int above = open_existing(root, path, &rest);

	for (; above >= 0 && (slash = strchr(rest, '/')); rest = slash + 1) {
		AUTO_FREE char *name = strndup(rest, (size_t)(slash - rest));
		int next;

		making.name = name;
		making.length = (size_t)(slash - path);
		next = name ? descend(above, &making) : -ENOMEM;
		close(above);
		above = next;
	}
	if (above < 0)
		return above;
	close(above);
	return making.is_private ? UNDO_PLACE_PRIVATE : 0;
}

bool undo_place_is_certain(const struct place *place, const struct record *record)
{
	return record->filesystem &&
	       filesystem_lasting_identity(place->directory) == record->filesystem;
}

static int find_entry(void *context, int directory, const struct dirent *entry)
{
	(void)directory;
	(void)entry;
	*(bool *)context = true;
	return ENTRY_FOUND;
}

/* Refuses a source that is empty if neither its file system nor its mount is known: it can be the
 * folder below a mount that is absent. */
static int refuse_unmounted(const struct undo_root *root)
{
	const struct record *record = root->record;
	AUTO_CLOSE int fd = -1;
	bool found = false;
	int r;

	if (root->any_filesystem || record->mount.path ||
	    (record->filesystem && filesystem_lasting_identity(root->fd)))
		return 0;
	fd = openat(root->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = directory_visit(fd, find_entry, &found);
	if (r < 0)
		return r;
	return found ? 0 : -ENODEV;
}

/* Opens the directory of a path below the source, and makes it if it is missing. */
static int open_or_make(struct place *place, const struct undo_root *root, const char *path)
{
	int made = 0;
	int r = place_open_below(place, root->fd, path, true);

	if (r == -ENOENT) {
		made = make_directories(root, path);
		r = made < 0 ? made : place_open_below(place, root->fd, path, true);
	}
	if (r == 0 && !is_on_its_filesystem(root, place->directory)) {
		place_close(place);
		return -ENODEV;
	}
	return r < 0 ? r : made;
}

int undo_place_open(struct place *place, const struct record *record, bool any_filesystem,
		    const char **absent)
{
	const struct root_identity any = {0};
	AUTO_CLOSE int fd = place_open_root(record->source, &any);
	const struct undo_root root = {record, fd, any_filesystem};
	const char *path = path_below(record->path, record->source);
	int r;

	place->directory = -1;
	*absent = record->source;
	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? -ENODEV : fd;
	if (!path || !*path)
		return -EPROTO;
	if (record->mount.path)
		*absent = record->mount.path;
	r = refuse_unmounted(&root);
	return r < 0 ? r : open_or_make(place, &root, path);
}

int undo_place_open_path(struct place *place, const char *path)
{
	AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	place->directory = -1;
	if (root < 0)
		return -errno;
	return path[0] == '/' && path[1] ? place_open_below(place, root, path + 1, true) : -EINVAL;
}
