/* SPDX-License-Identifier: MIT */
#include "act/trash.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "act/journal.h"
#include "act/one_act.h"
#include "base/descriptor.h"
#include "base/kernel.h"
#include "base/text.h"
#include "index/source.h"

/* Highest number of names that are tried for an entry. The last ones have random numbers. */
#define TRASH_NAMES_MAX 10
#define INFO_SUFFIX ".trashinfo"
#define INFO_HEADER "[Trash Info]\nPath="
/* Last try with a small number; the first try has no number. Later tries use random numbers, so
 * that the cost of many equal names is linear. */
#define NUMBERED_TRIES 5
/* Room for a dot, the random part of a quarantine name, and NUL. */
#define MARK_SIZE OTHER_NAME_SIZE
/* Longest extension (with its dot) that stays at the end of the name, in bytes. */
#define EXTENSION_MAX 16
/* Longest info file that is read, in bytes: a path of 64 KiB with each byte encoded. */
#define INFO_BYTES_MAX ((size_t)256 << 10)

/* Outcome: no trash folder can take the file by a rename. */
enum {
	TRASH_FOLDER_NONE = 1,
};

static bool is_own(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

/* Makes a missing directory, with access for the effective user only. Returns 0 or -errno. */
static int make_folder(int parent, const char *name)
{
	if (mkdirat(parent, name, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	return sync_directory(parent);
}

/* Opens a directory, which must belong to the effective user. Returns a descriptor or -errno.
 *
 * flags	O_NOFOLLOW or 0
 */
static int open_existing(int parent, const char *name, int flags)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);

	if (fd < 0)
		return -errno;
	if (is_own(fd))
		return fd;
	close(fd);
	return -EPERM;
}

/* Opens the directory that would contain a missing one, if it can take it. */
static int open_parent(int parent, const char *name)
{
	const char *slash = strrchr(name, '/');
	AUTO_FREE char *path = slash ? strndup(name, (size_t)(slash - name) + 1) : strdup(".");
	int fd = path ? openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd < 0)
		return path ? -errno : -ENOMEM;
	if (access_effective(fd, ".", W_OK | X_OK) == 0)
		return fd;
	close(fd);
	return -EACCES;
}

/* Opens a directory like open_existing(). If it is missing, makes it first. If trash only looks,
 * opens its parent instead, provided that the parent can take it. */
static int open_own(const struct trash_folder *trash, int parent, const char *name, int flags)
{
	int r = trash->only_looks ? 0 : make_folder(parent, name);

	if (r == 0)
		r = open_existing(parent, name, flags);
	return r == -ENOENT && trash->only_looks ? open_parent(parent, name) : r;
}

/* ---- the home trash ------------------------------------------------------------------ */

/* Opens a directory from the environment. The directory must belong to the effective user, so root
 * with the HOME of another user has no home trash. */
static int open_named(const char *path)
{
	return path && *path == '/' ? open_existing(AT_FDCWD, path, 0) : -ENOENT;
}

/* Opens ~/.local/share, and makes it if it is missing. */
static int open_default_data(struct trash_folder *trash)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no thread sets the environment */
	const char *home = getenv("HOME");
	AUTO_CLOSE int directory = open_named(home);
	AUTO_CLOSE int local = directory < 0 ? -1 : open_own(trash, directory, ".local", 0);

	if (directory < 0)
		return directory;
	if (local < 0)
		return local;
	return bytes_format(&trash->path, "%s/.local/share", home) < 0
		       ? -ENOMEM
		       : open_own(trash, local, "share", 0);
}

static int open_data(struct trash_folder *trash)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no thread sets the environment */
	const char *data = getenv("XDG_DATA_HOME");

	if (!data || *data != '/')
		return open_default_data(trash);
	return bytes_append_text(&trash->path, data) < 0 ? -ENOMEM
							 : open_own(trash, AT_FDCWD, data, 0);
}

/* Opens the home trash if a file can be renamed from the directory to it. */
static int open_home_trash(struct trash_folder *trash, int directory, const char *absolute)
{
	AUTO_CLOSE int data = open_data(trash);
	int r;

	if (data < 0)
		return data;
	if (!can_rename_between(data, directory))
		return -EXDEV;
	r = bytes_append_text(&trash->path, "/Trash");
	if (r == 0)
		r = bytes_append_text(&trash->original, absolute);
	return r < 0 ? r : open_own(trash, data, "Trash", 0);
}

