/* SPDX-License-Identifier: MIT */
#include "catalog/inodes.h"

#include <errno.h>
#include <string.h>

#include "store/store.h"
#include "store/value.h"

static bool is_empty(const struct inode_block *block)
{
	for (size_t i = 0; i < INODE_BLOCK_NUMBERS; i++) {
		if (block->files[i])
			return false;
	}
	return true;
}

int inodes_flush(struct catalog_writer *w, struct inode_cursor *cursor)
{
	if (!cursor->changed)
		return 0;
	cursor->changed = false;
	if (is_empty(&cursor->block))
		return store_forget(&w->store, TABLE_BYKEY, &cursor->key);
	return store_put(&w->store, TABLE_BYKEY, &cursor->key, encode_inodes(&cursor->block));
}

static int load(struct catalog_writer *w, struct inode_cursor *cursor, const struct key *key)
{
	struct span fields;
	int r = inodes_flush(w, cursor);

	cursor->loaded = false;
	cursor->key = *key;
	cursor->block = (struct inode_block){0};
	if (r == 0)
		r = store_get(&w->store.reader, TABLE_BYKEY, key, &fields);
	if (r == 0 && !decode_inodes(fields, &cursor->block))
		r = -EUCLEAN;
	if (r < 0 && r != -ENOENT)
		return r;
	cursor->loaded = true;
	return 0;
}

int inodes_seek(struct catalog_writer *w, struct inode_cursor *cursor,
		const struct attributes *attributes, uint64_t **file)
{
	struct key key = key_pair(attributes->filesystem, attributes->inode / INODE_BLOCK_NUMBERS);
	bool same = cursor->loaded && key.length == cursor->key.length &&
		    memcmp(key.data, cursor->key.data, key.length) == 0;
	int r = same ? 0 : load(w, cursor, &key);

	*file = &cursor->block.files[attributes->inode % INODE_BLOCK_NUMBERS];
	return r;
}
