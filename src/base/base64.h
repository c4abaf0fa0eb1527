/* SPDX-License-Identifier: MIT */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

/* Base64 (RFC 4648, section 4, with padding). Pure code, any thread. */

#include <stddef.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* Appends the base64 text of length bytes of data. Returns 0 or -ENOMEM. */
MUST_CHECK int base64_encode(struct bytes *text, const void *data, size_t length);

/* Decodes length characters of text and appends the bytes. Returns 0, -EPROTO if text is not
 * base64, or -ENOMEM. On failure data is unchanged. */
MUST_CHECK int base64_decode(struct bytes *data, const char *text, size_t length);

#endif
