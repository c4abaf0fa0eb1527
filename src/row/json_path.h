/* SPDX-License-Identifier: MIT */
#ifndef ROW_JSON_PATH_H
#define ROW_JSON_PATH_H

/* Paths in JSON. JSON strings must be UTF-8, but a path can have any bytes.
 *
 * A path that is UTF-8 has one member, "path". For other paths, "path" is only for people: bytes
 * that are not UTF-8 are written as \xNN. An additional member "path_base64" has the exact bytes
 * (RFC 4648, with padding). Programs should use path_base64 if it is present, and path otherwise.
 *
 * Pure code, any thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/memory.h"

/* Sets the member key, and key_base64 if necessary. Returns 0 or -ENOMEM.
 *
 * object	borrowed
 * path		borrowed, length bytes, not necessarily terminated
 */
MUST_CHECK int json_set_path(json_t *object, const char *key, const char *path, size_t length);

/* Appends the path as "path" shows it. Sets *whole to whether the path is UTF-8, and thus
 * unchanged. Returns 0 or -ENOMEM. */
MUST_CHECK int readable_path_append(struct bytes *text, const char *path, size_t length,
				    bool *whole);

/* Appends the bytes of the path that json_set_path() wrote. Returns 0, -ENOENT if the object has no
 * such member, -EPROTO if the member is no path or both members are of different paths, or -ENOMEM.
 * On failure path is unchanged. */
MUST_CHECK int json_get_path(const json_t *object, const char *key, struct bytes *path);

/* As json_get_path(), for bytes without a NUL, which are copied into the memory. Also returns
 * -EPROTO if there is a NUL. */
MUST_CHECK int json_get_text(const json_t *object, const char *key, struct arena *memory,
			     const char **text);

#endif
