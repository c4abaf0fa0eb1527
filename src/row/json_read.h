/* SPDX-License-Identifier: MIT */
#ifndef ROW_JSON_READ_H
#define ROW_JSON_READ_H

#include <stddef.h>

#include <jansson.h>

#include "base/attributes.h"

/* Calls json_loadb(). If memory is short, json_loadb() damages the heap (seen with jansson 2.14),
 * so the process logs an error and exits instead. Any thread. */
MUST_CHECK json_t *json_read(const char *text, size_t length, size_t flags);

#endif
