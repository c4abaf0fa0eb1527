/* SPDX-License-Identifier: MIT */
#include "fleet/inventory_row.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "index/group_name.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "row/json_path.h"
#include "row/json_text.h"

void row_maker_begin(struct row_maker *maker, struct catalog_reader *reader)
{
	maker->reader = reader;
	maker->dir = 0;
}

void row_maker_deinit(struct row_maker *maker)
{
	bytes_free(&maker->dir_path);
	bytes_free(&maker->paths);
	free(maker->devices);
	free(maker->names);
}

/* ---- names --------------------------------------------------------------------------- */

/* Finds the path of a directory. Files with adjacent ids are usually in the same one. */
static int find_dir(struct row_maker *maker, uint64_t dir)
{
	int r;

	if (dir == maker->dir)
		return 0;
	maker->dir = 0;
	maker->dir_path.length = 0;
	r = catalog_dir_path(maker->reader, dir, &maker->dir_path, &maker->dir_source);
	if (r == 0 && maker->dir_source >= maker->sources->count)
		r = -EUCLEAN;
	if (r == 0)
		maker->dir = dir;
	return r;
}

static int append_path(struct row_maker *maker, const struct name *name)
{
	const struct bytes *folder = &maker->dir_path;
	int r = bytes_append(&maker->paths, folder->data, folder->length);

	if (r == 0 && folder->length > 0)
		r = bytes_append(&maker->paths, "/", 1);
	return r < 0 ? r : bytes_append(&maker->paths, name->bytes, name->length);
}

static int add_name(struct row_maker *maker, uint64_t dir, uint64_t cookie)
{
	struct row_name found = {.path = maker->paths.length};
	struct entry_record entry;
	int r = catalog_entry_at(maker->reader, dir, cookie, &entry);

	if (r == 0)
		r = find_dir(maker, dir);
	if (r == 0)
		r = append_path(maker, &entry.name);
	if (r == 0)
		r = array_reserve(&maker->names, &maker->name_capacity, maker->name_count + 1,
				  sizeof(*maker->names));
	if (r < 0)
		return r;
	found.length = maker->paths.length - found.path;
	found.source = maker->dir_source;
	maker->names[maker->name_count++] = found;
	return 0;
}

/* Orders names by source, then by path. */
static int compare_names(const void *left, const void *right, void *context)
{
	const struct bytes *paths = context;
	const struct row_name *a = left, *b = right;
	size_t shorter = a->length < b->length ? a->length : b->length;
	int order;

	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	order = memcmp(paths->data + a->path, paths->data + b->path, shorter);
	return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

/* Finds all names of a file. */
static int find_names(struct row_maker *maker, const struct file_record *file)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t dir, cookie;
	bool ended = false;
	int r;

	maker->name_count = 0;
	maker->paths.length = 0;
	if (file->names == 1)
		return add_name(maker, file->dir, file->cookie);
	r = catalog_scan_names(maker->reader, file, &scan);
	while (r == 0 && !ended) {
		r = catalog_next_name(scan, &dir, &cookie);
		ended = r == -ENOENT;
		r = ended ? 0 : r;
		if (r == 0 && !ended)
			r = add_name(maker, dir, cookie);
	}
	if (r < 0)
		return r;
	qsort_r(maker->names, maker->name_count, sizeof(*maker->names), compare_names,
		&maker->paths);
	return 0;
}

/* ---- members ------------------------------------------------------------------------- */

static struct row_path path_of(const struct row_maker *maker, const struct row_name *name)
{
	return (struct row_path){
		.source = name->source,
		.path = {.data = maker->paths.data + name->path, .length = name->length},
	};
}

static const struct field path_fields[] = {
	{FIELD(struct row_path, source, "source", FIELD_COUNT), .required = true},
	{FIELD(struct row_path, path, "path", FIELD_BYTES), .required = true},
};

static bool has_links(const void *member)
{
	const struct row_maker *const *maker = member;

	return *maker && (*maker)->name_count > 1;
}

/* Makes the list of the names after the first one. */
static json_t *make_links(const void *member)
{
	const struct row_maker *maker = *(const struct row_maker *const *)member;
	json_t *links = json_array();

	for (size_t i = 1; links && i < maker->name_count; i++) {
		const struct row_path path = path_of(maker, &maker->names[i]);
		json_t *link = json_object();

		if (json_array_append_new(links, link) < 0 ||
		    fields_set(link, &path, FIELDS(path_fields)) < 0)
			json_decref(TAKE(links));
	}
	return links;
}

static json_t *make_number(const void *member)
{
	const struct row_number *number = member;

	return number->unknown ? json_null() : json_identity(number->value);
}

static const struct field_form links_form = {.has = has_links, .make = make_links};
static const struct field_form number_form = {.make = make_number};

#define ROW(member, key, type) FIELD(struct inventory_row, member, key, type)

