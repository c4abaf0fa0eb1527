/* SPDX-License-Identifier: MIT */
#include "row/json_xattrs.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "row/json_path.h"

static json_t *xattr_object(const struct xattr *xattr)
{
	CLEANUP_BYTES struct bytes text = {0};
	json_t *object = json_object();
	int r = object ? 0 : -ENOMEM;

	if (r == 0)
		r = json_set_path(object, "name", xattr->name, strlen(xattr->name));
	if (r == 0)
		r = base64_encode(&text, xattr->value, xattr->length);
	if (r == 0 && !bytes_text(&text))
		r = -ENOMEM;
	if (r == 0)
		r = json_object_set_new(object, "value_base64", json_string(bytes_text(&text)));
	if (r == 0)
		return object;
	json_decref(object);
	return NULL;
}

int json_set_xattrs(json_t *object, const struct xattrs *xattrs)
{
	json_t *list;

	if (xattrs->count == 0)
		return 0;
	list = json_array();
	if (json_object_set_new(object, "xattrs", list) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < xattrs->count; i++) {
		if (json_array_append_new(list, xattr_object(&xattrs->list[i])) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int get_xattr(const json_t *object, struct xattrs *xattrs)
{
	CLEANUP_BYTES struct bytes name = {0};
	CLEANUP_BYTES struct bytes value = {0};
	const json_t *text = json_object_get(object, "value_base64");
	int r = json_get_path(object, "name", &name);

	if (r == 0)
		r = json_is_string(text) ? base64_decode(&value, json_string_value(text),
							 json_string_length(text))
					 : -EPROTO;
	if (r == 0 && (name.length == 0 || memchr(name.data, '\0', name.length)))
		r = -EPROTO;
	if (r == 0 && (!bytes_text(&name) || !bytes_text(&value)))
		r = -ENOMEM;
	if (r == 0)
		r = xattrs_add(xattrs, bytes_text(&name), value.data, value.length);
	return r < 0 && r != -ENOMEM ? -EPROTO : r;
}

int json_get_xattrs(const json_t *object, struct xattrs *xattrs)
{
	const json_t *list = json_object_get(object, "xattrs");
	int r = 0;

	if (list && !json_is_array(list))
		return -EPROTO;
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++)
		r = get_xattr(json_array_get(list, i), xattrs);
	return r;
}
