/* SPDX-License-Identifier: MIT */
#include "fleet/file_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/array.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/record.h"
#include "index/source.h"
#include "row/fields.h"
#include "row/json_text.h"
#include "twinfs/format.h"

#define NO_FORMAT "it does not begin such a list"
#define OTHER_SCHEMA "the list has another schema than this version of twinfs can read, which is 1"

static const struct {
	const char *format;
	const char *maker; /* the command that makes the list */
	const char *other; /* what a command says that needs another kind */
	struct json_lines_words words;
} kinds[] = {
	[FILE_LIST_WANTED] =
		{
			.format = "twinfs-wanted",
			.maker = "twinfs-fleet wanted",
			.other = "it is a list of wanted files, which 'twinfs digest' reads",
			.words = {"the list of wanted files",
				  "nothing was read; make the list again with 'twinfs-fleet "
				  "wanted'",
				  NO_FORMAT, OTHER_SCHEMA},
		},
	[FILE_LIST_KEEP] =
		{
			.format = "twinfs-keep",
			.maker = "twinfs-fleet plan",
			.other = "it is a keep list, which 'twinfs attest' reads",
			.words = {"the keep list",
				  "nothing was read; make the lists again with 'twinfs-fleet plan'",
				  NO_FORMAT, OTHER_SCHEMA},
		},
	[FILE_LIST_REMOVE] =
		{
			.format = "twinfs-remove",
			.maker = "twinfs-fleet plan",
			.other = "it is a remove list, which 'twinfs remove --plan' reads",
			.words = {"the remove list",
				  "nothing was removed; make the lists again with 'twinfs-fleet "
				  "plan'",
				  NO_FORMAT, OTHER_SCHEMA},
		},
};

/* The fields of a row. */
struct list_row {
	uint64_t id, source, size;
	struct bytes path;
	uint8_t sha256[SHA256_BYTES];
};

/* The state of reading. */
struct list_reading {
	enum file_list_kind kind;
	struct json_lines lines;
	struct file_list *list;
	uint64_t rows; /* number that the first line promises */
	int64_t created;
	uint64_t found_bytes; /* sizes of the rows so far */
	struct list_row row; /* of the current line */
	const uint8_t *sha256; /* of the last row */
};

/* ---- first line -------------------------------------------------------------------------- */

static const char *source_fault(const void *member)
{
	const struct bytes *path = member;

	if (path->length == 0 || memchr(path->data, '\0', path->length))
		return "";
	return path->data[0] == '/' ? NULL : "a source has no absolute path";
}

static const struct field source_fields[] = {
	{FIELD(struct list_row, path, "path", FIELD_BYTES), .check = source_fault,
	 REQUIRED("it has no path")},
};

static int read_source(struct list_reading *reading, const json_t *object)
{
	const struct bytes *path = &reading->row.path;
	int r;

	reading->row.path.length = 0;
	r = json_lines_get(&reading->lines, object, &reading->row, FIELDS(source_fields));
	return r < 0 ? r
		     : text_list_add(&reading->list->sources, (const char *)path->data,
				     path->length);
}

static int read_sources(struct list_reading *reading, const json_t *list)
{
	size_t count = json_array_size(list);
	int r = 0;

	if (count == 0)
		return json_lines_complain(&reading->lines, "it names no sources");
	for (size_t i = 0; r == 0 && i < count; i++)
		r = read_source(reading, json_array_get(list, i));
	return r;
}

/* Refuses the host of the list itself, and a host that is named twice. */
static int check_keeper(const struct list_reading *reading, const struct file_list_keeper *keeper)
{
	const struct file_list *list = reading->list;

	if (strcmp(keeper->host, list->host) == 0)
		return json_lines_complain(&reading->lines,
					   "the host of the list is one of its keepers");
	for (const struct file_list_keeper *other = list->keepers; other < keeper; other++) {
		if (strcmp(keeper->host, other->host) == 0)
			return json_lines_complain(&reading->lines,
						   "it has two keepers of one name");
	}
	return 0;
}

