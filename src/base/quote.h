/* SPDX-License-Identifier: MIT */

/* Quotes file names for terminals. A name can have any bytes, but a message must neither move the
 * cursor nor hide parts of the name.
 *
 * Any thread; does not block, allocate or fail.
 */
#ifndef BASE_QUOTE_H
#define BASE_QUOTE_H

#include <stddef.h>

/* Returns a path in single quotes. Control bytes, bytes that are not UTF-8, single quotes and
 * backslashes become escapes such as \n, \x1b, \' and \\. Characters that are invisible, break the
 * line or change the direction of text become escapes such as \u202e. A path over about 4,000 bytes
 * is truncated and ends with "…".
 *
 * path	borrowed
 *
 * The result belongs to the calling thread, and is valid until this thread quotes four more paths.
 * So one message can show four paths.
 */
const char *quote_path(const char *path);

/* Quotes length bytes, which need no NUL at their end, like quote_path(). */
const char *quote_bytes(const char *bytes, size_t length);

#endif
