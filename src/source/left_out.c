/* SPDX-License-Identifier: MIT */
#include "source/left_out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mountinfo.h"
#include "catalog/paths.h"
#include "catalog/scan_settings.h"
#include "source/source.h"

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

/* Splits a line of /proc/self/mountinfo (proc(5)). Returns false if it is of another form. */
static bool split(char *line, char **point, char **type)
{
	char *dash = strstr(line, " - "), *rest = line;

	for (int field = 0; field < 4 && rest; field++) {
		(void)strsep(&rest, " ");
	}
	*point = strsep(&rest, " ");
	*type = dash ? dash + strlen(" - ") : NULL;
	if (!*point || !*type)
		return false;
	mountinfo_decode(*point);
	(*type)[strcspn(*type, " ")] = '\0';
	return true;
}

/* Adds the mount points of file systems without files. The last mount at a point is the visible
 * one, but mounts at one point are rarely of both kinds. */
static int list_points_without_files(struct text_list *points)
{
	AUTO_FCLOSE FILE *file = fopen("/proc/self/mountinfo", "re");
	AUTO_FREE char *line = NULL;
	char *point, *type;
	size_t size = 0;
	int r = 0;

	while (file && r == 0 && getline(&line, &size, file) > 0) {
		if (split(line, &point, &type) && has_no_files(type))
			r = text_list_add(points, point, strlen(point));
	}
	return r;
}

static int add_path(struct catalog_reader *reader, const struct sources *sources, uint64_t id,
		    const struct text_list *without_files, struct text_list *paths)
{
	CLEANUP_BYTES struct bytes relative = {0};
	CLEANUP_BYTES struct bytes path = {0};
	uint32_t source;
	int r = catalog_dir_path(reader, id, &relative, &source);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (source >= sources->count)
		return -EUCLEAN;
	if (!bytes_text(&relative))
		return -ENOMEM;
	r = source_absolute_path(sources, source, bytes_text(&relative), &path);
	if (r < 0 || text_list_has(without_files, bytes_text(&path)))
		return r;
	return text_list_add(paths, bytes_text(&path), strlen(bytes_text(&path)));
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
