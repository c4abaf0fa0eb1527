/* SPDX-License-Identifier: MIT */

/* Names made fit for a terminal: any bytes may be a file's name, and a message
 * must neither move the cursor nor hide what the name is.
 *
 * Any thread; nothing blocks, nothing is allocated, nothing fails.
 */
#ifndef BASE_QUOTE_H
#define BASE_QUOTE_H

#include <stddef.h>

/* A path in single quotes. Control bytes, bytes that are not UTF-8, quotes and
 * backslashes stand as \n, \x1b, \', \\; characters that are invisible, break the
 * line or turn the direction of text as \u202e. Past about 4,000 bytes it is cut
 * and ends with "…".
 *
 * path		borrowed
 *
 * The result belongs to the calling thread and holds until its fourth next call,
 * so one message can show four paths.
 */
const char *quote_path(const char *path);

/* The same for length bytes that need no NUL at their end. */
const char *quote_bytes(const char *bytes, size_t length);

#endif
