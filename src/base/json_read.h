/* SPDX-License-Identifier: MIT */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include <stddef.h>

#include <jansson.h>

#include "base/attributes.h"

/* json_loadb, which damages the heap where it gets no memory (seen with jansson 2.14): the process
 * ends instead, and says why. Any thread. */
MUST_CHECK json_t *json_read(const char *text, size_t length, size_t flags, json_error_t *error);

#endif
