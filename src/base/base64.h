/* SPDX-License-Identifier: MIT */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

/* Any bytes as text (RFC 4648, section 4, with padding). Pure code, any thread. */

#include <stddef.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* Appends the text for length bytes of data. 0 or -ENOMEM. */
MUST_CHECK int base64_encode(struct bytes *text, const void *data, size_t length);

/* Appends the bytes that length characters of text stand for. 0, -EPROTO where that is no base64,
 * or -ENOMEM; data is unchanged then. */
MUST_CHECK int base64_decode(struct bytes *data, const char *text, size_t length);

#endif
