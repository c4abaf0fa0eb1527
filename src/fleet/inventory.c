/* SPDX-License-Identifier: MIT */
#include "fleet/inventory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/sort.h"
#include "base/stop.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "row/json_path.h"
#include "row/json_text.h"

/* ---- rows ----------------------------------------------------------------------------------- */

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

/* As row_maker_identify(), with all members. */
static int row_maker_make(struct row_maker *maker, const struct file_record *file,
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

/* ---- the inventory -------------------------------------------------------------------------- */

/* Bounds of what is read in one snapshot, which takes some milliseconds. */
#define PORTION_ROWS 2048
#define PORTION_NAMES 4096

/* How often files without a name are examined again. A file can be renamed again and again. */
#define LATE_ROUNDS 8

/* A file that had no name when it was examined. */
struct nameless {
	uint64_t id;
	uint64_t inode;
	uint32_t filesystem;
};

struct inventory {
	const struct inventory_task *task;
	struct row_set *set;
	struct inventory_result *result;
	struct row_maker maker;
	uint64_t last; /* id of the last file that was examined */
	struct nameless *nameless;
	size_t nameless_count, nameless_capacity;
	size_t nameless_done; /* number of them that were examined again */
	size_t nameless_end; /* number of them that are examined in this round */
	uint64_t min_size;
	uint64_t generation; /* of the last snapshot; 0: none */
	struct progress progress;
	struct progress_counts counts;
};

/* ---- portions ------------------------------------------------------------------------ */

/* Makes the row of a file, and adds the number of its names to *names. */
static int make_row(struct inventory *inventory, const struct file_record *file, uint64_t *names)
{
	struct inventory_row row;
	int r = row_maker_make(&inventory->maker, file, &row);

	if (r == 0)
		r = row_set_keep(inventory->set, &row, inventory_row_fields, row.size);
	if (r < 0)
		return r;
	*names += file->names;
	return 0;
}

/* Notes whether the index changed since the last snapshot. */
static int note_generation(struct inventory *inventory, struct catalog_reader *reader)
{
	struct catalog_totals totals;
	int r = catalog_get_totals(reader, &totals);

	if (r < 0)
		return r;
	if (inventory->generation != 0 && inventory->generation != totals.generation)
		inventory->result->changed = true;
	inventory->generation = totals.generation;
	inventory->counts.files_total = totals.files;
	inventory->result->errors = totals.errors;
	return 0;
}

static int note_nameless(struct inventory *inventory, const struct file_record *file)
{
	int r = array_reserve(&inventory->nameless, &inventory->nameless_capacity,
			      inventory->nameless_count + 1, sizeof(*inventory->nameless));

	if (r == 0)
		inventory->nameless[inventory->nameless_count++] =
			(struct nameless){file->id, file->attributes.inode,
					  file->attributes.filesystem};
	return r;
}

static int examine(struct inventory *inventory, const struct file_record *file, uint64_t *names)
{
	if (!S_ISREG(file->attributes.mode))
		return 0;
	return file->names == 0 ? note_nameless(inventory, file) : make_row(inventory, file, names);
}

/* Examines a file again that had no name. A file that the index forgot, as if it was removed, and
 * found again, has a new id. If this id is among the examined ones, so is the file. */
static int examine_again(struct inventory *inventory, struct catalog_reader *reader,
			 struct nameless nameless, uint64_t *names)
{
	struct file_record file;
	uint64_t id = 0;
	int r = catalog_get_file(reader, nameless.id, &file);

	if (r == 0)
		return examine(inventory, &file, names);
	if (r == -ENOENT)
		r = catalog_find_inode(reader, nameless.filesystem, nameless.inode, &id);
	if (r < 0 || id <= inventory->last)
		return r;
	r = catalog_get_file(reader, id, &file);
	if (r == 0)
		return examine(inventory, &file, names);
	return r == -ENOENT ? -EUCLEAN : r;
}

/* Begins the snapshot of a portion. */
static int begin_portion(struct inventory *inventory, struct catalog_reader **reader)
{
	int r = catalog_read_begin(inventory->task->sources->catalog, reader);

	if (r == 0)
		r = note_generation(inventory, *reader);
	row_maker_begin(&inventory->maker, *reader);
	return r;
}

static bool portion_is_full(const struct inventory *inventory, uint64_t names)
{
	return inventory->set->waiting_count == PORTION_ROWS || names >= PORTION_NAMES;
}

/* Makes rows in a snapshot of its own. Returns 0, -ENOENT after the last file, or another
 * -errno. */
static int make_portion(struct inventory *inventory)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	uint64_t names = 0;
	int r = begin_portion(inventory, &reader);

	if (r == 0)
		r = catalog_scan_files(reader, inventory->last, &scan);
	while (r == 0 && !portion_is_full(inventory, names)) {
		r = catalog_next_file(scan, &file);
		if (r < 0)
			break;
		inventory->last = file.id;
		r = examine(inventory, &file, &names);
	}
	return r;
}

