/* SPDX-License-Identifier: MIT */
#include "fleet/wanted.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_path.h"
#include "base/json_read.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/quote.h"
#include "base/size.h"
#include "catalog/record.h"
#include "fleet/line_reader.h"
#include "twinfs/format.h"

#define WANTED_FORMAT "twinfs-wanted"
#define WANTED_SCHEMA 1

/* The state of reading. */
struct reading {
	const char *file;
	struct line_reader lines;
	struct wanted *wanted;
	uint64_t rows, bytes; /* numbers that the first line promises */
	uint64_t found_bytes; /* sizes of the rows so far */
	struct bytes path; /* of the current line */
};

/* Logs what is wrong with a line. Returns -EPROTO. */
static int complain_of(const struct reading *reading, uint64_t line, const char *fault)
{
	log_error("cannot use the list of wanted files %s: line %" PRIu64
		  ": %s; nothing was read; make the list again with 'twinfs-fleet wanted'",
		  quote_path(reading->file), line, fault);
	return -EPROTO;
}

/* Logs what is wrong with the current line. Returns -EPROTO. */
static int complain(const struct reading *reading, const char *fault)
{
	return complain_of(reading, reading->lines.line, fault);
}

/* Parses the next line. Returns 0, LINE_END or -errno. The caller frees *object. */
static int next_object(struct reading *reading, json_t **object)
{
	const char *text = NULL;
	size_t length = 0;
	int r = line_reader_next(&reading->lines, &text, &length);

	*object = NULL;
	if (r == LINE_TORN || r == LINE_TOO_LONG)
		return complain_of(reading, reading->lines.line + 1,
				   r == LINE_TORN ? "it has no end" : "it is longer than 64 KiB");
	if (r < 0 && r != -EINTR && r != -ENOMEM)
		log_error("cannot read %s: %s", quote_path(reading->file), error_text(r));
	if (r != 0)
		return r;
	*object = json_read(text, length, JSON_REJECT_DUPLICATES);
	return json_is_object(*object) ? 0 : complain(reading, "it is no JSON object");
}

/* Gets a number that is not negative. */
static bool get_number(const json_t *object, const char *key, uint64_t *number)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*number = (uint64_t)json_integer_value(value);
	return true;
}

/* Gets a path without NUL into reading->path, with a NUL behind it. Returns 0, -EPROTO (logged) or
 * -ENOMEM. */
static int get_path(struct reading *reading, const json_t *object)
{
	struct bytes *path = &reading->path;
	int r;

	path->length = 0;
	r = json_get_path(object, "path", path);
	if (r == -ENOMEM)
		return r;
	if (r == -EPROTO && json_object_get(object, "path") &&
	    json_object_get(object, "path_base64"))
		return complain(reading, "path and path_base64 do not agree");
	if (r < 0 || path->length == 0 || memchr(path->data, '\0', path->length))
		return complain(reading, "it has no path");
	return bytes_text(path) ? 0 : -ENOMEM;
}

/* ---- first line -------------------------------------------------------------------------- */

static int read_source(struct reading *reading, const json_t *object)
{
	int r = get_path(reading, object);

	if (r < 0)
		return r;
	if (reading->path.data[0] != '/')
		return complain(reading, "a source has no absolute path");
	return text_list_add(&reading->wanted->sources, (const char *)reading->path.data,
			     reading->path.length);
}

static int read_sources(struct reading *reading, const json_t *list)
{
	size_t count = json_array_size(list);
	int r = 0;

	if (count == 0)
		return complain(reading, "it names no sources");
	for (size_t i = 0; r == 0 && i < count; i++)
		r = read_source(reading, json_array_get(list, i));
	return r;
}

static bool get_host(const json_t *object, char host[HOST_NAME_BYTES_MAX + 1])
{
	const char *name = json_string_value(json_object_get(object, "host"));

	if (!name || !host_name_is_valid(name))
		return false;
	memcpy(host, name, strlen(name) + 1);
	return true;
}

/* Returns whether the list says when it was made. */
static bool has_time(const json_t *object)
{
	const char *text = json_string_value(json_object_get(object, "created"));
	const char *end;
	struct tm parts;

	end = text ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts) : NULL;
	return end && *end == '\0';
}

static int read_header(struct reading *reading, const json_t *object)
{
	const char *format = json_string_value(json_object_get(object, "format"));
	uint64_t schema;

	if (!format || strcmp(format, WANTED_FORMAT) != 0)
		return complain(reading, "it does not begin a list of wanted files");
	if (!get_number(object, "schema", &schema))
		return complain(reading, "it has no schema");
	if (schema != WANTED_SCHEMA)
		return complain(reading, "the list has another schema than this version of twinfs "
					 "can read, which is 1");
	if (!get_host(object, reading->wanted->host))
		return complain(reading, "it has no valid host");
	if (!json_get_hex64(object, "index", &reading->wanted->index))
		return complain(reading, "it has no valid index");
	if (!has_time(object))
		return complain(reading, "it has no valid time of creation");
	if (!get_number(object, "rows", &reading->rows) ||
	    !get_number(object, "bytes", &reading->bytes))
		return complain(reading, "it has no number of rows or bytes");
	return read_sources(reading, json_object_get(object, "sources"));
}