#define NO_KEEPERS "it has no valid keepers"

static const struct field keeper_fields[] = {
	{FIELD_HOST(struct file_list_keeper, host, "host"), .fault = NO_KEEPERS},
	{FIELD(struct file_list_keeper, list, "list", FIELD_SHA256), REQUIRED(NO_KEEPERS)},
};

static int read_keepers(struct list_reading *reading, const json_t *keepers)
{
	struct file_list *list = reading->list;
	size_t count = json_array_size(keepers);
	int r = 0;

	if (count == 0 || count > UINT16_MAX)
		return json_lines_complain(&reading->lines, NO_KEEPERS);
	list->keepers = arena_take(&list->memory, count * sizeof(*list->keepers));
	if (!list->keepers)
		return -ENOMEM;
	for (; r == 0 && list->keeper_count < count; list->keeper_count++) {
		const json_t *object = json_array_get(keepers, list->keeper_count);
		struct file_list_keeper *keeper = &list->keepers[list->keeper_count];

		r = json_lines_get(&reading->lines, object, keeper, FIELDS(keeper_fields));
		if (r == 0)
			r = check_keeper(reading, keeper);
	}
	return r;
}

static int check_format(const struct list_reading *reading, const json_t *object)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (i != reading->kind && json_has_text(object, "format", kinds[i].format))
			return json_lines_complain(&reading->lines, kinds[i].other);
	}
	return json_lines_check_format(&reading->lines, object, kinds[reading->kind].format);
}

#define LIST(member, key, type) FIELD(struct file_list, member, key, type)
#define NO_FIGURES "it has no number of rows or bytes"

static const struct field list_fields[] = {
	{FIELD_HOST(struct file_list, host, "host"), .fault = "it has no valid host"},
	{LIST(index, "index", FIELD_HEX64), REQUIRED("it has no valid index")},
	{LIST(bytes, "bytes", FIELD_SIZE), REQUIRED(NO_FIGURES)},
};

static const struct field reading_fields[] = {
	{FIELD(struct list_reading, created, "created", FIELD_SECONDS),
	 REQUIRED("it has no valid time of creation")},
	{FIELD(struct list_reading, rows, "rows", FIELD_SIZE), REQUIRED(NO_FIGURES)},
};

/* What the lists of a plan have in addition. */
static const struct field plan_fields[] = {
	{FIELD_PLAN(struct file_list, plan)},
	{LIST(keep_replicas, "keep_replicas", FIELD_SIZE), .min = 1,
	 REQUIRED("it has no valid number keep_replicas")},
};

static int read_header(void *context, const json_t *object, uint64_t *rows)
{
	struct list_reading *reading = context;
	const struct json_lines *lines = &reading->lines;
	struct file_list *list = reading->list;
	int r = check_format(reading, object);

	if (r == 0)
		r = json_lines_get(lines, object, list, FIELDS(list_fields));
	if (r == 0)
		r = json_lines_get(lines, object, reading, FIELDS(reading_fields));
	if (r == 0 && reading->kind != FILE_LIST_WANTED)
		r = json_lines_get(lines, object, list, FIELDS(plan_fields));
	if (r == 0 && reading->kind == FILE_LIST_REMOVE)
		r = read_keepers(reading, json_object_get(object, "keepers"));
	*rows = reading->rows;
	return r == 0 ? read_sources(reading, json_object_get(object, "sources")) : r;
}

/* ---- rows -------------------------------------------------------------------------------- */

static const char *row_path_fault(const void *member)
{
	const struct bytes *path = member;

	if (path->length == 0 || memchr(path->data, '\0', path->length))
		return "";
	return path_fault((const char *)path->data, path->length)
		       ? "the path is not one below a source"
		       : NULL;
}

#define ROW(member, key, type) FIELD(struct list_row, member, key, type)

