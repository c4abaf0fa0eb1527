/* SPDX-License-Identifier: MIT */
#include "index/mounts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/bytes.h"
#include "base/mountinfo.h"
#include "index/paths.h"
#include "index/scan_settings.h"
#include "index/source.h"

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
		if (strcmp(mount.type, "fuse.twinfs") == 0 &&
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
