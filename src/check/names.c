/* SPDX-License-Identifier: MIT */
#include "check/names.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/descriptor.h"
#include "base/filesystem_kind.h"
#include "base/stop.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "source/source.h"

/* An index of which so much is wrong is of no use, and each of them takes memory. */
#define DIFFERENCES_MAX ((size_t)100000)

/* A difference is there so often: the kernel changes a file first, and tells of it a moment later,
 * which is long where who changes it has to wait for the processor. */
#define DENIALS_MIN 3

void name_differences_free(struct name_differences *differences)
{
	free(differences->list);
	bytes_free(&differences->paths);
	*differences = (struct name_differences){0};
}

/* Do they say the same? Blocks are given to a file some time after it was written, of which no time
 * stamp tells. */
static bool is_same(const struct attributes *indexed, const struct attributes *now)
{
	struct attributes expected = *indexed;

	expected.blocks = now->blocks;
	return attributes_equal(&expected, now);
}

/* ---- the disk ------------------------------------------------------------------------ */

/* What stands at a path. */
struct look {
	bool is_there;
	struct attributes attributes;
	/* It changes with what stands there, or, where nothing does, with the directory: a name may
	 * come and go between two looks. */
	uint64_t digest;
};

static struct look look_at(const struct sources *sources, uint32_t source, const char *path)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *above = strndup(path, slash ? (size_t)(slash - path) : 0);
	struct look look = {.is_there = false};
	AUTO_CLOSE int fd = -1;

	if (above)
		fd = open_beneath(sources->list[source].fd, above, O_PATH | O_DIRECTORY,
				  sources->cross_mounts);
	if (fd < 0)
		return look;
	if (path[0] == '\0')
		look.is_there = source_attributes(sources->catalog, fd, &look.attributes) == 0;
	else
		look.is_there =
			source_attributes_at(sources->catalog, fd, slash ? slash + 1 : path,
					     is_remote_filesystem(fd), &look.attributes) >= 0;
	if (look.is_there || source_attributes(sources->catalog, fd, &look.attributes) == 0)
		look.digest = attributes_digest(&look.attributes);
	return look;
}

/* ---- what is found ------------------------------------------------------------------- */

/* The path of a name in a directory of one of the indexes, in paths behind what is there. */
static int append_path(struct bytes *paths, struct catalog_reader *reader, uint64_t dir,
		       struct name name, uint32_t *source)
{
	size_t begin = paths->length;
	int r = catalog_dir_path(reader, dir, paths, source);

	if (r == 0 && name.length > 0 && paths->length > begin)
		r = bytes_append(paths, "/", 1);
	if (r == 0)
		r = bytes_append(paths, name.bytes, name.length);
	return r == 0 ? bytes_append(paths, "", 1) : r;
}

static int add(struct name_differences *differences, struct catalog_reader *reader, uint64_t dir,
	       struct name name, enum name_difference_kind kind)
{
	struct name_difference new = {.kind = kind, .path = differences->paths.length};
	int r;

	if (differences->count == DIFFERENCES_MAX) {
		differences->cut_off = true;
		return 0;
	}
	r = array_reserve(&differences->list, &differences->capacity, differences->count + 1,
			  sizeof(*differences->list));
	if (r == 0)
		r = append_path(&differences->paths, reader, dir, name, &new.source);
	if (r == 0)
		differences->list[differences->count++] = new;
	return r;
}

/* ---- both indexes -------------------------------------------------------------------- */

/* A directory in both. */
struct dir_pair {
	uint64_t indexed, fresh;
};

struct finding {
	struct name_differences *differences;
	const struct name_sides *sides;
	struct bytes waiting; /* of struct dir_pair: to be looked into */
};

static int add_pair(struct finding *finding, uint64_t indexed, uint64_t fresh)
{
	struct dir_pair pair = {indexed, fresh};

	return bytes_append(&finding->waiting, &pair, sizeof(pair));
}

/* Directories of one name: *same tells whether they are the same, and are then looked into. */
static int compare_dirs(struct finding *finding, uint64_t indexed, uint64_t fresh, bool *same)
{
	struct dir_record a = {0}, b = {0};
	int r = catalog_get_dir(finding->sides->indexed, indexed, &a);

	if (r == 0)
		r = catalog_get_dir(finding->sides->fresh, fresh, &b);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	*same = is_same(&a.attributes, &b.attributes) &&
		(a.flags & DIR_NOT_ENTERED) == (b.flags & DIR_NOT_ENTERED);
	/* what could not be listed was said by who tried */
	if (b.error != 0 || (a.flags | b.flags) & DIR_NOT_ENTERED)
		return 0;
	return add_pair(finding, indexed, fresh);
}

static int compare_files(struct finding *finding, uint64_t indexed, uint64_t fresh, bool *same)
{
	struct file_record a = {0}, b = {0};
	int r = catalog_get_file(finding->sides->indexed, indexed, &a);

	if (r == 0)
		r = catalog_get_file(finding->sides->fresh, fresh, &b);
	*same = r == 0 && is_same(&a.attributes, &b.attributes);
	return r == -ENOENT ? -EUCLEAN : r;
}

