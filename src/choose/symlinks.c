/* SPDX-License-Identifier: MIT */
#include "choose/symlinks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/sort.h"
#include "base/stop.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"

/* A symlink by what its target ends with. */
struct named_link {
	uint64_t hash; /* of the last name in its target */
	uint64_t link; /* file id of the symlink */
	uint64_t target; /* file id of the file to which it leads; 0: none in the index */
	bool resolved; /* target is known */
};

/* A symlink by what it leads to: a file, or a folder above that, or a folder. */
struct known_link {
	uint64_t target; /* id of the file or directory */
	uint64_t link;
};

struct symlinks {
	struct catalog_reader *reader;
	const struct sources *sources;
	bool folders;
	struct named_link *named; /* sorted by hash; of files only */
	size_t named_count, named_capacity;
	struct known_link *known; /* sorted by target */
	size_t known_count, known_capacity;
	struct bytes found; /* ids of the symlinks to the current copy */
	struct bytes above_link, above_target; /* ids of directories */
};

void symlinks_free(struct symlinks *symlinks)
{
	if (!symlinks)
		return;
	free(symlinks->named);
	free(symlinks->known);
	bytes_free(&symlinks->found);
	bytes_free(&symlinks->above_link);
	bytes_free(&symlinks->above_target);
	free(symlinks);
}

/* ---- resolving ----------------------------------------------------------------------------- */

/* Opens what a symlink leads to (O_PATH). Returns a descriptor or -errno. */
static int open_target(const struct symlinks *symlinks, uint64_t link)
{
	struct catalog_reader *reader = symlinks->reader;
	struct file_record file;
	struct entry_record entry = {0};
	char name[NAME_BYTES_MAX + 1];
	AUTO_CLOSE int dir = -1;
	int r = catalog_get_file(reader, link, &file);

	if (r == 0 && file.names == 0)
		return -ENOENT;
	if (r == 0)
		r = catalog_entry_at(reader, file.dir, file.cookie, &entry);
	if (r != 0)
		return r;
	if (entry.name.length > NAME_BYTES_MAX)
		return -EUCLEAN;
	memcpy(name, entry.name.bytes, entry.name.length);
	name[entry.name.length] = '\0';
	dir = source_open_dir(symlinks->sources, reader, file.dir);
	return dir < 0 ? dir : open_followed(dir, name);
}

/* Sets *file to the id of the indexed file behind a descriptor, or to 0. */
static int identify_file(const struct symlinks *symlinks, int fd, uint64_t *file)
{
	struct attributes attributes;
	struct file_record record;
	int r = source_attributes(symlinks->sources->catalog, fd, &attributes);

	*file = 0;
	if (r < 0 || !S_ISREG(attributes.mode))
		return 0;
	r = catalog_find_inode(symlinks->reader, attributes.filesystem, attributes.inode, file);
	if (r < 0 || *file == 0)
		return r;
	r = catalog_get_file(symlinks->reader, *file, &record);
	if (r == 0 && attributes_same_inode(&record.attributes, &attributes))
		return 0;
	*file = 0;
	return r == -ENOENT ? 0 : r;
}

/* Follows a symlink in the index: a relative target whose folders are no symlinks. Returns 0,
 * -ENOENT if the kernel has to follow it, or another -errno. */
static int follow_in_index(const struct symlinks *symlinks, uint64_t link,
			   struct entry_record *entry)
{
	char text[TARGET_BYTES_MAX + 1];
	struct file_record file;
	struct file_record target;
	struct dir_record dir;
	struct name name;
	const char *path = text;
	int r = catalog_get_target(symlinks->reader, link, &name);

	if (r < 0 || name.length > TARGET_BYTES_MAX)
		return r < 0 ? r : -ENOENT;
	memcpy(text, name.bytes, name.length);
	text[name.length] = '\0';
	r = catalog_get_file_name(symlinks->reader, link, &file);
	dir.parent = file.dir;
	for (; r == 0 && strncmp(path, "../", 3) == 0; path += 3) {
		r = catalog_get_dir(symlinks->reader, dir.parent, &dir);
		if (r == 0 && dir.parent == 0)
			r = -ENOENT;
	}
	if (r == 0)
		r = catalog_find_path(symlinks->reader, dir.parent, path, entry);
	if (r < 0 || entry->kind == ENTRY_DIR)
		return r;
	if (entry->kind == ENTRY_FILE)
		r = catalog_get_file(symlinks->reader, entry->child, &target);
	if (r == 0 && (entry->kind != ENTRY_FILE || !S_ISREG(target.attributes.mode)))
		r = -ENOENT;
	return r;
}

/* Sets *target to the id of the file to which a symlink leads. A symlink that leads nowhere, or to
 * something that the index does not have, has none. */
