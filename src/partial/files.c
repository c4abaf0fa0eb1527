/* SPDX-License-Identifier: MIT */
#include "partial/files.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/extents.h"
#include "base/filesystem.h"
#include "base/log.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/source.h"
#include "partial/partial.h"

/* ---- volumes -------------------------------------------------------------------------------- */

void volumes_free(struct volumes *volumes)
{
	free(volumes->list);
	*volumes = (struct volumes){0};
}

/* Returns whether btrfs stores no checksums of the file, and overwrites its blocks in place. */
static bool is_in_place(int fd)
{
	int flags = 0;

	return ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && flags & FS_NOCOW_FL;
}

/* Sets the identity: the disk, and on btrfs whether the file has checksums. */
static int identify(int fd, uint8_t id[static VOLUME_ID_BYTES])
{
	struct extent_disk disk;
	int r = extents_find_disk(fd, &disk);

	memset(id, 0, VOLUME_ID_BYTES);
	_Static_assert(sizeof(disk.id) < VOLUME_ID_BYTES, "room for the flag");
	if (r < 0)
		return r;
	memcpy(id, disk.id, sizeof(disk.id));
	if (filesystem_has(filesystem_type_at(fd), TRAIT_SUBVOLUMES))
		id[sizeof(disk.id)] = is_in_place(fd) ? 2 : 1;
	return 0;
}

long volumes_find(struct volumes *volumes, int fd)
{
	const struct dedupe_range empty = {.source = fd, .destination = fd};
	struct volume volume = {.reported = false};
	int r = identify(fd, volume.id);

	if (r < 0)
		return r;
	for (size_t i = 0; i < volumes->count; i++) {
		if (memcmp(volumes->list[i].id, volume.id, VOLUME_ID_BYTES) == 0)
			return (long)i;
	}
	r = array_reserve(&volumes->list, &volumes->capacity, volumes->count + 1,
			  sizeof(*volumes->list));
	if (r < 0)
		return r;
	volume.can_share = !dedupe_range_is_unsupported(fd, dedupe_range(&empty));
	volumes->list[volumes->count] = volume;
	return (long)volumes->count++;
}

/* ---- file text ------------------------------------------------------------------------------ */

/* Appends the path below its source. */
static int relative_path(const struct partial *partial, uint64_t id, struct bytes *path,
			 uint32_t *source)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct file_record file;
	int r = catalog_read_begin(partial->settings->sources->catalog, &reader);

	if (r == 0)
		r = catalog_get_file(reader, id, &file);
	return r < 0 ? r : catalog_file_path(reader, &file, path, source);
}

int file_text_path(const struct partial *partial, uint64_t id, const char *const *shown,
		   struct bytes *path)
{
	CLEANUP_BYTES struct bytes relative = {0};
	const char *folder;
	uint32_t source;
	int r = relative_path(partial, id, &relative, &source);

	if (r == 0 && !bytes_text(&relative))
		r = -ENOMEM;
	if (r < 0)
		return r;
	if (!shown)
		return source_absolute_path(partial->settings->sources, source,
					    bytes_text(&relative), path);
	folder = shown[source];
	r = bytes_append_text(path, folder);
	if (r == 0 && (path->length == 0 || path->data[path->length - 1] != '/'))
		r = bytes_append_text(path, "/");
	return r < 0 ? r : bytes_append(path, relative.data, relative.length);
}

void file_text_warn(const struct partial *partial, uint64_t id, const char *verb, const char *cause)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = file_text_path(partial, id, NULL, &path);

	if (r == 0 && bytes_text(&path))
		log_warning("cannot %s %s: %s", verb, quote_path(bytes_text(&path)), cause);
	else if (r == -ENOENT)
		log_warning("cannot %s a file that has no name any more: %s", verb, cause);
}

void file_text_warn_changed(const struct partial *partial, uint64_t id)
{
	file_text_warn(partial, id, "share blocks of",
		       "it changed meanwhile; run the command again");
}

/* ---- open files ----------------------------------------------------------------------------- */

void open_files_init(struct open_files *files, const struct partial *partial)
{
	*files = (struct open_files){.partial = partial};
	for (size_t i = 0; i < OPEN_FILES_MAX; i++)
		files->slots[i].fd = -1;
}

void open_files_deinit(struct open_files *files)
{
	for (size_t i = 0; i < OPEN_FILES_MAX; i++) {
		if (files->slots[i].fd >= 0)
			(void)close(files->slots[i].fd);
	}
}

static int open_file(const struct partial *partial, uint32_t index)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct file_record file;
	int r = catalog_read_begin(partial->settings->sources->catalog, &reader);

	if (r == 0)
		r = catalog_get_file(reader, partial->table.files[index].id, &file);
	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	if (file_digest(&file) != partial->table.files[index].digest)
		return -ESTALE; /* the index was updated meanwhile */
	return source_open_file(partial->settings->sources, reader, &file, 0);
}

int open_files_get(struct open_files *files, uint32_t file)
{
	size_t oldest = 0;
	int fd;

	for (size_t i = 0; i < OPEN_FILES_MAX; i++) {
		if (files->slots[i].fd >= 0 && files->slots[i].file == file) {
			files->slots[i].used = ++files->uses;
			return files->slots[i].fd;
		}
		if (files->slots[i].used < files->slots[oldest].used)
			oldest = i;
	}
	fd = open_file(files->partial, file);
	if (fd < 0)
		return fd;
	if (files->slots[oldest].fd >= 0)
		(void)close(files->slots[oldest].fd);
	files->slots[oldest].fd = fd;
	files->slots[oldest].file = file;
	files->slots[oldest].used = ++files->uses;
	return fd;
}

int open_files_get_again(struct open_files *files, uint32_t file)
{
	for (size_t i = 0; i < OPEN_FILES_MAX; i++) {
		if (files->slots[i].fd >= 0 && files->slots[i].file == file) {
			(void)close(files->slots[i].fd);
			files->slots[i].fd = -1;
		}
	}
	return open_files_get(files, file);
}