/* Works like make_portion(), for the files that had no name before. */
static int make_late_portion(struct inventory *inventory)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	uint64_t names = 0;
	int r = begin_portion(inventory, &reader);

	while (r == 0 && !portion_is_full(inventory, names)) {
		if (inventory->nameless_done == inventory->nameless_end)
			return -ENOENT;
		r = examine_again(inventory, reader,
				  inventory->nameless[inventory->nameless_done++], &names);
	}
	return r;
}

static int write_portion(struct inventory *inventory)
{
	size_t count = inventory->set->waiting_count;
	int r = row_set_write_waiting(inventory->set);

	inventory->counts.files_done += count;
	progress_update(&inventory->progress, &inventory->counts);
	return r;
}

/* Writes portions until make() returns -ENOENT. */
static int write_portions(struct inventory *inventory, int (*make)(struct inventory *inventory))
{
	bool ended = false;
	int r = 0;

	while (r == 0 && !ended) {
		r = stop_requested() ? -EINTR : make(inventory);
		ended = r == -ENOENT;
		if (r == 0 || ended)
			r = write_portion(inventory);
	}
	return r;
}

static int compare_inodes(const struct nameless *a, const struct nameless *b)
{
	int order = numbers_compare(a->filesystem, b->filesystem);

	return order ? order : numbers_compare(a->inode, b->inode);
}

static int by_inode(const void *left, const void *right)
{
	const struct nameless *a = left, *b = right;
	int order = compare_inodes(a, b);

	return order ? order : numbers_compare(a->id, b->id);
}

/* Drops files whose inode number belongs to another file now, or that have a new id. Of all files
 * with one number, only the youngest is left. */
static void drop_replaced(struct inventory *inventory)
{
	struct nameless *list = inventory->nameless;
	size_t left = inventory->nameless_done;

	qsort(list + left, inventory->nameless_count - left, sizeof(*list), by_inode);
	for (size_t i = left; i < inventory->nameless_count; i++) {
		if (i + 1 == inventory->nameless_count ||
		    compare_inodes(&list[i], &list[i + 1]) != 0)
			list[left++] = list[i];
	}
	inventory->nameless_count = left;
}

/* Writes the rows of files that had no name, as soon as they have one. */
static int write_late_rows(struct inventory *inventory)
{
	const struct inventory_task *task = inventory->task;
	int r = 0;

	for (int round = 0; r == 0 && round < LATE_ROUNDS; round++) {
		if (inventory->nameless_done == inventory->nameless_count)
			break;
		drop_replaced(inventory);
		inventory->nameless_end = inventory->nameless_count;
		r = task->await_changes(task->context);
		if (r == 0)
			r = write_portions(inventory, make_late_portion);
	}
	inventory->result->missed = inventory->nameless_count - inventory->nameless_done;
	return r == INVENTORY_NOT_AWAITED ? 0 : r;
}

static int write_rows(struct inventory *inventory)
{
	int r = write_portions(inventory, make_portion);

	return r == 0 && inventory->task->await_changes ? write_late_rows(inventory) : r;
}

/* ---- the manifest -------------------------------------------------------------------- */

/* Gets what the manifest says of the whole index. */
static int find_figures(struct inventory *inventory)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	uint64_t bytes;
	int r = catalog_read_begin(inventory->task->sources->catalog, &reader);

	if (r == 0)
		r = note_generation(inventory, reader);
	if (r == 0)
		r = catalog_get_min_size(reader, &inventory->min_size);
	return r < 0 ? r : catalog_count_pending(reader, &inventory->result->pending, &bytes);
}

static int commit(struct inventory *inventory)
{
	struct row_set_figures figures = {
		.index = catalog_identity(inventory->task->sources->catalog),
	};
	int r = rows_list_sources(inventory->task->sources, &figures.sources);

	if (r == 0)
		r = find_figures(inventory);
	figures.min_size = inventory->min_size;
	figures.errors = inventory->result->errors + inventory->task->outdated;
	figures.pending = inventory->result->pending + inventory->result->missed;
	if (r == 0)
		r = stop_requested() ? -EINTR : row_set_commit(inventory->set, &figures);
	json_decref(figures.sources);
	return r;
}

int inventory_write(const struct inventory_task *task, struct row_set *set,
		    struct inventory_result *result)
{
	struct inventory inventory = {
		.task = task,
		.set = set,
		.result = result,
		.maker = {.sources = task->sources, .examines_disk = task->examines_disk},
	};
	int r;

	*result = (struct inventory_result){0};
	progress_start(&inventory.progress, task->progress, "exporting");
	r = write_rows(&inventory);
	progress_end(&inventory.progress, &inventory.counts);
	if (r == 0)
		r = commit(&inventory);
	result->rows = set->rows;
	row_maker_deinit(&inventory.maker);
	free(inventory.nameless);
	return r;
}
