/* SPDX-License-Identifier: MIT */
#include "cli/copies_index.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/descriptor.h"
#include "base/group_name.h"
#include "base/path.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "report/copies.h"
#include "source/source.h"

/* The query of one index. */
struct lookup {
	struct copies_query *query;
	struct catalog *catalog;
	const struct sources *sources;
	struct catalog_reader *reader;
	const char *mount_point; /* NULL: list the copies */
};

void copies_query_deinit(struct copies_query *query)
{
	free(query->path);
	text_list_free(&query->copies);
	memset(query, 0, sizeof(*query));
}

/* Finds the file at a path below a directory of the index. Returns 0, -ENOENT or -errno. */
static int find_file(struct catalog_reader *reader, uint64_t dir, const char *relative,
		     struct file_record *file)
{
	struct entry_record entry;
	int r;

	r = catalog_find_path(reader, dir, relative, &entry);
	if (r < 0)
		return r;
	return entry.kind == ENTRY_FILE ? catalog_get_file(reader, entry.child, file) : -ENOENT;
}

/* Returns whether the file at the path in the source is the file of the record and is unchanged. */
static bool is_current(const struct lookup *lookup, uint32_t source, const char *relative,
		       const struct file_record *file)
{
	struct attributes attributes;
	AUTO_CLOSE int fd = -1;

	if (source >= lookup->sources->count || lookup->sources->list[source].fd < 0)
		return false;
	fd = open_beneath(lookup->sources->list[source].fd, relative, O_PATH, true);
	return fd >= 0 && source_attributes(lookup->catalog, fd, &attributes) == 0 &&
	       attributes_same_signature(&attributes, &file->attributes);
}

/* Sets *shares to whether another file of the index has the same size. Only such files are
 * compared. */
static int shares_size(struct catalog_reader *reader, const struct file_record *file, bool *shares)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	const struct size_entry from = {.size = file->attributes.size};
	struct size_entry entry;
	uint64_t found = 0;
	int r;

	r = catalog_scan_sizes(reader, &from, &scan);
	if (r < 0)
		return r;
	while (found < 2 && (r = catalog_next_size(scan, &entry)) == 0 &&
	       entry.size == file->attributes.size)
		found++;
	*shares = found == 2;
	return r < 0 && r != -ENOENT ? r : 0;
}

/* Finds what the index knows of the content of a file that is unchanged on the disk. */
static int judge(struct catalog_reader *reader, const struct file_record *file,
		 enum copies_knowledge *knowledge, struct group_record *group)
{
	struct content_record content;
	bool shares;
	int error;
	int r;

	memset(group, 0, sizeof(*group));
	r = catalog_get_error(reader, ERROR_FILE, file->id, &error);
	if (r < 0)
		return r;
	*knowledge = error != 0 ? COPIES_UNREADABLE : COPIES_KNOWN;
	if (error != 0)
		return 0;
	r = catalog_get_content(reader, file->id, &content);
	if (r == 0)
		return content.group != 0 ? catalog_get_group(reader, content.group, group) : 0;
	if (r != -ENOENT)
		return r;
	r = shares_size(reader, file, &shares);
	if (r == 0 && shares)
		*knowledge = COPIES_PENDING;
	return r;
}

static int add_copy(const struct lookup *lookup, const struct copies *copies,
		    const struct copy *copy)
{
	struct copies_query *query = lookup->query;
	CLEANUP_BYTES struct bytes path = {0};
	struct file_record file;
	int r;

	r = catalog_get_file(lookup->reader, copy->file, &file);
	if (r < 0)
		return r;
	if (!is_current(lookup, copy->source, copy_path(copies, copy), &file)) {
		query->changed++;
		return 0;
	}
	r = source_absolute_path(lookup->sources, copy->source, copy_path(copies, copy), &path);
	if (r < 0)
		return r;
	return text_list_add(&query->copies, (const char *)path.data, path.length);
}

/* Adds the files of the group except the queried file. */
static int add_copies(const struct lookup *lookup, const struct group_record *group,
		      uint64_t itself)
{
	CLEANUP_COPIES struct copies copies = {0};
	int r;

	r = copies_collect(&copies, lookup->reader, group);
	for (size_t i = 0; r == 0 && i < copies.count; i++) {
		if (copies.list[i].file != itself)
			r = add_copy(lookup, &copies, &copies.list[i]);
	}
	return r;
}

/* Adds the folder of the view that shows the group. */
static int add_folder(const struct lookup *lookup, const struct group_record *group)
{
	CLEANUP_BYTES struct bytes path = {0};
	char name[GROUP_NAME_SIZE];
	int r;

	group_name_make(name, group->hash, group->ordinal);
	r = bytes_format(&path, "%s/dups/%s", lookup->mount_point, name);
	if (r < 0)
		return r;
	return text_list_add(&lookup->query->copies, (const char *)path.data, path.length);
}

/* Queries the index for a file below a source. */
static int look_up_in_source(const struct lookup *lookup, uint32_t source, const char *relative,
			     enum copies_knowledge *knowledge)
{
	struct group_record group;
	struct file_record file;
	int r;

	r = find_file(lookup->reader, lookup->sources->list[source].root, relative, &file);
	if (r == -ENOENT) {
		*knowledge = COPIES_NOT_INDEXED;
		return 0;
	}
	if (r < 0)
		return r;
	if (!is_current(lookup, source, relative, &file)) {
		*knowledge = COPIES_CHANGED;
		return 0;
	}
	r = judge(lookup->reader, &file, knowledge, &group);
	if (r < 0 || *knowledge != COPIES_KNOWN || !group_is_visible(&group))
		return r;
	if (lookup->mount_point)
		return add_folder(lookup, &group);
	return add_copies(lookup, &group, file.id);
}

int copies_query_index(struct copies_query *query, struct catalog *catalog,
		       const struct sources *sources, const char *mount_point)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct lookup lookup = {.query = query,
				.catalog = catalog,
				.sources = sources,
				.mount_point = mount_point};
	int r;

	r = catalog_read_begin(catalog, &reader);
	if (r < 0)
		return r;
	lookup.reader = reader;
	for (uint32_t i = 0; i < sources->count; i++) {
		const char *relative = path_below(query->path, sources->list[i].path);
		enum copies_knowledge knowledge = COPIES_NOT_COVERED;

		if (!relative)
			continue;
		r = look_up_in_source(&lookup, i, relative, &knowledge);
		if (r < 0)
			return r;
		if (knowledge > query->knowledge)
			query->knowledge = knowledge;
	}
	return 0;
}
