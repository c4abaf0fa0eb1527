/* SPDX-License-Identifier: MIT */
#ifndef VIEW_CONTROL_JSON_H
#define VIEW_CONTROL_JSON_H

/* Members of the JSON objects in .twinfs/. Pure code, any thread. Each function returns 0 or
 * -errno. */

#include <stdint.h>
#include <time.h>

#include <jansson.h>

#include "base/attributes.h"
#include "base/bytes.h"

MUST_CHECK int control_json_set_text(json_t *object, const char *key, const char *text);
MUST_CHECK int control_json_set_number(json_t *object, const char *key, uint64_t number);

/* Sets a time as text: ISO 8601 in UTC, to the second. */
MUST_CHECK int control_json_set_time(json_t *object, const char *key, struct timespec time);

/* Sets a time to the millisecond. */
MUST_CHECK int control_json_set_time_ms(json_t *object, const char *key, struct timespec time);

/* Appends an object as text (flags of json_dumps) and a newline. */
MUST_CHECK int control_json_append(struct bytes *content, const json_t *object, size_t flags);

#endif
