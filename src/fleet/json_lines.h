/* SPDX-License-Identifier: MIT */
#ifndef FLEET_JSON_LINES_H
#define FLEET_JSON_LINES_H

/* Reads JSON lines from elsewhere: one object in each line of at most LINE_BYTES_MAX bytes. For one
 * thread at a time. */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attributes.h"
#include "base/sha256.h"
#include "fleet/host_name.h"
#include "fleet/line_reader.h"

/* What the messages say about the lines; all texts are borrowed. */
struct json_lines_words {
	const char *noun; /* "the keep list" */
	const char *remedy; /* "nothing was read; make the list again with ..." */
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
#define CLEANUP_JSON_LINES CLEANUP(json_lines_deinit)

/* Reads the next object, which the caller frees. Returns 0; LINE_END; -EPROTO, logged, if the line
 * has no object; -EINTR if stop_requested(); or another -errno, logged except -ENOMEM. If the
 * result is not 0, *object is NULL. */
MUST_CHECK int json_lines_next(struct json_lines *lines, json_t **object);

/* Reads the first line. Returns as json_lines_next(), but a file without lines is -EPROTO, too. */
MUST_CHECK int json_lines_head(struct json_lines *lines, json_t **object);

/* Reads one row, which is borrowed. Returns 0, or a failure that ends the reading. */
typedef int json_row_fn(void *context, const json_t *row);

/* Reads the lines to the end, of which line 1 said how many there are. Returns 0; -EPROTO, logged;
 * the first failure of read(); or another failure as json_lines_next(). */
MUST_CHECK int json_lines_rows(struct json_lines *lines, uint64_t rows, json_row_fn *read,
			       void *context);

/* Logs what is wrong with a line, or with the line that was read last. Returns -EPROTO. */
int json_lines_complain_of(const struct json_lines *lines, uint64_t line, const char *fault);
int json_lines_complain(const struct json_lines *lines, const char *fault);

/* Members of an object. Each function returns false if the member is missing or of another form.
 * Pure code. */

/* Gets a number that is not negative. */
MUST_CHECK bool json_get_count(const json_t *object, const char *key, uint64_t *number);

/* Gets a time of the form "2026-11-26T01:27:01Z", in seconds since 1970. */
MUST_CHECK bool json_get_time(const json_t *object, const char *key, int64_t *seconds);

MUST_CHECK bool json_get_sha256(const json_t *object, const char *key,
				uint8_t sha256[SHA256_BYTES]);
MUST_CHECK bool json_get_host(const json_t *object, const char *key,
			      char host[HOST_NAME_BYTES_MAX + 1]);

/* Number of digits of a plan, which names the lists that were made together. */
#define PLAN_DIGITS 32
MUST_CHECK bool json_get_plan(const json_t *object, char plan[PLAN_DIGITS + 1]);

/* Returns whether the member is this text. */
MUST_CHECK bool json_has_text(const json_t *object, const char *key, const char *text);

#endif
