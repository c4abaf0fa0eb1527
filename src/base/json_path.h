/* SPDX-License-Identifier: MIT */
#ifndef BASE_JSON_PATH_H
#define BASE_JSON_PATH_H

/* Paths in JSON, whose strings must be UTF-8 while a path may be any bytes.
 *
 * A path that is UTF-8 is one member, "path". For another one "path" is readable only, its bytes
 * that are not UTF-8 shown as \xNN, and "path_base64" beside it has the bytes themselves (RFC
 * 4648, with padding). A program takes path_base64 where it is there, else path.
 *
 * Pure code, any thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* Sets the member key, and key_base64 where needed. 0 or -ENOMEM.
 *
 * object	borrowed
 * path		borrowed, length bytes, need not be terminated
 */
MUST_CHECK int json_set_path(json_t *object, const char *key, const char *path, size_t length);

/* The readable form itself, for other formats, and whether that is the path as it is. Appends. 0 or
 * -ENOMEM. */
MUST_CHECK int readable_path_append(struct bytes *text, const char *path, size_t length,
				    bool *whole);

/* Appends the path's bytes: what json_set_path() was given. 0, -ENOENT where the object has no such
 * member, -EPROTO where it is no path, or -ENOMEM; path is unchanged then. */
MUST_CHECK int json_get_path(const json_t *object, const char *key, struct bytes *path);

#endif