static const struct field row_fields[] = {
	{ROW(id, "id", FIELD_SIZE), .min = 1, .max = TWINFS_ID_MAX, REQUIRED("it has no valid id")},
	{ROW(source, "source", FIELD_SIZE), REQUIRED("it has no source of line 1")},
	{ROW(size, "size", FIELD_SIZE), REQUIRED("it has no valid size")},
	{ROW(path, "path", FIELD_BYTES), .check = row_path_fault, REQUIRED("it has no path")},
};

/* What the rows of a plan have in addition. */
static const struct field content_fields[] = {
	{ROW(size, "size", FIELD_SIZE), .min = 1, REQUIRED("it has no valid size")},
	{ROW(sha256, "sha256", FIELD_SHA256), REQUIRED("it has no valid sha256")},
};

/* Returns whether the members exist that other programs use. A number can be null if it is
 * unknown. */
static bool has_identity(const json_t *object)
{
	static const char *const keys[] = {"mtime_ns", "ctime_ns", "dev", "ino"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const json_t *value = json_object_get(object, keys[i]);

		if (!is_json_identity(value) && !json_is_null(value))
			return false;
	}
	return true;
}

/* Notes the digest of a row. The names of one file follow each other in a remove list, so that
 * digests are stored once. */
static int note_digest(struct list_reading *reading, struct listed_file *row)
{
	const uint8_t *sha256 = reading->row.sha256;

	if (!reading->sha256 || memcmp(reading->sha256, sha256, SHA256_BYTES) != 0) {
		uint8_t *copy = arena_take(&reading->list->memory, SHA256_BYTES);

		if (!copy)
			return -ENOMEM;
		memcpy(copy, sha256, SHA256_BYTES);
		reading->sha256 = copy;
	}
	row->sha256 = reading->sha256;
	return 0;
}

static int get_keepers(struct list_reading *reading, const json_t *numbers, struct listed_file *row)
{
	struct file_list *list = reading->list;
	size_t count = json_array_size(numbers);
	uint16_t *keepers;

	if (count < list->keep_replicas || count > list->keeper_count)
		return json_lines_complain(&reading->lines,
					   "it has not as many keepers as keep_replicas says");
	keepers = arena_take(&list->memory, count * sizeof(*keepers));
	if (!keepers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const json_t *number = json_array_get(numbers, i);
		json_int_t value = json_integer_value(number);

		if (!json_is_integer(number) || value < 0 ||
		    value >= (json_int_t)list->keeper_count)
			return json_lines_complain(&reading->lines,
						   "it has a keeper that line 1 lacks");
		keepers[i] = (uint16_t)value;
		if (i > 0 && keepers[i] <= keepers[i - 1])
			return json_lines_complain(&reading->lines,
						   "the numbers of its keepers do not ascend");
	}
	row->keepers = keepers;
	row->keeper_count = (uint16_t)count;
	return 0;
}

/* Gets what the rows of a plan have in addition. */
static int get_content(struct list_reading *reading, const json_t *object, struct listed_file *row)
{
	int r = json_lines_get(&reading->lines, object, &reading->row, FIELDS(content_fields));

	if (r == 0)
		r = note_digest(reading, row);
	if (r == 0 && reading->kind == FILE_LIST_REMOVE)
		r = get_keepers(reading, json_object_get(object, "keepers"), row);
	return r;
}

static int add_row(struct file_list *list, struct listed_file row, const struct bytes *path)
{
	int r = array_reserve(&list->rows, &list->capacity, list->count + 1, sizeof(*list->rows));

	if (r < 0)
		return r;
	row.path = arena_copy(&list->memory, path->data, path->length);
	if (!row.path)
		return -ENOMEM;
	list->rows[list->count++] = row;
	return 0;
}

