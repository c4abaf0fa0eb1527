/* SPDX-License-Identifier: MIT */
#ifndef BASE_JSON_TEXT_H
#define BASE_JSON_TEXT_H

#include <stddef.h>

#include <jansson.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* Appends JSON as text, with the flags of json_dumps(). Returns 0, or -ENOMEM and leaves text as it
 * was. jansson itself ignores a failure to write the name of a member (seen with 2.14), and would
 * go on with the next piece. Any thread. */
MUST_CHECK int json_append(struct bytes *text, const json_t *value, size_t flags);

#endif