/* A name that the index has. */
static int compare_entry(struct finding *finding, const struct entry_record *entry, uint64_t fresh)
{
	struct entry_record other;
	bool same = true;
	int r = catalog_find_entry(finding->sides->fresh, fresh, entry->name, &other);

	finding->differences->compared++;
	if (r == -ENOENT)
		return add(finding->differences, finding->sides->indexed, entry->dir, entry->name,
			   NAME_GONE);
	if (r < 0)
		return r;
	if (entry->kind != other.kind)
		same = false;
	else if (entry->kind == ENTRY_DIR)
		r = compare_dirs(finding, entry->child, other.child, &same);
	else if (entry->kind == ENTRY_FILE)
		r = compare_files(finding, entry->child, other.child, &same);
	if (r < 0 || same)
		return r;
	return add(finding->differences, finding->sides->indexed, entry->dir, entry->name,
		   NAME_OTHERWISE);
}

static int find_gone(struct finding *finding, const struct dir_pair *pair)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	int r = catalog_scan_entries(finding->sides->indexed, pair->indexed, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0)
		r = compare_entry(finding, &entry, pair->fresh);
	return r == -ENOENT ? 0 : r;
}

static int find_new(struct finding *finding, const struct dir_pair *pair)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry, other;
	int r = catalog_scan_entries(finding->sides->fresh, pair->fresh, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0) {
		r = catalog_find_entry(finding->sides->indexed, pair->indexed, entry.name, &other);
		if (r == -ENOENT)
			r = add(finding->differences, finding->sides->fresh, entry.dir, entry.name,
				NAME_NOT_INDEXED);
	}
	return r == -ENOENT ? 0 : r;
}

static int compare_roots(struct finding *finding)
{
	bool same;
	int r = 0;

	for (size_t i = 0; r == 0 && i < finding->sides->sources->count; i++) {
		uint64_t indexed = finding->sides->sources->list[i].root;

		r = compare_dirs(finding, indexed, finding->sides->fresh_sources->list[i].root,
				 &same);
		if (r == 0 && !same)
			r = add(finding->differences, finding->sides->indexed, indexed,
				(struct name){.bytes = ""}, NAME_OTHERWISE);
	}
	return r;
}

int name_differences_find(struct name_differences *differences, const struct name_sides *sides)
{
	struct finding finding = {.differences = differences, .sides = sides};
	struct dir_pair pair;
	int r = compare_roots(&finding);

	while (r == 0 && finding.waiting.length > 0 && !differences->cut_off) {
		finding.waiting.length -= sizeof(pair);
		memcpy(&pair, finding.waiting.data + finding.waiting.length, sizeof(pair));
		r = find_gone(&finding, &pair);
		if (r == 0)
			r = find_new(&finding, &pair);
		if (stop_requested())
			r = -EINTR;
	}
	bytes_free(&finding.waiting);
	return r;
}

/* ---- the disk, and a later state of the index ---------------------------------------- */

void name_differences_look(struct name_differences *differences, const struct sources *sources)
{
	for (size_t i = 0; i < differences->count; i++) {
		struct name_difference *one = &differences->list[i];

		if (!one->settled)
			one->seen = look_at(sources, one->source,
					    name_difference_path(differences, one))
					    .digest;
	}
}

/* What the index has at a path. -ENOENT, or another -errno. */
static int find(struct catalog_reader *reader, uint64_t root, const char *path,
		struct entry_record *entry)
{
	if (path[0] != '\0')
		return catalog_find_path(reader, root, path, entry);
	*entry = (struct entry_record){.kind = ENTRY_DIR, .child = root};
	return 0;
}

/* *agrees: the index has at a path what stands there. */
static int compare_with_disk(struct catalog_reader *reader, uint64_t root, const char *path,
			     const struct look *look, bool *agrees)
{
	struct entry_record entry;
	struct file_record file = {0};
	struct dir_record dir = {0};
	int r = find(reader, root, path, &entry);

	*agrees = r == -ENOENT && !look->is_there;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	switch (entry.kind) {
	case ENTRY_DIR:
		r = catalog_get_dir(reader, entry.child, &dir);
		*agrees = r == 0 && look->is_there && is_same(&dir.attributes, &look->attributes);
		break;
	case ENTRY_FILE:
		r = catalog_get_file(reader, entry.child, &file);
		*agrees = r == 0 && look->is_there && is_same(&file.attributes, &look->attributes);
		break;
	case ENTRY_UNKNOWN:
	default:
		*agrees = !look->is_there;
		break;
	}
	return r == -ENOENT ? -EUCLEAN : r;
}

/* As name_differences_settle() of one of them. *agrees: it is none. */
static int settle(struct name_difference *one, const char *path, struct catalog_reader *indexed,
		  const struct sources *sources, bool *agrees)
{
	struct look look = look_at(sources, one->source, path);
	bool is_at_rest = look.digest == one->seen;

	one->seen = look.digest;
	one->denied = is_at_rest ? one->denied + 1 : 0;
	one->settled = one->denied == DENIALS_MIN;
	if (!is_at_rest)
		return 0;
	return compare_with_disk(indexed, sources->list[one->source].root, path, &look, agrees);
}

int name_differences_settle(struct name_differences *differences, struct catalog_reader *indexed,
			    const struct sources *sources, size_t *left)
{
	size_t kept = 0;
	int r = 0;

	*left = 0;
	for (size_t i = 0; r == 0 && i < differences->count; i++) {
		struct name_difference one = differences->list[i];
		bool agrees = false;

		if (!one.settled)
			r = settle(&one, name_difference_path(differences, &one), indexed, sources,
				   &agrees);
		*left += !agrees && !one.settled;
		if (!agrees)
			differences->list[kept++] = one;
	}
	if (r == 0)
		differences->count = kept;
	return r;
}