static int resolve(const struct symlinks *symlinks, uint64_t link, uint64_t *target)
{
	struct entry_record entry = {0};
	AUTO_CLOSE int fd = -1;
	int r = follow_in_index(symlinks, link, &entry);

	*target = r == 0 && entry.kind == ENTRY_FILE ? entry.child : 0;
	if (r != -ENOENT)
		return r;
	fd = open_target(symlinks, link);
	if (fd < 0)
		return fd == -EUCLEAN || fd == -ENOMEM ? fd : 0;
	return identify_file(symlinks, fd, target);
}

/* Sets *dir to the id of the directory behind a descriptor, or to 0. Only paths in the sources are
 * known. */
static int identify_dir(struct symlinks *symlinks, int fd, uint64_t *dir)
{
	char path[PATH_MAX];
	struct attributes attributes;
	struct dir_record record;
	struct entry_record entry = {0};
	ssize_t length = readlink(fd_path(fd).text, path, sizeof(path) - 1);
	int r = source_attributes(symlinks->sources->catalog, fd, &attributes);

	*dir = 0;
	if (r < 0 || length < 0)
		return 0;
	path[length] = '\0';
	for (size_t i = 0; r == 0 && *dir == 0 && i < symlinks->sources->count; i++) {
		const struct source *source = &symlinks->sources->list[i];
		const char *rest = path_below(path, source->path);

		if (rest && !*rest)
			*dir = source->root;
		else if (rest &&
			 (r = catalog_find_path(symlinks->reader, source->root, rest, &entry)) == 0)
			*dir = entry.kind == ENTRY_DIR ? entry.child : 0;
		r = r == -ENOENT ? 0 : r;
	}
	if (r == 0 && *dir != 0)
		r = catalog_get_dir(symlinks->reader, *dir, &record);
	if (r == 0 && *dir != 0 && !attributes_same_inode(&record.attributes, &attributes))
		*dir = 0;
	return r;
}

/* ---- loading ------------------------------------------------------------------------------- */

static int add_known(struct symlinks *symlinks, uint64_t target, uint64_t link)
{
	int r = array_reserve(&symlinks->known, &symlinks->known_capacity,
			      symlinks->known_count + 1, sizeof(*symlinks->known));

	if (r == 0)
		symlinks->known[symlinks->known_count++] = (struct known_link){target, link};
	return r;
}

/* Lists a directory and those above it, from the root of the source downwards. */
static int list_above(struct symlinks *symlinks, uint64_t id, struct bytes *list)
{
	struct dir_record dir = {.parent = id};
	int r = 0;

	list->length = 0;
	while (r == 0 && dir.parent != 0) {
		r = bytes_append(list, &dir.parent, sizeof(dir.parent));
		if (r == 0)
			r = catalog_get_dir(symlinks->reader, dir.parent, &dir);
	}
	return r;
}

/* Returns an id of such a list by its depth; 0: the list is shorter. */
static uint64_t id_at(const struct bytes *list, size_t depth)
{
	size_t count = list->length / sizeof(uint64_t);

	return depth < count ? ((const uint64_t *)(const void *)list->data)[count - 1 - depth] : 0;
}

/* Adds a symlink to a directory and to all above it, but not to those that contain the symlink. */
static int add_above(struct symlinks *symlinks, uint64_t dir, uint64_t link)
{
	struct file_record file;
	uint64_t id;
	int r = catalog_get_file_name(symlinks->reader, link, &file);

	if (r == 0)
		r = list_above(symlinks, file.dir, &symlinks->above_link);
	if (r == 0)
		r = list_above(symlinks, dir, &symlinks->above_target);
	for (size_t i = 0; r == 0 && (id = id_at(&symlinks->above_target, i)) != 0; i++) {
		if (id != id_at(&symlinks->above_link, i))
			r = add_known(symlinks, id, link);
	}
	return r;
}

/* Adds a symlink to the folders that contain a file. */
static int add_above_file(struct symlinks *symlinks, uint64_t id, uint64_t link)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	uint64_t dir, cookie;
	int r = catalog_get_file(symlinks->reader, id, &file);

	if (r == 0)
		r = catalog_scan_names(symlinks->reader, &file, &scan);
	while (r == 0 && (r = catalog_next_name(scan, &dir, &cookie)) == 0)
		r = add_above(symlinks, dir, link);
	return r == -ENOENT ? 0 : r;
}