static int read_row(void *context, const json_t *object)
{
	struct list_reading *reading = context;
	struct list_row *found = &reading->row;
	uint64_t line = reading->lines.lines.line;
	struct listed_file row = {.line = line < UINT32_MAX ? (uint32_t)line : UINT32_MAX};
	int r;

	found->path.length = 0;
	r = json_lines_get(&reading->lines, object, found, FIELDS(row_fields));
	if (r == 0 && found->source >= reading->list->sources.count)
		return json_lines_complain(&reading->lines, "it has no source of line 1");
	if (r == 0 && !has_identity(object))
		return json_lines_complain(&reading->lines,
					   "it lacks one of mtime_ns, ctime_ns, dev and ino");
	if (r == 0 && reading->kind != FILE_LIST_WANTED)
		r = get_content(reading, object, &row);
	if (r < 0)
		return r;
	reading->found_bytes = size_add(reading->found_bytes, found->size);
	row.id = found->id;
	row.size = found->size;
	row.source = (uint32_t)found->source;
	return add_row(reading->list, row, &found->path);
}

/* ---- contradictions ---------------------------------------------------------------------- */

static int compare_lines(const void *left, const void *right)
{
	const struct listed_file *a = left, *b = right;

	return numbers_compare(a->line, b->line);
}

static int compare_ids(const void *left, const void *right)
{
	const struct listed_file *a = left, *b = right;
	int order = numbers_compare(a->id, b->id);

	return order ? order : compare_lines(left, right);
}

static int compare_names(const void *left, const void *right)
{
	const struct listed_file *a = left, *b = right;
	int order = numbers_compare(a->id, b->id);

	if (order == 0)
		order = numbers_compare(a->source, b->source);
	if (order == 0)
		order = strcmp(a->path, b->path);
	return order ? order : compare_lines(left, right);
}

static int compare_contents(const void *left, const void *right)
{
	const struct listed_file *a = left, *b = right;
	int order = memcmp(a->sha256, b->sha256, SHA256_BYTES);

	if (order == 0)
		order = numbers_compare(a->size, b->size);
	return order ? order : compare_lines(left, right);
}

static bool is_of_one_content(const struct listed_file *a, const struct listed_file *b)
{
	return a->size == b->size && memcmp(a->sha256, b->sha256, SHA256_BYTES) == 0;
}

/* Sorts the rows, and refuses two rows that follow each other and contradict each other. */
static int sort_rows(struct list_reading *reading, int (*order)(const void *, const void *),
		     const char *(*find_fault)(const struct listed_file *,
					       const struct listed_file *))
{
	struct file_list *list = reading->list;

	sort_unless_sorted(list->rows, list->count, sizeof(*list->rows), order);
	for (size_t i = 1; i < list->count; i++) {
		const struct listed_file *row = &list->rows[i];
		const char *fault = find_fault(row - 1, row);

		if (fault)
			return json_lines_complain_of(&reading->lines, row->line, fault);
	}
	return 0;
}

static const char *find_same_id(const struct listed_file *a, const struct listed_file *b)
{
	return a->id == b->id ? "an earlier line has the same id" : NULL;
}

static const char *find_same_content(const struct listed_file *a, const struct listed_file *b)
{
	return is_of_one_content(a, b) ? "an earlier line has the same content" : NULL;
}

static const char *find_same_name(const struct listed_file *a, const struct listed_file *b)
{
	if (a->id != b->id)
		return NULL;
	if (a->source == b->source && strcmp(a->path, b->path) == 0)
		return "an earlier line has the same name";
	return is_of_one_content(a, b) ? NULL
				       : "an earlier line has the same id, but another content";
}

static int check_rows(struct list_reading *reading)
{
	struct file_list *list = reading->list;
	int r;

	if (reading->kind == FILE_LIST_REMOVE)
		return sort_rows(reading, compare_names, find_same_name);
	r = sort_rows(reading, compare_ids, find_same_id);
	if (r < 0 || reading->kind == FILE_LIST_WANTED)
		return r;
	r = sort_rows(reading, compare_contents, find_same_content);
	sort_unless_sorted(list->rows, list->count, sizeof(*list->rows), compare_lines);
	return r;
}

/* ---- the file ---------------------------------------------------------------------------- */

