/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/array.h"
#include "base/descriptor.h"
#include "base/filesystem.h"
#include "base/stop.h"
#include "cli/check.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"

/* Maximum number of stored differences, as each takes memory. An index with more is useless. */
#define DIFFERENCES_MAX ((size_t)100000)

/* Number of checks after which a difference is confirmed. If the processor is busy, the event of a
 * change can arrive late. */
#define CONFIRMATIONS_MIN 3

void name_differences_free(struct name_differences *differences)
{
	free(differences->list);
	bytes_free(&differences->paths);
	*differences = (struct name_differences){0};
}

/* Compares attributes without blocks: delayed allocation changes the blocks later, without a change
 * of any time stamp. */
static bool is_same(const struct attributes *indexed, const struct attributes *now)
{
	struct attributes expected = *indexed;

	expected.blocks = now->blocks;
	return attributes_equal(&expected, now);
}

/* ---- the disk ------------------------------------------------------------------------ */

/* The state of a path on the disk. */
struct disk_state {
	bool exists;
	bool has_layers; /* TRAIT_LAYERED */
	struct attributes attributes;
	/* Digest of the attributes. For a missing name, digest of the attributes of its directory.
	 * These attributes change if the name is created and removed between two checks. */
	uint64_t digest;
};

/* To list a directory of an overlay can change its ctime: overlayfs then removes the attribute
 * "impure" of one that has no copied file any more (ovl_dir_read_impure() in fs/overlayfs). */
static bool is_as_indexed(const struct disk_state *disk_state, const struct attributes *indexed)
{
	struct attributes expected = *indexed;

	if (S_ISDIR(expected.mode) && disk_state->has_layers)
		expected.ctime = disk_state->attributes.ctime;
	return disk_state->exists && is_same(&expected, &disk_state->attributes);
}

static struct disk_state read_disk(const struct sources *sources, uint32_t source, const char *path)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *parent = strndup(path, slash ? (size_t)(slash - path) : 0);
	struct disk_state disk_state = {.exists = false};
	AUTO_CLOSE int fd = -1;
	unsigned int flags;

	if (parent)
		fd = open_beneath(sources->list[source].fd, parent, O_PATH | O_DIRECTORY,
				  sources->cross_mounts);
	if (fd < 0)
		return disk_state;
	disk_state.has_layers = filesystem_has(filesystem_type_at(fd), TRAIT_LAYERED);
	flags = (is_remote_filesystem(fd) ? SOURCE_REMOTE : 0) |
		(sources->cross_mounts ? SOURCE_ENTERS_MOUNTS : 0);
	if (path[0] == '\0')
		disk_state.exists =
			source_attributes(sources->catalog, fd, &disk_state.attributes) == 0;
	else
		disk_state.exists =
			source_attributes_at(sources->catalog, fd, slash ? slash + 1 : path, flags,
					     &disk_state.attributes) >= 0;
	if (disk_state.exists ||
	    source_attributes(sources->catalog, fd, &disk_state.attributes) == 0)
		disk_state.digest = attributes_digest(&disk_state.attributes);
	return disk_state;
}

/* ---- differences --------------------------------------------------------------------- */

/* Appends the path of a name in a directory of one of the indexes, with a NUL. */
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

/* ---- comparison of both indexes ------------------------------------------------------ */

/* A directory that both indexes have. */
struct dir_pair {
	uint64_t indexed, fresh;
};

struct names_finding {
	struct name_differences *differences;
	const struct name_sides *sides;
	struct bytes waiting; /* struct dir_pair: directories to be compared */
};

static int add_pair(struct names_finding *finding, uint64_t indexed, uint64_t fresh)
{
	struct dir_pair pair = {indexed, fresh};

	return bytes_append(&finding->waiting, &pair, sizeof(pair));
}

/* Compares two directories of one name. Sets *same, and queues their contents for comparison. */
static int compare_dirs(struct names_finding *finding, uint64_t indexed, uint64_t fresh, bool *same)
{
	struct dir_record a = {0}, b = {0};
	int r = catalog_get_dir(finding->sides->indexed, indexed, &a);

	if (r == 0)
		r = catalog_get_dir(finding->sides->fresh, fresh, &b);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	*same = is_same(&a.attributes, &b.attributes) &&
		(a.flags & DIR_NOT_ENTERED) == (b.flags & DIR_NOT_ENTERED);
	/* a directory that could not be listed was logged by the walk */
	if (b.error != 0 || (a.flags | b.flags) & DIR_NOT_ENTERED)
		return 0;
	return add_pair(finding, indexed, fresh);
}

static int compare_files(struct names_finding *finding, uint64_t indexed, uint64_t fresh,
			 bool *same)
{
	struct file_record a = {0}, b = {0};
	int r = catalog_get_file(finding->sides->indexed, indexed, &a);

	if (r == 0)
		r = catalog_get_file(finding->sides->fresh, fresh, &b);
	*same = r == 0 && is_same(&a.attributes, &b.attributes);
	return r == -ENOENT ? -EUCLEAN : r;
}

