/* SPDX-License-Identifier: MIT */
#include "fleet/json_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "row/json_text.h"

/* ---- host name ------------------------------------------------------------------------------ */

#define LETTERS_AND_DIGITS           \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789"

bool host_name_is_valid(const char *name)
{
	size_t length = strspn(name, LETTERS_AND_DIGITS "._-");

	return name[length] == '\0' && length <= HOST_NAME_BYTES_MAX &&
	       strspn(name, LETTERS_AND_DIGITS) > 0;
}

/* ---- json lines ----------------------------------------------------------------------------- */

/* All formats have this schema. */
#define SCHEMA 1

int json_lines_init(struct json_lines *lines, int fd, const char *file,
		    const struct json_lines_words *words)
{
	*lines = (struct json_lines){.file = file, .words = words};
	return line_reader_init(&lines->lines, fd, LINE_BYTES_MAX, 0);
}

void json_lines_deinit(struct json_lines *lines)
{
	line_reader_deinit(&lines->lines);
}

int json_lines_complain_of(const struct json_lines *lines, uint64_t line, const char *fault)
{
	log_error("cannot use %s %s: line %" PRIu64 ": %s; %s", lines->words->noun,
		  quote_path(lines->file), line, fault, lines->words->remedy);
	return -EPROTO;
}

int json_lines_complain(const struct json_lines *lines, const char *fault)
{
	return json_lines_complain_of(lines, lines->lines.line, fault);
}

/* Reads the next object, which the caller frees. Returns 0; LINE_END; -EPROTO, logged, if the line
 * has no object; -EINTR if stop_requested(); or another -errno, logged except -ENOMEM. If the
 * result is not 0, *object is NULL. */
static int next_object(struct json_lines *lines, json_t **object)
{
	const char *text = NULL;
	size_t length = 0;
	int r = line_reader_next(&lines->lines, &text, &length);

	*object = NULL;
	if (r == LINE_TORN || r == LINE_TOO_LONG)
		return json_lines_complain_of(lines, lines->lines.line + 1,
					      r == LINE_TORN ? "it has no end"
							     : "it is longer than 64 KiB");
	if (r < 0 && r != -EINTR && r != -ENOMEM)
		log_error("cannot read %s: %s", quote_path(lines->file), error_text(r));
	if (r != 0)
		return r;
	*object = json_read(text, length, JSON_REJECT_DUPLICATES);
	if (json_is_object(*object))
		return 0;
	json_decref(*object);
	*object = NULL;
	return json_lines_complain(lines, "it is no JSON object");
}

static int read_head(struct json_lines *lines, const struct json_lines_form *form, void *context,
		     uint64_t *rows)
{
	json_t *object;
	int r = next_object(lines, &object);

	if (r == LINE_END)
		return json_lines_complain_of(lines, 1, "the file is empty");
	if (r == 0)
		r = form->head(context, object, rows);
	json_decref(object);
	return r;
}

int json_lines_read(struct json_lines *lines, const struct json_lines_form *form, void *context)
{
	json_t *row;
	uint64_t rows = 0, count = 0;
	int r = read_head(lines, form, context, &rows);

	if (r != 0)
		return r;
	while (r == 0) {
		r = next_object(lines, &row);
		if (r == 0 && count++ == rows)
			r = json_lines_complain(lines, "there are more rows than line 1 says");
		if (r == 0)
			r = form->row(context, row);
		json_decref(row);
	}
	if (r == LINE_END)
		r = count < rows
			    ? json_lines_complain(lines, "there are fewer rows than line 1 says")
			    : 0;
	return r;
}

int json_lines_get(const struct json_lines *lines, const json_t *object, void *to,
		   struct field_table table)
{
	const char *fault = NULL;
	int r = fields_get(object, to, table, NULL, &fault);

	return r == -EPROTO ? json_lines_complain(lines, fault) : r;
}

int json_lines_check_format(const struct json_lines *lines, const json_t *object,
			    const char *format)
{
	const json_t *schema = json_object_get(object, "schema");

	if (!json_has_text(object, "format", format))
		return json_lines_complain(lines, lines->words->no_format);
	if (!json_is_integer(schema))
		return json_lines_complain(lines, "it has no schema");
	return json_integer_value(schema) == SCHEMA
		       ? 0
		       : json_lines_complain(lines, lines->words->other_schema);
}

const char *host_name_fault(const void *name)
{
	return host_name_is_valid(name) ? NULL : "";
}

const char *plan_fault(const void *plan)
{
	return strspn(plan, "0123456789abcdef") == PLAN_DIGITS ? NULL : "";
}
