/* SPDX-License-Identifier: MIT */
#include "index/extents.h"

#include <errno.h>

#include "index/handle.h"
#include "index/store/store.h"
#include "index/store/value.h"

bool catalog_maps_extents(struct catalog *catalog, const struct attributes *attributes)
{
	return attributes->size > EXTENTS_UNMAPPED_MAX &&
	       filesystems_may_share(&catalog->filesystems, attributes);
}

bool catalog_maps_file(struct catalog *catalog, const struct file_record *file)
{
	return file_is_held_outside(file) || catalog_maps_extents(catalog, &file->attributes);
}

bool catalog_shares_extents(struct catalog *catalog, uint32_t filesystem)
{
	/* a file without holes has to be mapped only if it can share extents */
	return filesystems_may_share(&catalog->filesystems,
				     &(struct attributes){.filesystem = filesystem});
}

int catalog_next_unmapped(struct catalog_reader *r, uint64_t after, struct unmapped_group *unmapped)
{
	struct key key = key_number(after + 1);
	struct record_span found;
	int result = store_seek(r, TABLE_UNMAPPED, &key, 0, &found);

	*unmapped = (struct unmapped_group){0};
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	return key_get_number(found.key, &unmapped->group) &&
			       decode_number(found.fields, &unmapped->due)
		       ? 0
		       : -EUCLEAN;
}

int catalog_get_extents(struct catalog_reader *r, uint64_t file, struct extent_record *extents)
{
	struct key key = key_number(file);
	struct span fields;
	int result = store_get(r, TABLE_EXTENT, &key, &fields);

	if (result < 0)
		return result;
	return decode_extents(fields, extents) ? 0 : -EUCLEAN;
}
