/* SPDX-License-Identifier: MIT */
#include "plan/known_content.h"

#include <errno.h>
#include <string.h>

#include "catalog/query.h"

int known_content_differs(struct catalog_reader *reader, uint64_t kept, uint64_t copy, bool *differ)
{
	struct content_record a, b;
	int r = catalog_get_content(reader, kept, &a);

	*differ = false;
	if (r == 0)
		r = catalog_get_content(reader, copy, &b);
	if (r == 0)
		*differ = a.prefix != b.prefix ||
			  (a.group != 0 && b.group != 0 && a.group != b.group);
	return r == -ENOENT ? 0 : r;
}

int known_content_find(struct catalog_reader *reader, uint64_t file, struct group_record *group,
		       struct hash128 *hash)
{
	struct content_record content;
	int r = catalog_get_content(reader, file, &content);

	memset(group, 0, sizeof(*group));
	memset(hash, 0, sizeof(*hash));
	if (r == 0)
		*hash = content.hash;
	if (r == 0 && content.group != 0) {
		r = catalog_get_group(reader, content.group, group);
		*hash = group->hash;
	}
	return r == -ENOENT ? 0 : r;
}