/* Compares a name of the index with the new index. */
static int compare_entry(struct names_finding *finding, const struct entry_record *entry,
			 uint64_t fresh)
{
	struct entry_record other;
	bool same = true;
	int r = catalog_find_entry(finding->sides->fresh, fresh, entry->name, &other);

	finding->differences->compared++;
	if (r == -ENOENT)
		return add(finding->differences, finding->sides->indexed, entry->dir, entry->name,
			   NAME_MISSING);
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
		   NAME_DIFFERS);
}

static int find_missing(struct names_finding *finding, const struct dir_pair *pair)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	int r = catalog_scan_entries(finding->sides->indexed, pair->indexed, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0)
		r = compare_entry(finding, &entry, pair->fresh);
	return r == -ENOENT ? 0 : r;
}

static int find_new(struct names_finding *finding, const struct dir_pair *pair)
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

static int compare_roots(struct names_finding *finding)
{
	bool same;
	int r = 0;

	for (size_t i = 0; r == 0 && i < finding->sides->sources->count; i++) {
		uint64_t indexed = finding->sides->sources->list[i].root;

		r = compare_dirs(finding, indexed, finding->sides->fresh_sources->list[i].root,
				 &same);
		if (r == 0 && !same)
			r = add(finding->differences, finding->sides->indexed, indexed,
				(struct name){.bytes = ""}, NAME_DIFFERS);
	}
	return r;
}

int name_differences_find(struct name_differences *differences, const struct name_sides *sides)
{
	struct names_finding finding = {.differences = differences, .sides = sides};
	struct dir_pair pair;
	int r = compare_roots(&finding);

	while (r == 0 && finding.waiting.length > 0 && !differences->cut_off) {
		finding.waiting.length -= sizeof(pair);
		memcpy(&pair, finding.waiting.data + finding.waiting.length, sizeof(pair));
		r = find_missing(&finding, &pair);
		if (r == 0)
			r = find_new(&finding, &pair);
		if (stop_requested())
			r = -EINTR;
	}
	bytes_free(&finding.waiting);
	return r;
}

/* ---- comparison with the disk and a later snapshot ----------------------------------- */

void name_differences_read_disk(struct name_differences *differences, const struct sources *sources)
{
	for (size_t i = 0; i < differences->count; i++) {
		struct name_difference *one = &differences->list[i];

		if (!one->confirmed)
			one->seen = read_disk(sources, one->source,
					      name_difference_path(differences, one))
					    .digest;
	}
}

/* Gets the entry of a path in the index. Returns 0, -ENOENT if there is none, or another -errno. */
static int find(struct catalog_reader *reader, uint64_t root, const char *path,
		struct entry_record *entry)
{
	if (path[0] != '\0')
		return catalog_find_path(reader, root, path, entry);
	*entry = (struct entry_record){.kind = ENTRY_DIR, .child = root};
	return 0;
}

/* Sets *agrees to whether the index has the state that the path has on the disk. */
static int compare_with_disk(struct catalog_reader *reader, uint64_t root, const char *path,
			     const struct disk_state *disk_state, bool *agrees)
{
	struct entry_record entry;
	struct file_record file;
	struct dir_record dir;
	const struct attributes *indexed = NULL;
	int r = find(reader, root, path, &entry);

	*agrees = r == -ENOENT && !disk_state->exists;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (entry.kind == ENTRY_DIR) {
		r = catalog_get_dir(reader, entry.child, &dir);
		indexed = &dir.attributes;
	} else if (entry.kind == ENTRY_FILE) {
		r = catalog_get_file(reader, entry.child, &file);
		indexed = &file.attributes;
	}
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	*agrees = indexed ? is_as_indexed(disk_state, indexed) : !disk_state->exists;
	return 0;
}

/* Rechecks one difference. Sets *agrees to true if the difference has disappeared. */
static int recheck(struct name_difference *one, const char *path, struct catalog_reader *indexed,
		   const struct sources *sources, bool *agrees)
{
	struct disk_state disk_state = read_disk(sources, one->source, path);
	bool unchanged = disk_state.digest == one->seen;

	one->seen = disk_state.digest;
	one->confirmations = unchanged ? one->confirmations + 1 : 0;
	one->confirmed = one->confirmations == CONFIRMATIONS_MIN;
	if (!unchanged)
		return 0;
	return compare_with_disk(indexed, sources->list[one->source].root, path, &disk_state,
				 agrees);
}

int name_differences_recheck(struct name_differences *differences, struct catalog_reader *indexed,
			     const struct sources *sources, size_t *left)
{
	size_t kept = 0;
	int r = 0;

	*left = 0;
	for (size_t i = 0; r == 0 && i < differences->count; i++) {
		struct name_difference one = differences->list[i];
		bool agrees = false;

		if (!one.confirmed)
			r = recheck(&one, name_difference_path(differences, &one), indexed, sources,
				    &agrees);
		*left += !agrees && !one.confirmed;
		if (!agrees)
			differences->list[kept++] = one;
	}
	if (r == 0)
		differences->count = kept;
	return r;
}