/* Adds a symlink to the folders that contain what it leads to. */
static int add_to_folders(struct symlinks *symlinks, uint64_t link)
{
	struct entry_record entry = {0};
	AUTO_CLOSE int fd = -1;
	uint64_t target = 0;
	int r = follow_in_index(symlinks, link, &entry);

	if (r == 0 && entry.kind == ENTRY_DIR)
		return add_above(symlinks, entry.child, link);
	if (r != -ENOENT)
		return r < 0 ? r : add_above_file(symlinks, entry.child, link);
	fd = open_target(symlinks, link);
	if (fd < 0)
		return fd == -EUCLEAN || fd == -ENOMEM ? fd : 0;
	r = identify_dir(symlinks, fd, &target);
	if (r < 0 || target)
		return r < 0 ? r : add_above(symlinks, target, link);
	r = identify_file(symlinks, fd, &target);
	return r < 0 || !target ? r : add_above_file(symlinks, target, link);
}

/* Returns the length of the deepest folder that contains both paths, with its slash. */
static size_t common_folder(const char *a, const char *b)
{
	size_t length = 0;

	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		length = a[i] == '/' ? i + 1 : length;
	return length;
}

/* Returns whether a path beside a source is that of a symlink. From the folder that contains both,
 * enters no other mount, which possibly does not answer. */
static bool is_symlink_beside(const char *path, const char *source)
{
	AUTO_CLOSE int folder = -1, fd = -1;
	size_t length = common_folder(path, source);
	AUTO_FREE char *above = strndup(path, length);
	struct stat status;

	folder = above ? open(above, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	path += length;
	fd = folder < 0 || !*path ? -1 : open_beneath(folder, path, O_PATH, false);
	return fd >= 0 && fstat(fd, &status) == 0 && S_ISLNK(status.st_mode);
}

/* Returns whether a target is the absolute path of another symlink outside of the sources, as those
 * in /etc/alternatives are. */
static bool leads_to_symlink_outside(const struct symlinks *symlinks, const char *target)
{
	const struct sources *sources = symlinks->sources;
	bool is_link = false;

	if (target[0] != '/')
		return false;
	for (size_t i = 0; i < sources->count; i++) {
		if (path_below(target, sources->list[i].path))
			return false;
	}
	for (size_t i = 0; !is_link && i < sources->count; i++)
		is_link = is_symlink_beside(target, sources->list[i].path);
	return is_link;
}

static uint64_t hash_name(const char *name, size_t length)
{
	return hash64(name, length, 0);
}

static int add_to_names(struct symlinks *symlinks, uint64_t link, const char *target, size_t length)
{
	const char *slash = memrchr(target, '/', length);
	size_t start = slash ? (size_t)(slash - target) + 1 : 0;
	int r = array_reserve(&symlinks->named, &symlinks->named_capacity,
			      symlinks->named_count + 1, sizeof(*symlinks->named));

	if (r == 0)
		symlinks->named[symlinks->named_count++] =
			(struct named_link){.hash = hash_name(target + start, length - start),
					    .link = link};
	return r;
}

static int add_link(struct symlinks *symlinks, uint64_t link, const struct name *target)
{
	char text[TARGET_BYTES_MAX + 1];
	uint64_t file = 0;
	int r;

	if (stop_requested())
		return -EINTR;
	if (symlinks->folders)
		return add_to_folders(symlinks, link);
	if (target->length == 0 || target->length > TARGET_BYTES_MAX)
		return 0;
	r = add_to_names(symlinks, link, target->bytes, target->length);
	memcpy(text, target->bytes, target->length);
	text[target->length] = '\0';
	if (r == 0 && leads_to_symlink_outside(symlinks, text))
		r = resolve(symlinks, link, &file);
	return r < 0 || !file ? r : add_known(symlinks, file, link);
}

static int by_hash(const void *a, const void *b)
{
	const struct named_link *x = a, *y = b;

	return numbers_compare(x->hash, y->hash);
}

static int by_target(const void *a, const void *b)
{
	const struct known_link *x = a, *y = b;
	int order = numbers_compare(x->target, y->target);

	return order ? order : numbers_compare(x->link, y->link);
}

static int load(struct symlinks *symlinks)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct name target;
	uint64_t link;
	int r = catalog_scan_targets(symlinks->reader, &scan);

	while (r == 0 && (r = catalog_next_target(scan, &link, &target)) == 0)
		r = add_link(symlinks, link, &target);
	if (r != -ENOENT)
		return r;
	sort_unless_sorted(symlinks->named, symlinks->named_count, sizeof(*symlinks->named),
			   by_hash);
	sort_unless_sorted(symlinks->known, symlinks->known_count, sizeof(*symlinks->known),
			   by_target);
	return 0;
}

int symlinks_new(struct symlinks **symlinks, struct catalog_reader *reader,
		 const struct sources *sources, bool folders)
{
	int r;

	*symlinks = calloc(1, sizeof(**symlinks));
	if (!*symlinks)
		return -ENOMEM;
	**symlinks = (struct symlinks){.reader = reader, .sources = sources, .folders = folders};
	r = load(*symlinks);
	if (r < 0) {
		symlinks_free(*symlinks);
		*symlinks = NULL;
	}
	return r;
}