/* ---- rows -------------------------------------------------------------------------------- */

/* Returns whether a path has names only: no empty or overlong one, no "." and no "..". */
static bool has_only_names(const char *path)
{
	for (;;) {
		size_t length = strcspn(path, "/");

		if (length == 0 || length > NAME_BYTES_MAX ||
		    (length <= 2 && strncmp(path, "..", length) == 0))
			return false;
		if (!path[length])
			return true;
		path += length + 1;
	}
}

/* Returns whether the members exist that other programs use. A number can be null if it is
 * unknown. */
static bool has_identity(const json_t *object)
{
	static const char *const keys[] = {"mtime_ns", "ctime_ns", "dev", "ino"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const json_t *value = json_object_get(object, keys[i]);

		if (!json_is_integer(value) && !json_is_null(value))
			return false;
	}
	return true;
}

static int add_row(struct wanted *wanted, struct wanted_row row, const struct bytes *path)
{
	int r = array_reserve(&wanted->rows, &wanted->capacity, wanted->count + 1,
			      sizeof(*wanted->rows));

	if (r < 0)
		return r;
	row.path = arena_copy(&wanted->memory, path->data, path->length);
	if (!row.path)
		return -ENOMEM;
	wanted->rows[wanted->count++] = row;
	return 0;
}

static int read_row(struct reading *reading, const json_t *object)
{
	struct wanted_row row = {
		.line = reading->lines.line < UINT32_MAX ? (uint32_t)reading->lines.line
							 : UINT32_MAX,
	};
	uint64_t source;
	int r;

	if (!get_number(object, "id", &row.id) || row.id == 0 || row.id > TWINFS_ID_MAX)
		return complain(reading, "it has no valid id");
	if (!get_number(object, "source", &source) || source >= reading->wanted->sources.count)
		return complain(reading, "it has no source of line 1");
	if (!get_number(object, "size", &row.size))
		return complain(reading, "it has no valid size");
	if (!has_identity(object))
		return complain(reading, "it lacks one of mtime_ns, ctime_ns, dev and ino");
	r = get_path(reading, object);
	if (r < 0)
		return r;
	if (!has_only_names((const char *)reading->path.data))
		return complain(reading, "the path is not one below a source");
	reading->found_bytes = size_add(reading->found_bytes, row.size);
	row.source = (uint32_t)source;
	return add_row(reading->wanted, row, &reading->path);
}

static int read_rows(struct reading *reading)
{
	struct wanted *wanted = reading->wanted;
	json_t *object;
	int r = 0;

	while (r == 0) {
		r = next_object(reading, &object);
		if (r == 0 && wanted->count == reading->rows)
			r = complain(reading, "there are more rows than line 1 says");
		if (r == 0)
			r = read_row(reading, object);
		json_decref(object);
	}
	if (r != LINE_END)
		return r;
	if (wanted->count < reading->rows)
		return complain(reading, "there are fewer rows than line 1 says");
	if (reading->found_bytes != reading->bytes)
		return complain_of(reading, 1, "the files have not as many bytes as it says");
	return 0;
}

static int compare_ids(const void *left, const void *right)
{
	const struct wanted_row *a = left, *b = right;
	int order = numbers_compare(a->id, b->id);

	return order ? order : numbers_compare(a->line, b->line);
}

/* Sorts the rows by id, and refuses an id that occurs twice. */
static int check_ids(struct reading *reading)
{
	struct wanted *wanted = reading->wanted;

	sort_unless_sorted(wanted->rows, wanted->count, sizeof(*wanted->rows), compare_ids);
	for (size_t i = 1; i < wanted->count; i++) {
		if (wanted->rows[i].id == wanted->rows[i - 1].id)
			return complain_of(reading, wanted->rows[i].line,
					   "an earlier line has the same id");
	}
	return 0;
}

/* ---- the file ---------------------------------------------------------------------------- */

static int read_all(struct reading *reading)
{
	json_t *object;
	int r = next_object(reading, &object);

	if (r == LINE_END)
		r = complain_of(reading, 1, "the file is empty");
	if (r == 0)
		r = read_header(reading, object);
	json_decref(object);
	if (r == 0)
		r = read_rows(reading);
	return r == 0 ? check_ids(reading) : r;
}

int wanted_read(struct wanted *wanted, const char *file)
{
	struct reading reading = {.file = file, .wanted = wanted};
	AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int r;

	*wanted = (struct wanted){.count = 0};
	if (fd < 0) {
		r = -errno;
		if (r != -EINTR)
			log_error("cannot open %s: %s", quote_path(file), error_text(r));
		return r;
	}
	r = line_reader_init(&reading.lines, fd, false);
	if (r == 0)
		r = read_all(&reading);
	line_reader_deinit(&reading.lines);
	bytes_free(&reading.path);
	return r;
}

void wanted_free(struct wanted *wanted)
{
	free(wanted->rows);
	arena_free(&wanted->memory);
	text_list_free(&wanted->sources);
	wanted->rows = NULL;
	wanted->count = wanted->capacity = 0;
}
