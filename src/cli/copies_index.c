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
#include "catalog/scan_settings.h"
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
	uint64_t min_size;
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
	r = catalog_get_min_size(reader, &min_size);
	if (r == 0)
		r = shares_size(reader, file, &shares);
	if (r == 0 && shares)
		*knowledge = file->attributes.size < min_size ? COPIES_TOO_SMALL : COPIES_PENDING;
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

/* ---- folders ------------------------------------------------------------------------------ */

/* The check of a folder with all names in it. */
struct folder_check {
	const struct lookup *lookup;
	bool judges; /* also check what is known of contents */
	enum copies_knowledge knowledge; /* the lowest so far */
	struct bytes waiting; /* ids of directories */
};

static void note(struct folder_check *check, enum copies_knowledge knowledge)
{
	if (knowledge < check->knowledge)
		check->knowledge = knowledge;
}

static bool has_content(const struct file_record *file)
{
	return S_ISREG(file->attributes.mode) && file->attributes.size > 0;
}

/* Checks a name other than that of a directory in a directory that is open. */
static int check_name(struct folder_check *check, int dir_fd, const struct entry_record *entry)
{
	const struct lookup *lookup = check->lookup;
	enum copies_knowledge knowledge = COPIES_UNREADABLE;
	CLEANUP_BYTES struct bytes name = {0};
	struct attributes attributes;
	struct group_record group;
	struct file_record file;
	int r = entry->kind == ENTRY_FILE ? catalog_get_file(lookup->reader, entry->child, &file)
					  : 0;

	if (r == 0)
		r = bytes_append(&name, entry->name.bytes, entry->name.length);
	if (r == 0 && !bytes_text(&name))
		r = -ENOMEM;
	if (r < 0)
		return r;
	if (entry->kind == ENTRY_FILE) {
		bool same = source_attributes_at(lookup->catalog, dir_fd, bytes_text(&name),
						 SOURCE_REMOTE, &attributes) == 0 &&
			    attributes_same_signature(&attributes, &file.attributes);

		knowledge = same ? COPIES_KNOWN : COPIES_CHANGED;
	}
	if (knowledge == COPIES_KNOWN && check->judges && has_content(&file))
		r = judge(lookup->reader, &file, &knowledge, &group);
	note(check, knowledge);
	return r;
}

static int check_names(struct folder_check *check, uint64_t dir, int dir_fd)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	int r = catalog_scan_entries(check->lookup->reader, dir, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0) {
		if (entry.kind == ENTRY_DIR)
			r = bytes_append(&check->waiting, &entry.child, sizeof(entry.child));
		else
			r = check_name(check, dir_fd, &entry);
	}
	return r == -ENOENT ? 0 : r;
}

static int check_dir(struct folder_check *check, uint64_t id)
{
	const struct lookup *lookup = check->lookup;
	struct attributes attributes;
	struct dir_record dir;
	AUTO_CLOSE int fd = -1;
	int r = catalog_get_dir(lookup->reader, id, &dir);

	if (r < 0)
		return r;
	if (dir.error)
		note(check, COPIES_UNREADABLE);
	else if (dir.flags)
		note(check, COPIES_LEFT_OUT);
	fd = source_open_dir(lookup->sources, lookup->reader, id);
	if (fd < 0 || source_attributes(lookup->catalog, fd, &attributes) < 0 ||
	    !attributes_same_signature(&attributes, &dir.attributes))
		note(check, COPIES_CHANGED);
	return check->knowledge == COPIES_CHANGED ? 0 : check_names(check, id, fd);
}

/* Finds what the index knows of a folder, and whether all of it is unchanged on the disk.
 *
 * judges	whether to look for files whose content is unknown, too */
static int check_folder(const struct lookup *lookup, uint64_t dir, bool judges,
			enum copies_knowledge *knowledge)
{
	struct folder_check check = {
		.lookup = lookup,
		.judges = judges,
		.knowledge = COPIES_KNOWN,
	};
	int r = bytes_append(&check.waiting, &dir, sizeof(dir));

	while (r == 0 && check.waiting.length > 0 && check.knowledge != COPIES_CHANGED) {
		check.waiting.length -= sizeof(dir);
		memcpy(&dir, check.waiting.data + check.waiting.length, sizeof(dir));
		r = check_dir(&check, dir);
	}
	bytes_free(&check.waiting);
	*knowledge = check.knowledge;
	return r == -ENOENT ? -EUCLEAN : r;
}