void symlinks_continue(struct symlinks *symlinks, struct catalog_reader *reader)
{
	symlinks->reader = reader;
}

/* ---- finding ------------------------------------------------------------------------------- */

/* Adds a symlink that leads to the current copy, once. */
static int add_found(struct symlinks *symlinks, uint64_t link)
{
	const uint64_t *found = (const void *)symlinks->found.data;

	for (size_t i = 0; i < symlinks->found.length / sizeof(link); i++) {
		if (found[i] == link)
			return 0;
	}
	return bytes_append(&symlinks->found, &link, sizeof(link));
}

/* Returns the number of the first member of a sorted list that has this key or a higher one. The
 * key is the first field. */
static size_t find_first(const void *list, size_t count, size_t size, uint64_t key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t found;

		memcpy(&found, (const uint8_t *)list + middle * size, sizeof(found));
		if (found < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Adds the symlinks to a file whose targets end with a name. */
static int find_named(struct symlinks *symlinks, uint64_t file, const char *name, size_t length)
{
	uint64_t hash = hash_name(name, length);
	size_t i =
		find_first(symlinks->named, symlinks->named_count, sizeof(*symlinks->named), hash);
	int r = 0;

	for (; r == 0 && i < symlinks->named_count && symlinks->named[i].hash == hash; i++) {
		struct named_link *link = &symlinks->named[i];

		if (!link->resolved)
			r = resolve(symlinks, link->link, &link->target);
		link->resolved = true;
		if (r == 0 && link->target == file)
			r = add_found(symlinks, link->link);
	}
	return r;
}

/* Adds the symlinks that are known to lead to a file or folder. */
static int find_known(struct symlinks *symlinks, uint64_t target)
{
	size_t i = find_first(symlinks->known, symlinks->known_count, sizeof(*symlinks->known),
			      target);
	int r = 0;

	for (; r == 0 && i < symlinks->known_count && symlinks->known[i].target == target; i++)
		r = add_found(symlinks, symlinks->known[i].link);
	return r;
}

/* Adds the symlinks to the symlink of this number in the list. */
static int find_chain(struct symlinks *symlinks, uint64_t file, size_t number)
{
	uint64_t link = ((const uint64_t *)(const void *)symlinks->found.data)[number];
	struct file_record record;
	struct entry_record entry = {0};
	int r = catalog_get_file(symlinks->reader, link, &record);

	if (r == 0)
		r = catalog_entry_at(symlinks->reader, record.dir, record.cookie, &entry);
	return r != 0 ? r : find_named(symlinks, file, entry.name.bytes, entry.name.length);
}

/* Finds the symlinks to the copy with the names [first, end). */
static int find_links(struct symlinks *symlinks, const struct copies *copies, size_t first,
		      size_t end)
{
	uint64_t file = copies->list[first].file;
	int r = find_known(symlinks, file);

	if (copies->folders)
		return r;
	for (size_t i = first; r == 0 && i < end; i++) {
		const char *name = path_base_name(copy_path(copies, &copies->list[i]));

		r = find_named(symlinks, file, name, strlen(name));
	}
	for (size_t i = 0; r == 0 && i < symlinks->found.length / sizeof(uint64_t); i++)
		r = find_chain(symlinks, file, i);
	return r;
}

/* Appends the absolute path of a symlink to the paths of the copies. */
static int append_path(const struct symlinks *symlinks, uint64_t link, struct copies *copies)
{
	struct file_record file;
	int r = catalog_get_file(symlinks->reader, link, &file);

	if (r == 0)
		r = source_entry_path(symlinks->sources, symlinks->reader, file.dir, file.cookie,
				      &copies->paths);
	return r < 0 ? r : bytes_append(&copies->paths, "", 1);
}

int symlinks_find(struct symlinks *symlinks, struct copies *copies)
{
	int r = 0;

	if (symlinks->named_count + symlinks->known_count == 0)
		return 0;
	for (size_t i = 0, end; r == 0 && i < copies->count; i = end) {
		struct copy *copy = &copies->list[i];
		size_t count;

		end = copies_inode_end(copies, i);
		symlinks->found.length = 0;
		r = find_links(symlinks, copies, i, end);
		count = symlinks->found.length / sizeof(uint64_t);
		copy->symlinks = count;
		copy->symlink_paths = copies->paths.length;
		for (size_t j = 0; r == 0 && j < count; j++)
			r = append_path(symlinks,
					((const uint64_t *)(const void *)symlinks->found.data)[j],
					copies);
	}
	return r == -ENOENT ? -EUCLEAN : r;
}
