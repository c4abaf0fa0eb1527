/* SPDX-License-Identifier: MIT */
#include "act/trash_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "act/journal.h"
#include "base/descriptor.h"
#include "base/utf8.h"

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

int trash_entry_name(struct bytes *trashed, const char *name, int try)
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

int trash_entry_write_info(struct trash_folder *trash, const char *name, const char *other)
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

void trash_entry_remove_info(const struct trash_folder *trash, const char *name)
{
	CLEANUP_BYTES struct bytes info = {0};

	if (info_name(&info, name) == 0)
		(void)unlinkat(trash->info, bytes_text(&info), 0);
}

int trash_entry_info_path(const struct trash_folder *trash, const char *name, struct bytes *path)
{
	int r = bytes_append(path, trash->path.data, trash->path.length);

	return r < 0 ? r : bytes_format(path, "/info/%s" INFO_SUFFIX, name);
}

int trash_entry_file_path(const struct trash_folder *trash, const char *name, struct bytes *path)
{
	int r = bytes_append(path, trash->path.data, trash->path.length);

	return r < 0 ? r : bytes_format(path, "/files/%s", name);
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