/* Adds an equal folder, unless it has changed. */
static int add_equal_folder(const struct lookup *lookup, const struct copies *copies,
			    const struct copy *copy)
{
	struct copies_query *query = lookup->query;
	CLEANUP_BYTES struct bytes path = {0};
	enum copies_knowledge knowledge;
	int r = check_folder(lookup, copy->file, false, &knowledge);

	if (r == 0)
		r = source_absolute_path(lookup->sources, copy->source,
					 copy_is_root(copies, copy) ? "" : copy_path(copies, copy),
					 &path);
	if (r < 0)
		return r;
	if (knowledge == COPIES_KNOWN)
		return text_list_add(&query->copies, (const char *)path.data, path.length);
	query->changed++;
	return 0;
}

/* Sets *same to whether two ids are of one directory, which is mounted twice. */
static int are_mounts_of_one(const struct lookup *lookup, uint64_t a, uint64_t b, bool *same)
{
	struct dir_record first, second;
	int r = catalog_get_dir(lookup->reader, a, &first);

	if (r == 0)
		r = catalog_get_dir(lookup->reader, b, &second);
	*same = r == 0 && attributes_same_inode(&first.attributes, &second.attributes);
	return r == -ENOENT ? -EUCLEAN : r;
}

static int add_equal_folders(const struct lookup *lookup, uint64_t id, uint64_t itself)
{
	CLEANUP_COPIES struct copies copies = {0};
	struct folder_group group;
	bool same = false;
	int r = catalog_get_folder_group(lookup->reader, id, &group);

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	if (group.bytes == 0)
		return 0; /* folders without content are equal to none */
	r = copies_collect_folders(&copies, lookup->reader, &group);
	for (size_t i = 0; r == 0 && i < copies.count; i++) {
		r = are_mounts_of_one(lookup, copies.list[i].file, itself, &same);
		if (r == 0 && !same)
			r = add_equal_folder(lookup, &copies, &copies.list[i]);
	}
	return r;
}

/* Finds the directory at a path in a source. Returns 0, -ENOENT or -errno. */
static int find_dir(const struct lookup *lookup, uint32_t source, const char *relative,
		    uint64_t *dir)
{
	struct entry_record entry;
	int r;

	*dir = lookup->sources->list[source].root;
	if (relative[0] == '\0')
		return 0;
	r = catalog_find_path(lookup->reader, *dir, relative, &entry);
	if (r < 0)
		return r;
	*dir = entry.child;
	return entry.kind == ENTRY_DIR ? 0 : -ENOENT;
}

/* Queries the index for a folder below a source. */
static int look_up_folder(const struct lookup *lookup, uint32_t source, const char *relative,
			  enum copies_knowledge *knowledge)
{
	struct catalog_totals totals;
	uint64_t dir, group;
	int r = find_dir(lookup, source, relative, &dir);

	*knowledge = COPIES_NOT_INDEXED;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = catalog_get_totals(lookup->reader, &totals);
	if (r == 0)
		r = catalog_find_folder_group(lookup->reader, dir, &group);
	if (r == 0)
		r = check_folder(lookup, dir, group == 0, knowledge);
	if (r == 0 && *knowledge == COPIES_KNOWN && !totals.folders_known)
		*knowledge = COPIES_PENDING;
	if (r < 0 || *knowledge != COPIES_KNOWN || group == 0)
		return r;
	return add_equal_folders(lookup, group, dir);
}

/* ---- the query ---------------------------------------------------------------------------- */

/* Finds why a name in a source is not in the index. */
static int judge_missing(struct catalog_reader *reader, const char *relative,
			 enum copies_knowledge *knowledge)
{
	CLEANUP_SCAN_SETTINGS struct scan_settings settings = {0};
	int r = catalog_get_scan_settings(reader, &settings);

	*knowledge = COPIES_NOT_INDEXED;
	for (size_t at = 0; r == 0 && at < settings.excludes.length;) {
		const char *glob = (const char *)settings.excludes.data + at;

		if (glob_matches_within(glob, relative))
			*knowledge = COPIES_EXCLUDED;
		at += strlen(glob) + 1;
	}
	return r;
}

/* Queries the index for a file below a source. */
static int look_up_file(const struct lookup *lookup, uint32_t source, const char *relative,
			enum copies_knowledge *knowledge)
{
	struct group_record group;
	struct file_record file;
	int r;

	r = find_file(lookup->reader, lookup->sources->list[source].root, relative, &file);
	if (r == -ENOENT)
		return judge_missing(lookup->reader, relative, knowledge);
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
		r = query->is_folder ? look_up_folder(&lookup, i, relative, &knowledge)
				     : look_up_file(&lookup, i, relative, &knowledge);
		if (r < 0)
			return r;
		if (knowledge > query->knowledge)
			query->knowledge = knowledge;
	}
	return 0;
}