/* ---- trash of a mount ---------------------------------------------------------------- */

/* Opens the root directory of the mount that contains a directory. Sets *levels to the number of
 * levels between both. Returns -EXDEV if the topmost directory is not the root of a mount, as in an
 * unmounted subvolume. No desktop searches a subvolume for a trash. */
static int open_top(int directory, size_t *levels)
{
	int top = openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (*levels = 0; top >= 0; ++*levels) {
		int above = openat(top, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		struct stat here, there;
		struct statx status;

		if (above >= 0 && can_rename_between(top, above) && fstat(top, &here) == 0 &&
		    fstat(above, &there) == 0 && !is_same_inode(&here, &there)) {
			close(top);
			top = above;
			continue;
		}
		if (above >= 0)
			close(above);
		if (above >= 0 && statx(top, "", AT_EMPTY_PATH, 0, &status) == 0 &&
		    (status.stx_attributes & STATX_ATTR_MOUNT_ROOT ||
		     !(status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)))
			return top;
		close(top);
		return -EXDEV;
	}
	return -errno;
}

/* Splits the absolute path of a file at a directory.
 *
 * levels	number of levels of that directory above the directory of the file
 */
static int split_path(struct trash_folder *trash, const char *absolute, size_t levels)
{
	size_t end = strlen(absolute);
	int r;

	for (size_t i = 0; i <= levels; i++) {
		do {
			if (end == 0)
				return -ENOENT;
			end--;
		} while (absolute[end] != '/');
	}
	r = bytes_append(&trash->path, absolute, end);
	return r < 0 ? r : bytes_append_text(&trash->original, absolute + end + 1);
}

/* Opens .Trash/UID. .Trash must exist, must be sticky and must not be a symlink. */
static int open_shared_trash(const struct trash_folder *trash, int top, const char *user)
{
	AUTO_CLOSE int shared =
		openat(top, ".Trash", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (shared < 0)
		return -errno;
	if (fstat(shared, &status) < 0 || !(status.st_mode & S_ISVTX))
		return -EPERM;
	return open_own(trash, shared, user, O_NOFOLLOW);
}

static int open_mount_trash(struct trash_folder *trash, int directory, const char *absolute)
{
	char name[sizeof(".Trash-") + 3 * sizeof(uid_t)];
	size_t levels;
	AUTO_CLOSE int top = open_top(directory, &levels);
	int r, fd;

	if (top < 0)
		return top;
	(void)snprintf(name, sizeof(name), ".Trash-%u", geteuid());
	r = split_path(trash, absolute, levels);
	if (r < 0)
		return r;
	fd = open_shared_trash(trash, top, name + strlen(".Trash-"));
	if (fd >= 0)
		name[strlen(".Trash")] = '/';
	else
		fd = open_own(trash, top, name, O_NOFOLLOW);
	r = bytes_format(&trash->path, "/%s", name);
	if (r == 0 || fd < 0)
		return fd;
	close(fd);
	return r;
}

/* ---- both ---------------------------------------------------------------------------- */

static int open_parts(struct trash_folder *trash, int folder, int directory)
{
	if (folder < 0)
		return folder;
	trash->info = open_own(trash, folder, "info", O_NOFOLLOW);
	trash->files = open_own(trash, folder, "files", O_NOFOLLOW);
	if (trash->info < 0 || trash->files < 0)
		return -EPERM;
	return can_rename_between(trash->files, directory) ? 0 : -EXDEV;
}

void trash_folder_close(struct trash_folder *trash)
{
	if (trash->info >= 0)
		close(trash->info);
	if (trash->files >= 0)
		close(trash->files);
	bytes_free(&trash->path);
	bytes_free(&trash->original);
	trash->info = trash->files = -1;
}

static int try_open(struct trash_folder *trash, int directory, const char *absolute,
		    int (*open_folder)(struct trash_folder *, int, const char *))
{
	AUTO_CLOSE int folder = -1;
	int r;

	trash->info = trash->files = -1;
	folder = open_folder(trash, directory, absolute);
	r = open_parts(trash, folder, directory);
	if (r < 0)
		trash_folder_close(trash);
	return r;
}

/* Opens or creates a trash folder that can take a file by a rename; if trash->only_looks is set,
 * creates nothing, and the descriptors are of no use. Tries the home trash first,
 * then .Trash/UID, then .Trash-UID, both in the root directory of the file's mount. The trash
 * folder and its subfolders belong to the effective user.
 *
 * place	the file
 * absolute	its absolute path, borrowed
 *
 * Returns 0, TRASH_FOLDER_NONE, or -ENOMEM. The caller calls trash_folder_close() in any case. */
static int trash_folder_open(struct trash_folder *trash, const struct place *place,
			     const char *absolute)
{
	int r = try_open(trash, place->directory, absolute, open_home_trash);

	if (r < 0 && r != -ENOMEM)
		r = try_open(trash, place->directory, absolute, open_mount_trash);
	return r < 0 && r != -ENOMEM ? TRASH_FOLDER_NONE : r;
}

/* ---- names --------------------------------------------------------------------------- */

static void mark_of(char mark[static MARK_SIZE], int try)
{
	char random_name[OTHER_NAME_SIZE];

	*mark = '\0';
	if (try > NUMBERED_TRIES) {
		journal_other_name(random_name);
		(void)snprintf(mark, MARK_SIZE, ".%s", random_name + strlen(OTHER_NAME_PREFIX));
	} else if (try > 1) {
		(void)snprintf(mark, MARK_SIZE, ".%d", try);
	}
}

/* Makes the name of an entry: the name of the file, with a number from the second try on. The name
 * is cut so that the suffix ".trashinfo" fits. Replaces the text in trashed. Returns 0 or
 * -ENOMEM. */
static int trash_entry_name(struct bytes *trashed, const char *name, int try)
{
	const char *extension = strrchr(name, '.');
	size_t length = strlen(name), room;
	char mark[MARK_SIZE];

	mark_of(mark, try);
	if (!extension || extension == name || strlen(extension) > EXTENSION_MAX)
		extension = name + length;
	room = NAME_MAX - strlen(INFO_SUFFIX) - strlen(mark) - strlen(extension);
	trashed->length = 0;
	return bytes_format(trashed, "%.*s%s%s",
			    (int)utf8_cut(name, (size_t)(extension - name), room), name, mark,
			    extension);
}

/* ---- info files ---------------------------------------------------------------------- */

/* Appends a path with the percent-encoding of RFC 2396, without encoding "/". */
static int append_encoded(struct bytes *text, const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~/";
	int r = 0;

	for (; r == 0 && *path; path++)
		r = strchr(plain, *path) ? bytes_append(text, path, 1)
					 : bytes_format(text, "%%%02X", (unsigned char)*path);
	return r;
}

static int append_date(struct bytes *text)
{
	time_t now = time(NULL);
	char date[sizeof("2000-01-01T00:00:00") + 12];
	struct tm local;

	if (!localtime_r(&now, &local) ||
	    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &local) == 0)
		return -EOVERFLOW;
	return bytes_format(text, "\nDeletionDate=%s\n", date);
}

static int info_text(struct bytes *text, struct bytes *original)
{
	int r = bytes_append_text(text, INFO_HEADER);

	if (r == 0)
		r = bytes_text(original) ? append_encoded(text, bytes_text(original)) : -ENOMEM;
	return r < 0 ? r : append_date(text);
}

static int write_new(int directory, const char *name, const struct bytes *text)
{
	AUTO_CLOSE int fd =
		openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = write_fully(fd, text->data, text->length);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(directory, name, 0);
	return r;
}

static int info_name(struct bytes *info, const char *name)
{
	return bytes_format(info, "%s" INFO_SUFFIX, name) < 0 || !bytes_text(info) ? -ENOMEM : 0;
}

/* Renames a complete info file to its name. */
static int name_info(int directory, const char *other, const char *info)
{
	const struct place from = {.directory = directory, .name = other};
	const struct place to = {.directory = directory, .name = info};
	int r = place_move(&from, &to);

	if (r < 0) {
		(void)unlinkat(directory, other, 0);
		return r;
	}
	r = sync_directory(directory);
	if (r < 0)
		(void)unlinkat(directory, info, 0);
	return r;
}

/* Makes the info file of an entry, completely or not at all, and syncs it. Returns 0, -EEXIST if
 * the name is in use, or another -errno.
 *
 * other	unique temporary name of the file in info/ until it is complete
 */
static int trash_entry_write_info(struct trash_folder *trash, const char *name, const char *other)
{
	CLEANUP_BYTES struct bytes text = {0}, info = {0};
	int r = info_name(&info, name);

	if (r == 0)
		r = info_text(&text, &trash->original);
	if (r < 0)
		return r;
	/* most names in use are found here, without a write */
	if (name_exists(trash->info, bytes_text(&info)))
		return -EEXIST;
	r = write_new(trash->info, other, &text);
	return r < 0 ? r : name_info(trash->info, other, bytes_text(&info));
}

/* Removes the info file of an entry. */
static void trash_entry_remove_info(const struct trash_folder *trash, const char *name)
{
	CLEANUP_BYTES struct bytes info = {0};

	if (info_name(&info, name) == 0)
		(void)unlinkat(trash->info, bytes_text(&info), 0);
}

/* Appends the absolute path of an entry in a folder of the trash. Returns 0 or -ENOMEM. */
static int entry_path(struct bytes *path, const struct trash_folder *trash, const char *folder,
		      const char *name, const char *suffix)
{
	int r = bytes_append(path, trash->path.data, trash->path.length);

	return r < 0 ? r : bytes_format(path, "/%s/%s%s", folder, name, suffix);
}

/* ---- after an interrupted act -------------------------------------------------------- */

static int read_info(int directory, const char *name, struct bytes *text)
{
	AUTO_CLOSE int fd = open_beneath_for_reading(directory, name, 0, false);
	long got;

	if (fd < 0 || bytes_reserve(text, INFO_BYTES_MAX) < 0)
		return fd < 0 ? fd : -ENOMEM;
	got = read_fully_at(fd, text->data, INFO_BYTES_MAX, 0);
	text->length = got < 0 ? 0 : (size_t)got;
	return got < 0 ? (int)got : 0;
}

/* Returns whether an info file names this original file. In the trash folder of a mount, the info
 * file has only the part of the path below the mount point. */
static bool names_original(struct bytes *text, const char *original)
{
	CLEANUP_BYTES struct bytes encoded = {0};
	const char *path, *end;
	size_t length;

	if (append_encoded(&encoded, original) < 0 || !bytes_text(text) ||
	    strncmp(bytes_text(text), INFO_HEADER, strlen(INFO_HEADER)) != 0)
		return false;
	path = bytes_text(text) + strlen(INFO_HEADER);
	length = strcspn(path, "\n");
	if (length == 0 || length > encoded.length)
		return false;
	end = (const char *)encoded.data + encoded.length - length;
	return memcmp(end, path, length) == 0 && (length == encoded.length || end[-1] == '/');
}

/* Returns whether the trash has the file of an info file. If the trash cannot be examined, returns
 * true. */
static bool has_file(int info, const char *name)
{
	AUTO_CLOSE int files = openat(info, "../files", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_FREE char *entry = strndup(name, strlen(name) - strlen(INFO_SUFFIX));

	return files < 0 || !entry || name_exists(files, entry) || errno != ENOENT;
}

void trash_entry_forget(const char *info, const char *other, const char *original)
{
	const char *name = strrchr(info, '/');
	AUTO_FREE char *folder = name ? strndup(info, (size_t)(name - info)) : NULL;
	AUTO_CLOSE int directory =
		folder ? open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	CLEANUP_BYTES struct bytes text = {0};
	struct stat status;

	if (directory < 0 || fstat(directory, &status) < 0 || status.st_uid != geteuid() ||
	    strlen(++name) <= strlen(INFO_SUFFIX) ||
	    strcmp(name + strlen(name) - strlen(INFO_SUFFIX), INFO_SUFFIX) != 0)
		return;
	(void)unlinkat(directory, other, 0);
	if (read_info(directory, name, &text) == 0 && names_original(&text, original) &&
	    !has_file(directory, name))
		(void)unlinkat(directory, name, 0);
}

/* ---- the act -------------------------------------------------------------------------- */

/* ACT_TRASH: moves a copy into the desktop's trash by renames between open directories.
 *
 *	comparison	one_act_verify() compares all bytes.
 *	quarantine	one_act_quarantine() renames the copy within its directory and checks it.
 *	journal		The path of the info file is added to the intent before the info file is
 *			made.
 *	info file	The info file is on the disk before the copy is renamed into the trash.
 *	last check	If the file in the trash is not the compared inode, or a lease is broken,
 *			the copy is renamed back.
 *
 * The bytes are never copied, so the copy is always either in its folder or in the trash. */

/* Writes the info file and renames the copy into the trash. Returns 0, -EEXIST if the name is in
 * use, or another -errno. */
static int move_to_trash(struct one_act *act, struct trash_folder *trash, const char *name)
{
	const struct place hidden = {.directory = act->copy.place.directory, .name = act->other};
	const struct place arrived = {.directory = trash->files, .name = name};
	int r = trash_entry_write_info(trash, name, act->other);

	if (r < 0)
		return r;
	r = place_move(&hidden, &arrived);
	if (r < 0)
		trash_entry_remove_info(trash, name);
	return r;
}

/* Adds the path of the info file to the intent in the journal. If the copy does not arrive in the
 * trash, undo removes the info file. */
static int note_info(struct one_act *act, const struct trash_folder *trash, const char *name)
{
	CLEANUP_BYTES struct bytes info = {0}, file = {0};
	struct intent intent = act->entry->intent;
	struct record record = act->entry->record;
	int r = entry_path(&info, trash, "info", name, INFO_SUFFIX);

	if (r == 0)
		r = entry_path(&file, trash, "files", name, "");
	record.info = intent.info = bytes_text(&info);
	record.to = bytes_text(&file);
	if (r < 0 || !record.info || !record.to)
		return -ENOMEM;
	return one_act_amend(act, &intent, &record);
}

/* Gives a file in the trash its quarantine name, and then its own name back. */
static void take_out(struct one_act *act, const struct trash_folder *trash, const char *name)
{
	const struct place arrived = {.directory = trash->files, .name = name};
	const struct place hidden = {.directory = act->copy.place.directory, .name = act->other};

	if (place_move(&arrived, &hidden) < 0)
		return;
	trash_entry_remove_info(trash, name);
	one_act_put_back(act);
}

/* Does the last check of a copy in the trash. */
static void check_trashed(struct one_act *act, const struct trash_folder *trash, const char *name,
			  bool (*is_valid)(struct one_act *act))
{
	const struct place arrived = {.directory = trash->files, .name = name};

	act->result->outcome = ACT_DONE;
	if (!place_leads_to(&arrived, name, &act->copy.held.status))
		(void)one_act_refuse(act, ACT_CHANGED);
	else if (is_valid(act))
		return;
	take_out(act, trash, name);
}

void one_act_throw_away(struct one_act *act, struct trash_folder *trash,
			bool (*is_valid)(struct one_act *act))
{
	CLEANUP_BYTES struct bytes name = {0};
	int r = -EEXIST;

	for (int try = 1; r == -EEXIST && try <= TRASH_NAMES_MAX; try++) {
		r = trash_entry_name(&name, act->copy.place.name, try);
		if (r == 0 && !bytes_text(&name))
			r = -ENOMEM;
		if (r == 0)
			r = note_info(act, trash, bytes_text(&name));
		if (r == 0)
			r = move_to_trash(act, trash, bytes_text(&name));
	}
	if (r == 0) {
		check_trashed(act, trash, bytes_text(&name), is_valid);
		return;
	}
	(void)one_act_fail(act, r);
	one_act_put_back(act);
}

bool one_act_open_trash(struct one_act *act, struct trash_folder *trash)
{
	const struct act_file *file = act->copy.file;
	CLEANUP_BYTES struct bytes path = {0};
	int r = source_absolute_path(act->settings->sources, file->source, file->path, &path);

	if (r == 0)
		r = bytes_text(&path)
			    ? trash_folder_open(trash, &act->copy.place, bytes_text(&path))
			    : -ENOMEM;
	if (r == TRASH_FOLDER_NONE)
		return one_act_refuse(act, ACT_NO_TRASH);
	return r == 0 || one_act_fail(act, r);
}

bool act_may_trash(struct one_act *act)
{
	CLEANUP(trash_folder_close)
	struct trash_folder trash = {.only_looks = true, .info = -1, .files = -1};

	return one_act_open_trash(act, &trash);
}

void act_trash(struct one_act *act)
{
	CLEANUP(trash_folder_close) struct trash_folder trash = {.info = -1, .files = -1};

	if (one_act_verify(act) && one_act_open_trash(act, &trash) && one_act_quarantine(act))
		one_act_throw_away(act, &trash, one_act_still_holds);
}
