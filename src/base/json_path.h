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

#include <jansson.h>
#include <stddef.h>

#include "base/attributes.h"

/* Sets the member key, and key_base64 where needed. 0 or -ENOMEM.
 *
 * object	borrowed
 * path		borrowed, length bytes, need not be terminated
 */
MUST_CHECK int json_set_path(json_t *object, const char *key, const char *path, size_t length);

#endif