static const struct field fields[] = {
	{ROW(id, "id", FIELD_SIZE), .required = true},
	{ROW(name.source, "source", FIELD_COUNT), .required = true},
	{ROW(name.path, "path", FIELD_BYTES), .required = true},
	{ROW(size, "size", FIELD_SIZE), .required = true},
	{ROW(mtime_ns, "mtime_ns", FIELD_NUMBER), .required = true},
	{ROW(ctime_ns, "ctime_ns", FIELD_NUMBER), .required = true},
	{ROW(dev, "dev", FIELD_FORM), .form = &number_form, .required = true},
	{ROW(ino, "ino", FIELD_FORM), .form = &number_form, .required = true},
	{ROW(names, "names", FIELD_SIZE)},
	{ROW(links, "links", FIELD_FORM), .form = &links_form},
	{ROW(group, "group", FIELD_TEXT), .count = GROUP_NAME_SIZE},
	{ROW(sha256, "sha256", FIELD_SHA256)},
	{ROW(state, "state", FIELD_HEX64)},
};

const struct field_table inventory_row_fields = {fields, ARRAY_SIZE(fields)};

/* Finds the present st_dev of the file system of a file. */
static int find_device(struct row_maker *maker, const struct file_record *file, dev_t *device)
{
	CLEANUP_BYTES struct bytes relative = {0}, path = {0};
	const struct row_name *name = maker->names;
	struct stat status;
	int r;

	for (size_t i = 0; i < maker->device_count; i++) {
		*device = maker->devices[i].device;
		if (maker->devices[i].filesystem == file->attributes.filesystem)
			return 0;
	}
	r = bytes_append(&relative, maker->paths.data + name->path, name->length);
	if (r < 0 || !bytes_text(&relative))
		return -ENOMEM;
	r = source_absolute_path(maker->sources, name->source, bytes_text(&relative), &path);
	if (r < 0 || !bytes_text(&path))
		return -ENOMEM;
	if (lstat(bytes_text(&path), &status) < 0 || status.st_ino != file->attributes.inode)
		return -ENOENT;
	r = array_reserve(&maker->devices, &maker->device_capacity, maker->device_count + 1,
			  sizeof(*maker->devices));
	if (r < 0)
		return r;
	*device = status.st_dev;
	maker->devices[maker->device_count++] =
		(struct row_device){file->attributes.filesystem, status.st_dev};
	return 0;
}

/* Sets the name of the file's group, if the file is in a visible one. */
static int set_group(const struct row_maker *maker, const struct file_record *file,
		     struct inventory_row *row)
{
	struct content_record content;
	struct group_record group = {0};
	int r = catalog_get_content(maker->reader, file->id, &content);

	if (r == -ENOENT || (r == 0 && content.group == 0))
		return 0;
	if (r == 0)
		r = catalog_get_group(maker->reader, content.group, &group);
	if (r < 0 || !group_is_visible(&group))
		return r == -ENOENT ? -EUCLEAN : r;
	group_name_make(row->group, group.hash, group.ordinal);
	return 0;
}

int row_maker_identify(struct row_maker *maker, const struct file_record *file,
		       struct inventory_row *row)
{
	const struct attributes *attributes = &file->attributes;
	dev_t device = 0;
	int found, r = find_names(maker, file);

	if (r == -ENOENT || (r == 0 && maker->name_count == 0))
		return -EUCLEAN; /* a name that its file or its folder lacks */
	if (r < 0)
		return r;
	found = maker->examines_disk ? find_device(maker, file, &device) : -ENOENT;
	*row = (struct inventory_row){
		.id = file->id,
		.name = path_of(maker, &maker->names[0]),
		.size = attributes->size,
		.mtime_ns = clock_ns(attributes->mtime),
		.ctime_ns = clock_ns(attributes->ctime),
		.dev = {.value = device, .unknown = found < 0},
		.ino = {.value = attributes->inode},
	};
	return found == -ENOMEM ? found : 0;
}

int row_maker_make(struct row_maker *maker, const struct file_record *file,
		   struct inventory_row *row)
{
	int r = row_maker_identify(maker, file, row);

	if (r < 0)
		return r;
	row->names = file->names;
	row->links = maker;
	r = set_group(maker, file, row);
	if (r == 0)
		r = catalog_find_digest(maker->reader, file, row->sha256);
	return r == -ENOENT ? 0 : r;
}

/* ---- sources ------------------------------------------------------------------------- */

static int add_source(json_t *list, const char *path)
{
	json_t *object = json_object();

	if (json_array_append_new(list, object) < 0)
		return -ENOMEM;
	return json_set_path(object, "path", path, strlen(path));
}

int rows_list_sources(const struct sources *sources, json_t **list)
{
	int r;

	*list = json_array();
	r = *list ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < sources->count; i++)
		r = add_source(*list, sources->list[i].path);
	if (r < 0)
		json_decref(TAKE(*list));
	return r;
}
