/* SPDX-License-Identifier: MIT */
#include "daemon/linked_files.h"

#include <errno.h>
#include <string.h>

#include "catalog/query.h"

static int note_file(const struct sources *sources, struct catalog_reader *reader,
		     const struct name_events *changed, struct recheck_inbox *inbox)
{
	struct dir_record root;
	uint64_t inode, file = 0;
	int r = catalog_get_dir(reader, sources->list[changed->dir - 1].root, &root);

	memcpy(&inode, changed->name, sizeof(inode));
	if (r == 0)
		r = catalog_find_inode(reader, root.attributes.filesystem, inode, &file);
	if (r == 0 && file)
		recheck_inbox_add_file(inbox, file, changed->events);
	return r == -ENOENT ? 0 : r;
}

int linked_files_note(const struct sources *sources, const struct event_set *inodes,
		      struct recheck_inbox *inbox)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	AUTO_FREE const struct name_events **list = NULL;
	size_t count;
	int r;

	if (inodes->count == 0)
		return 0;
	r = event_set_list(inodes, &list, &count);
	if (r == 0)
		r = catalog_read_begin(sources->catalog, &reader);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = note_file(sources, reader, list[i], inbox);
	return r;
}
