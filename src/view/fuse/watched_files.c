/* SPDX-License-Identifier: MIT */
#include "view/fuse/watched_files.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sort.h"
#include "view/tree/node.h"

void watched_files_free(struct watched_files *files)
{
	free(files->list);
	*files = (struct watched_files){.count = 0};
}

static int by_inode(const void *a, const void *b)
{
	const struct watched_file *x = a, *y = b;
	int order = numbers_compare(node_inode(x->node), node_inode(y->node));

	return order ? order : numbers_compare(x->node, y->node);
}

/* Returns the place of the first file that does not precede this node. */
static size_t place_of(const struct watched_files *files, uint64_t node)
{
	const struct watched_file wanted = {.node = node};

	return sorted_place(&wanted, files->list, files->count, sizeof(wanted), by_inode);
}

struct watched_file *watched_files_find(const struct watched_files *files, uint64_t node)
{
	size_t at = place_of(files, node);

	return at < files->count && files->list[at].node == node ? &files->list[at] : NULL;
}

/* Appends the known file with this node, or a new one. A file whose watch had ended is examined
 * again, as it can have a new watch. */
static void append(struct watched_files *made, const struct watched_files *files, uint64_t node)
{
	const struct watched_file *known = watched_files_find(files, node);
	struct watched_file *file = &made->list[made->count++];

	*file = known ? *known : (struct watched_file){.node = node};
	file->changed |= file->ended;
}

/* Moves the nodes of folders to the beginning of the list. Returns their number. */
static size_t keep_folders(uint64_t *nodes, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (node_kind(nodes[i]) != NODE_FILE)
			nodes[kept++] = nodes[i];
	}
	return kept;
}

int watched_files_update(struct watched_files *files, uint64_t *nodes, size_t *count, bool all)
{
	size_t old = all ? 0 : files->count;
	struct watched_files made = {.list = calloc(*count + old + 1, sizeof(*made.list))};

	if (!made.list)
		return -ENOMEM;
	for (size_t i = 0; i < *count; i++) {
		if (node_kind(nodes[i]) == NODE_FILE)
			append(&made, files, nodes[i]);
	}
	for (size_t i = 0; i < old; i++) {
		const uint64_t *node = &files->list[i].node;

		if (*count == 0 || !bsearch(node, nodes, *count, sizeof(*node), numbers_by_value))
			made.list[made.count++] = files->list[i];
	}
	sort_unless_sorted(made.list, made.count, sizeof(*made.list), by_inode);
	*count = keep_folders(nodes, *count);
	free(files->list);
	*files = made;
	return 0;
}

void watched_files_note(struct watched_files *files, uint64_t inode)
{
	for (size_t i = place_of(files, inode);
	     i < files->count && node_inode(files->list[i].node) == inode; i++)
		files->list[i].changed = true;
}

void watched_files_take(struct watched_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		files->list[i].due |= files->list[i].changed;
		files->list[i].changed = false;
	}
}

size_t watched_files_count(const struct watched_files *files)
{
	size_t count = 0;

	for (size_t i = 0; i < files->count; i++)
		count += !files->list[i].ended;
	return count;
}
