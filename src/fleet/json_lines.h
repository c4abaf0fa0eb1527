/* SPDX-License-Identifier: MIT */
#ifndef FLEET_JSON_LINES_H
#define FLEET_JSON_LINES_H

/* Reads JSON lines from elsewhere: one object in each line of at most LINE_BYTES_MAX bytes. For one
 * thread at a time. */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attributes.h"
#include "row/fields.h"
#include "row/line_reader.h"

/* ---- host name ------------------------------------------------------------------------------ */

/* Names of hosts in a fleet. Pure code, any thread. */

/* Maximum length of a name in bytes, without the NUL. */
#define HOST_NAME_BYTES_MAX 64

/* Rule of the names, for messages. */
#define HOST_NAME_RULE \
	"1 to 64 letters, digits, dots, underscores and hyphens, with a letter or digit first"

/* Returns whether the text is a name of a host: HOST_NAME_RULE, in ASCII. So a name can be the name
 * of a file. */
bool host_name_is_valid(const char *name);

/* ---- json lines ----------------------------------------------------------------------------- */

/* Maximum length of a line in bytes, with its end. A path of 4,095 bytes that are no UTF-8 needs 22
 * KiB. */
#define LINE_BYTES_MAX ((size_t)64 << 10)

/* What the messages say about the lines; all texts are borrowed. */
struct json_lines_words {
	const char *noun; /* "the keep list" */
	const char *remedy; /* "nothing was read; make the list again with ..." */
	const char *no_format; /* "it does not begin such a list" */
	const char *other_schema; /* "the list has another schema than ... */
};

struct json_lines {
	const char *file; /* path, borrowed, for messages */
	const struct json_lines_words *words; /* borrowed */
	struct line_reader lines;
};

/* Begins to read an open file. Returns 0 or -ENOMEM. The caller must call json_lines_deinit() in
 * all cases.
 *
 * fd		borrowed
 */
MUST_CHECK int json_lines_init(struct json_lines *lines, int fd, const char *file,
			       const struct json_lines_words *words);
void json_lines_deinit(struct json_lines *lines);

/* Outcome of json_lines_form.head: the other lines are not needed. */
enum {
	JSON_LINES_SKIPPED = 1,
};

/* What takes the lines of a file. Both functions borrow the object, and return 0, or a failure that
 * ends the reading. */
struct json_lines_form {
	/* Takes line 1, and sets *rows to the number of lines that follow it. Returns
	 * JSON_LINES_SKIPPED, too. */
	int (*head)(void *context, const json_t *object, uint64_t *rows);
	int (*row)(void *context, const json_t *object);
};

/* Reads the lines of a file to its end. Returns 0; JSON_LINES_SKIPPED; -EPROTO, logged; the first
 * failure of head() or row(); -EINTR if stop_requested(); or another -errno, logged except
 * -ENOMEM. */
MUST_CHECK int json_lines_read(struct json_lines *lines, const struct json_lines_form *form,
			       void *context);

/* Logs what is wrong with a line, or with the line that was read last. Returns -EPROTO. */
int json_lines_complain_of(const struct json_lines *lines, uint64_t line, const char *fault);
int json_lines_complain(const struct json_lines *lines, const char *fault);

/* Gets the fields of an object, as fields_get(). Logs -EPROTO. */
MUST_CHECK int json_lines_get(const struct json_lines *lines, const json_t *object, void *to,
			      struct field_table table);

/* Checks that the first line says the format and the schema. Returns 0, or -EPROTO, logged. */
MUST_CHECK int json_lines_check_format(const struct json_lines *lines, const json_t *object,
				       const char *format);

/* Fields of these lines. */

#define FIELD_HOST(structure, member, name)                                           \
	FIELD(structure, member, name, FIELD_TEXT), .count = HOST_NAME_BYTES_MAX + 1, \
						    .required = true, .check = host_name_fault

/* Number of digits of a plan, which names the lists that were made together. */
#define PLAN_DIGITS 32
#define FIELD_PLAN(structure, member)                                                             \
	FIELD(structure, member, "plan", FIELD_TEXT), .count = PLAN_DIGITS + 1, .required = true, \
						      .check = plan_fault,                        \
						      .fault = "it has no valid plan"

const char *host_name_fault(const void *name);
const char *plan_fault(const void *plan);

#endif