static int read_all(struct list_reading *reading)
{
	static const struct json_lines_form form = {read_header, read_row};
	int r = json_lines_read(&reading->lines, &form, reading);

	if (r == 0 && reading->found_bytes != reading->list->bytes)
		r = json_lines_complain_of(&reading->lines, 1,
					   "the files have not as many bytes as it says");
	return r == 0 ? check_rows(reading) : r;
}

/* Reads all, and computes the SHA-256 of the file. */
static int read_hashed(struct list_reading *reading)
{
	struct sha256 *sha256 = sha256_new();
	int r = sha256 ? 0 : -ENOMEM;

	reading->lines.lines.sha256 = sha256;
	if (r == 0)
		r = read_all(reading);
	if (r == 0)
		r = sha256_end(sha256, reading->list->sha256);
	sha256_free(sha256);
	return r;
}

/* Opens the file. A list of wanted files can be a pipe. The lists of a plan are files, and opening
 * them does not block. */
static int open_list(enum file_list_kind kind, const char *file)
{
	int flags = kind == FILE_LIST_WANTED ? 0 : O_NONBLOCK;
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
	int r = fd < 0 ? -errno : 0;
	struct stat status;

	if (r < 0 && r != -EINTR)
		log_error("cannot open %s: %s", quote_path(file), error_text(r));
	if (r < 0 || kind == FILE_LIST_WANTED)
		return r < 0 ? r : fd;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return fd;
	(void)close(fd);
	log_error("cannot use %s %s: it is no regular file; give the file that 'twinfs-fleet plan' "
		  "made",
		  kinds[kind].words.noun, quote_path(file));
	return -EPROTO;
}

int file_list_read(struct file_list *list, enum file_list_kind kind, const char *file)
{
	struct list_reading reading = {.kind = kind, .list = list};
	AUTO_CLOSE int fd = open_list(kind, file);
	int r;

	*list = (struct file_list){.kind = kind};
	if (fd < 0)
		return fd;
	r = json_lines_init(&reading.lines, fd, file, &kinds[kind].words);
	if (r == 0)
		r = read_hashed(&reading);
	json_lines_deinit(&reading.lines);
	bytes_free(&reading.row.path);
	return r;
}

void file_list_free(struct file_list *list)
{
	free(list->rows);
	arena_free(&list->memory);
	text_list_free(&list->sources);
	list->rows = NULL;
	list->keepers = NULL;
	list->count = list->capacity = list->keeper_count = 0;
}

/* ---- listed sources ------------------------------------------------------------------------- */

int listed_sources_check_index(const struct file_list *list, const char *file,
			       struct catalog *catalog)
{
	if (catalog_identity(catalog) == list->index)
		return 0;
	log_error("cannot use %s %s: it was made for another index of these sources; run 'twinfs "
		  "export' and '%s' again",
		  kinds[list->kind].words.noun, quote_path(file), kinds[list->kind].maker);
	return -EXDEV;
}

int listed_sources_find(const struct file_list *list, const char *file,
			const struct sources *sources, size_t *numbers)
{
	for (size_t i = 0; i < list->sources.count; i++) {
		size_t found = 0;

		while (found < sources->count &&
		       strcmp(sources->list[found].path, list->sources.items[i]) != 0)
			found++;
		if (found == sources->count) {
			log_error("cannot use %s %s: its source %s is not a source of this index; "
				  "give the sources of the inventory",
				  kinds[list->kind].words.noun, quote_path(file),
				  quote_path(list->sources.items[i]));
			return -EXDEV;
		}
		numbers[i] = found;
	}
	return 0;
}

int listed_file_find(struct catalog_reader *reader, uint64_t root, const struct listed_file *row,
		     struct file_record *file, uint64_t *dir)
{
	struct entry_record entry;
	int r = catalog_find_path(reader, root, row->path, &entry);

	if (r == 0 && entry.kind != ENTRY_FILE)
		r = -ENOENT;
	if (r == 0)
		r = catalog_get_file(reader, entry.child, file);
	if (r < 0)
		return r;
	*dir = entry.dir;
	return S_ISREG(file->attributes.mode) ? 0 : -ENOENT;
}
