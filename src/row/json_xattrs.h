/* SPDX-License-Identifier: MIT */
#ifndef ROW_JSON_XATTRS_H
#define ROW_JSON_XATTRS_H

/* Extended attributes in JSON: a member "xattrs", a list of objects with the members "name", by the
 * rule of row/json_path.h, and "value_base64". Without attributes there is no such member. Pure
 * code, any thread. */

#include <jansson.h>

#include "base/attributes.h"
#include "base/xattrs.h"

/* Sets the member "xattrs". Returns 0 or -ENOMEM. */
MUST_CHECK int json_set_xattrs(json_t *object, const struct xattrs *xattrs);

/* Adds the attributes that json_set_xattrs() wrote. Returns 0, -EPROTO if one is invalid or
 * repeated, or -ENOMEM. */
MUST_CHECK int json_get_xattrs(const json_t *object, struct xattrs *xattrs);

#endif
