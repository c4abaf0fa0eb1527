/* SPDX-License-Identifier: MIT */
#include "fleet/json_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "row/json_read.h"

int json_lines_init(struct json_lines *lines, int fd, const char *file,
		    const struct json_lines_words *words)
{
	*lines = (struct json_lines){.file = file, .words = words};
	return line_reader_init(&lines->lines, fd, false);
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

int json_lines_next(struct json_lines *lines, json_t **object)
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

int json_lines_head(struct json_lines *lines, json_t **object)
{
	int r = json_lines_next(lines, object);

	return r == LINE_END ? json_lines_complain_of(lines, 1, "the file is empty") : r;
}

int json_lines_rows(struct json_lines *lines, uint64_t rows, json_row_fn *read, void *context)
{
	json_t *row;
	uint64_t count = 0;
	int r = 0;

	while (r == 0) {
		r = json_lines_next(lines, &row);
		if (r == 0 && count++ == rows)
			r = json_lines_complain(lines, "there are more rows than line 1 says");
		if (r == 0)
			r = read(context, row);
		json_decref(row);
	}
	if (r == LINE_END)
		r = count < rows
			    ? json_lines_complain(lines, "there are fewer rows than line 1 says")
			    : 0;
	return r;
}

bool json_get_count(const json_t *object, const char *key, uint64_t *number)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*number = (uint64_t)json_integer_value(value);
	return true;
}

/* strptime(3) also accepts 30 February, and numbers with fewer digits. */
bool json_get_time(const json_t *object, const char *key, int64_t *seconds)
{
	const char *text = json_string_value(json_object_get(object, key));
	char again[CLOCK_TEXT_MAX];
	struct tm parts = {0};
	struct timespec time = {0};
	const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts) : NULL;

	if (!end || *end != '\0')
		return false;
	time.tv_sec = timegm(&parts);
	if (clock_format_utc(again, time) < 0 || strcmp(again, text) != 0)
		return false;
	*seconds = time.tv_sec;
	return true;
}

bool json_get_sha256(const json_t *object, const char *key, uint8_t sha256[SHA256_BYTES])
{
	const char *digits = json_string_value(json_object_get(object, key));

	return digits && sha256_parse(digits, sha256);
}

bool json_get_host(const json_t *object, const char *key, char host[HOST_NAME_BYTES_MAX + 1])
{
	const char *name = json_string_value(json_object_get(object, key));

	if (!name || !host_name_is_valid(name))
		return false;
	memcpy(host, name, strlen(name) + 1);
	return true;
}

bool json_get_plan(const json_t *object, char plan[PLAN_DIGITS + 1])
{
	const char *digits = json_string_value(json_object_get(object, "plan"));

	if (!digits || strlen(digits) != PLAN_DIGITS ||
	    strspn(digits, "0123456789abcdef") != PLAN_DIGITS)
		return false;
	memcpy(plan, digits, PLAN_DIGITS + 1);
	return true;
}

bool json_has_text(const json_t *object, const char *key, const char *text)
{
	const char *found = json_string_value(json_object_get(object, key));

	return found && strcmp(found, text) == 0;
}
