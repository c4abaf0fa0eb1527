/* SPDX-License-Identifier: MIT */
#include "index/mount_table.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/mountinfo.h"
#include "base/path.h"
#include "base/text.h"
#include "index/paths.h"
#include "index/scan_settings.h"
#include "index/source.h"

#define VIEW_TYPE "fuse.twinfs"

void mount_table_free(struct mount_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		mountinfo_close(&table->entries[i]);
	free(table->entries);
	*table = (struct mount_table){0};
}

int mount_table_add(struct mount_table *table, struct mountinfo *mount)
{
	struct mountinfo *entry;
	int r = array_reserve(&table->entries, &table->capacity, table->count + 1,
			      sizeof(*table->entries));

	if (r < 0)
		return r;
	entry = &table->entries[table->count++];
	*entry = *mount;
	entry->file = NULL;
	mount->line = NULL;
	mount->size = 0;
	return 0;
}

int mount_table_read_from(struct mount_table *table, const char *name)
{
	CLEANUP_MOUNTINFO struct mountinfo mount;
	int r = mountinfo_open(&mount, name);

	*table = (struct mount_table){0};
	if (r < 0)
		return r;
	/* a line in the format of a newer kernel is skipped, as it is no view */
	while ((r = mountinfo_next(&mount)) > 0) {
		r = mount_table_add(table, &mount);
		if (r < 0)
			break;
	}
	if (r < 0)
		mount_table_free(table);
	return r;
}

int mount_table_read(struct mount_table *table)
{
	return mount_table_read_from(table, "/proc/self/mountinfo");
}

const struct mountinfo *mount_table_covering(const struct mount_table *table, const char *path)
{
	const struct mountinfo *found = NULL;

	for (size_t i = 0; i < table->count; i++) {
		const struct mountinfo *entry = &table->entries[i];

		if (path_below(path, entry->point) &&
		    (!found || strlen(entry->point) >= strlen(found->point)))
			found = entry;
	}
	return found;
}

const struct mountinfo *mount_table_view_of(const struct mount_table *table, const char *device)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct mountinfo *entry = &table->entries[i];

		if (mount_entry_is_view(entry) && strcmp(entry->device, device) == 0)
			return entry;
	}
	return NULL;
}

int mount_entry_locate(const struct mountinfo *entry, const char *path, struct bytes *inside)
{
	const char *below = path_below(path, entry->point);
	const char *root = strcmp(entry->root, "/") == 0 ? "" : entry->root;
	int r;

	assert(below);
	r = bytes_format(inside, "%s%s%s", root, *below ? "/" : "", below);
	if (r == 0 && inside->length == 0)
		r = bytes_append_text(inside, "/");
	return r;
}

bool mount_entry_has_option(const struct mountinfo *entry, const char *option)
{
	for (const char *at = entry->options; *at; at += *at == ',') {
		size_t length = list_item_length(at);

		if (length == strlen(option) && strncmp(at, option, length) == 0)
			return true;
		at += length;
	}
	return false;
}

bool mount_entry_is_view(const struct mountinfo *entry)
{
	return strcmp(entry->type, VIEW_TYPE) == 0;
}

static bool is_either_inside(const char *a, const char *b)
{
	return path_below(a, b) || path_below(b, a);
}

int mount_table_overlap(const struct mount_table *table, const char *a, const char *b)
{
	CLEANUP_BYTES struct bytes inside_a = {0}, inside_b = {0};
	const struct mountinfo *mount_a = mount_table_covering(table, a);
	const struct mountinfo *mount_b = mount_table_covering(table, b);
	int r;

	if (is_either_inside(a, b))
		return 1;
	if (!mount_a || !mount_b || strcmp(mount_a->device, mount_b->device) != 0)
		return 0;
	r = mount_entry_locate(mount_a, a, &inside_a);
	if (r == 0)
		r = mount_entry_locate(mount_b, b, &inside_b);
	if (r == 0 && (!bytes_text(&inside_a) || !bytes_text(&inside_b)))
		r = -ENOMEM;
	return r < 0 ? r : is_either_inside(bytes_text(&inside_a), bytes_text(&inside_b));
}

/* ---- below the sources ------------------------------------------------------------- */

/* Types of file systems that have no files of users. Their copies would be of no use. */
static const char *const types_without_files[] = {
	"autofs",     "binfmt_misc", "bpf",         "cgroup",     "cgroup2",   "configfs",
	"debugfs",    "devpts",      "devtmpfs",    "efivarfs",   "fusectl",   "fuse.gvfsd-fuse",
	"fuse.lxcfs", "fuse.portal", "fuse.twinfs", "hugetlbfs",  "mqueue",    "nsfs",
	"proc",       "pstore",      "rpc_pipefs",  "securityfs", "selinuxfs", "smackfs",
	"sysfs",      "tracefs",
};

static bool has_no_files(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(types_without_files); i++) {
		if (strcmp(type, types_without_files[i]) == 0)
			return true;
	}
	return false;
}

/* Adds the mount points of file systems without files. The last mount at a point is the visible
 * one, but mounts at one point are rarely of both kinds. */
static int list_points_without_files(struct text_list *points)
{
	CLEANUP_MOUNTINFO struct mountinfo mount;
	int r = 0;

	if (mountinfo_open(&mount, "/proc/self/mountinfo") < 0)
		return 0;
	while (r == 0 && mountinfo_next(&mount) > 0) {
		if (has_no_files(mount.type))
			r = text_list_add(points, mount.point, strlen(mount.point));
	}
	return r;
}

static int add_path(struct catalog_reader *reader, const struct sources *sources, uint64_t id,
		    const struct text_list *without_files, struct text_list *paths)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = source_dir_path(sources, reader, id, &path);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (!bytes_text(&path))
		return -ENOMEM;
	if (text_list_has(without_files, bytes_text(&path)))
		return 0;
	return text_list_add(paths, bytes_text(&path), path.length);
}

int left_out_list(struct catalog_reader *reader, const struct sources *sources,
		  struct text_list *paths)
{
	CLEANUP_LEFT_OUT struct left_out list = {0};
	CLEANUP_TEXT_LIST struct text_list without_files = {0};
	int r = catalog_get_left_out(reader, &list);

	if (r == 0 && list.count > 0)
		r = list_points_without_files(&without_files);
	for (size_t i = 0; r == 0 && i < list.count; i++)
		r = add_path(reader, sources, list.ids[i], &without_files, paths);
	return r;
}

/* ---- mounted views -------------------------------------------------------------------------- */

void view_mounts_load(struct view_mounts *mounts)
{
	CLEANUP_MOUNTINFO struct mountinfo mount;
	unsigned int major_number, minor_number;

	mounts->count = 0;
	if (mountinfo_open(&mount, "/proc/self/mountinfo") < 0)
		return;
	while (mounts->count < ARRAY_SIZE(mounts->devices) && mountinfo_next(&mount) > 0) {
		if (mount_entry_is_view(&mount) &&
		    sscanf(mount.device, "%u:%u", &major_number, &minor_number) == 2)
			mounts->devices[mounts->count++] = makedev(major_number, minor_number);
	}
}

bool view_mounts_have_device(const struct view_mounts *mounts, dev_t device)
{
	for (size_t i = 0; i < mounts->count; i++) {
		if (mounts->devices[i] == device)
			return true;
	}
	return false;
}

bool view_mounts_have(const struct view_mounts *mounts, int fd)
{
	struct stat st;

	return mounts->count > 0 && fstat(fd, &st) == 0 &&
	       view_mounts_have_device(mounts, st.st_dev);
}
