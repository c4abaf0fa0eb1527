/* SPDX-License-Identifier: MIT */
#define HASH_NONFATAL_OOM 1
#include "scan/shared_contents.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uthash.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/filesystem.h"
#include "base/log.h"
#include "base/path.h"
#include "base/sort.h"
#include "base/stop.h"
#include "base/text.h"
#include "index/catalog.h"
#include "index/change.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "scan/index_folder.h"

/* ---- lenders -------------------------------------------------------------------------------- */

/* Returns whether the file system of fd has birth times. A file that came with an image of a disk
 * has none even there, unlike every file that was made later and has its number. */
static bool has_birth_times(int fd)
{
	struct statx status;

	return statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &status) == 0 &&
	       (status.stx_mask & STATX_BTIME);
}

bool lenders_may_lend(int fd)
{
	uint32_t type = filesystem_type_at(fd);

	return filesystem_kind_of(type) == FILESYSTEM_FINE && !filesystem_may_hide_stores(type) &&
	       has_birth_times(fd);
}

bool lender_get(const struct lender *lender, struct catalog_reader *snapshot, uint32_t filesystem,
		const struct attributes *attributes, struct content_record *content)
{
	struct file_record known;
	uint64_t id;

	if (catalog_find_inode(snapshot, filesystem, attributes->inode, &id) < 0 || id == 0 ||
	    catalog_get_file(snapshot, id, &known) < 0)
		return false;
	known.attributes.filesystem = attributes->filesystem;
	return attributes_same_signature(&known.attributes, attributes) &&
	       known.attributes.ctime.tv_sec < lender->lost_since &&
	       catalog_get_content(snapshot, id, content) == 0;
}

/* Maximum bytes of the paths of sources that are read from an index. */
#define SOURCES_BYTES ((size_t)64 << 10)

/* Number of files after which a transaction ends at the next size. */
#define PORTION 4096

/* Maximum number of files of one size in a transaction. */
#define CLASS_MAX ((size_t)64 << 10)

/* ---- which indexes ------------------------------------------------------------------------- */

void shared_contents_offer(struct catalog *catalog, char *const *paths)
{
	CLEANUP_BYTES struct bytes text = {0};
	int r = 0;

	for (; r == 0 && *paths; paths++) {
		if (!strchr(*paths, '\n')) /* such a source is not found */
			r = bytes_format(&text, "%s\n", *paths);
	}
	if (r == 0 && bytes_text(&text))
		catalog_note_sources(catalog, bytes_text(&text));
}

/* An index that has a source inside of the given ones, or the reverse. */
struct shared_candidate {
	char *folder; /* borrowed */
	size_t covered; /* number of given sources that are inside of its sources */
	size_t inside; /* number of its sources that are inside of given ones */
};

static void count_overlaps(struct shared_candidate *candidate, const char *source,
			   char *const *paths)
{
	bool inside = false;

	for (; *paths; paths++) {
		candidate->covered += path_below(*paths, source) ? 1 : 0;
		inside |= path_below(source, *paths) ? true : false;
	}
	candidate->inside += inside;
}

/* Reads which sources the index has. */
static void examine(struct shared_candidate *candidate, char *const *paths)
{
	AUTO_FREE char *text = malloc(SOURCES_BYTES);
	char *rest = NULL, *line;

	if (!text || catalog_recall_sources(candidate->folder, text, SOURCES_BYTES) != 0)
		return;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		count_overlaps(candidate, line, paths);
}

/* The index that knows most is first: contents of different indexes have to be compared. */
static int by_knowledge(const void *a, const void *b)
{
	const struct shared_candidate *x = a, *y = b;
	int order = numbers_compare(y->covered, x->covered);

	return order ? order : numbers_compare(y->inside, x->inside);
}

/* Returns whether all contents of the index are in its lists. An interrupted first scan left files
 * that are not. */
static bool is_listed(struct catalog *catalog)
{
	struct catalog_totals totals;

	return catalog_totals_now(catalog, &totals) == 0 && totals.unlisted == 0;
}

static int add_index(struct lenders *shared, const char *folder)
{
	const struct catalog_options options = {.folder = folder, .read_only = true};
	struct lender *lender;
	int r = array_reserve(&shared->list, &shared->capacity, shared->count + 1,
			      sizeof(*shared->list));

	if (r < 0)
		return r;
	lender = &shared->list[shared->count];
	*lender = (struct lender){0};
	r = catalog_open(&lender->catalog, &options);
	if (r == 0 && is_listed(lender->catalog) &&
	    catalog_lost_since(lender->catalog, &lender->lost_since) == 0)
		shared->count++;
	else if (r == 0)
		catalog_close(lender->catalog);
	else
		log_debug("cannot share contents of the index %s: outcome %d", quote_path(folder),
			  r);
	return r == -ENOMEM ? r : 0;
}

int shared_contents_open(struct lenders *shared, const char *folder, char *const *paths)
{
	CLEANUP_TEXT_LIST struct text_list folders = {0};
	AUTO_FREE struct shared_candidate *candidates = NULL;
	int r = index_folders_list(&folders);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	candidates = calloc(folders.count + 1, sizeof(*candidates));
	if (!candidates)
		return -ENOMEM;
	for (size_t i = 0; i < folders.count; i++) {
		candidates[i].folder = folders.items[i];
		if (!index_folder_is_same(folders.items[i], folder))
			examine(&candidates[i], paths);
	}
	qsort(candidates, folders.count, sizeof(*candidates), by_knowledge);
	for (size_t i = 0; r == 0 && i < folders.count; i++) {
		if (candidates[i].covered + candidates[i].inside > 0)
			r = add_index(shared, candidates[i].folder);
	}
	return r;
}

void shared_contents_close(struct lenders *shared)
{
	for (size_t i = 0; i < shared->count; i++)
		catalog_close(shared->list[i].catalog);
	free(shared->list);
	*shared = (struct lenders){0};
}

/* ---- one file ------------------------------------------------------------------------------ */

/* The group of a content that another index knows. */
struct shared_found {
	uint64_t size;
	uint64_t group; /* in the other index; 0: none */
	struct hash128 hash; /* of the group */
};

/* A file system of the new index. */
struct shared_filesystem {
	bool examined;
	uint32_t other; /* its number in the other index; 0: its files are not taken */
};

/* A group of the other index, and the group of the new index with the same files. */
struct shared_group {
	uint64_t other;
	uint64_t group;
	bool is_stored; /* it was made in a transaction that was committed */
	UT_hash_handle hh;
};

struct taking {
	struct catalog *to;
	const struct lender *from;
	const struct sources *sources;
	struct catalog_reader *to_reader, *from_reader;
	uint64_t size; /* of the last file that was found; UINT64_MAX: none */
	bool has_known; /* files of this size had known contents before */
	struct size_entry at; /* the next file to look at */
	bool size_goes_on; /* the last transaction took files of this size */
	uint64_t snapshot; /* catalog_snapshot_id() of from_reader */
	struct shared_found *list;
	struct content_change *changes; /* without groups, until the transaction; as many */
	size_t count, capacity, changes_capacity;
	uint64_t taken; /* files, in all transactions */
	/* by number in the other index (uthash); those of the sizes in the list */
	struct shared_group *groups;
	struct shared_filesystem *filesystems; /* by number */
	size_t filesystem_count, filesystem_capacity;
};

/* Returns the number that the file system of a file has in the other index; 0: its contents are not
 * lent. */
static uint32_t examine_filesystem(const struct taking *taking, const struct file_record *file)
{
	AUTO_CLOSE int fd = source_open_inode(taking->sources, taking->to_reader, file);

	if (fd < 0 || !lenders_may_lend(fd))
		return 0;
	return catalog_filesystem_in(taking->to, file->attributes.filesystem,
				     taking->from->catalog);
}

static int find_filesystem(struct taking *taking, const struct file_record *file, uint32_t *other)
{
	size_t number = file->attributes.filesystem;
	struct shared_filesystem *known;
	int r = array_reserve(&taking->filesystems, &taking->filesystem_capacity, number + 1,
			      sizeof(*taking->filesystems));

	if (r < 0)
		return r;
	for (; taking->filesystem_count <= number; taking->filesystem_count++)
		taking->filesystems[taking->filesystem_count] = (struct shared_filesystem){0};
	known = &taking->filesystems[number];
	if (!known->examined)
		known->other = examine_filesystem(taking, file);
	known->examined = true;
	*other = known->other;
	return 0;
}

/* Returns whether the new index knows a content of this size with this prefix hash; 0: any. */
static bool is_known(const struct taking *taking, uint64_t size, uint64_t prefix)
{
	const struct size_entry from = {.size = size, .prefix = prefix ? prefix : 1};
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct size_entry entry;
	int r = catalog_scan_sizes(taking->to_reader, &from, &scan);

	if (r == 0)
		r = catalog_next_size(scan, &entry);
	return r == 0 ? entry.size == size && (prefix == 0 || entry.prefix == prefix)
		      : r != -ENOENT;
}

/* Returns whether a known content of the new index was possibly never compared with this one. */
static bool has_rival(struct taking *taking, uint64_t size, uint64_t prefix)
{
	if (size != taking->size)
		taking->has_known = is_known(taking, size, 0);
	taking->size = size;
	return taking->has_known && is_known(taking, size, prefix);
}

static int add_found(struct taking *taking, const struct shared_found *found,
		     const struct content_change *change)
{
	int r = array_reserve(&taking->list, &taking->capacity, taking->count + 1,
			      sizeof(*taking->list));

	if (r == 0)
		r = array_reserve(&taking->changes, &taking->changes_capacity, taking->count + 1,
				  sizeof(*taking->changes));
	if (r < 0)
		return r;
	taking->list[taking->count] = *found;
	taking->changes[taking->count++] = *change;
	return 0;
}

static int look_up(struct taking *taking, const struct size_entry *entry)
{
	struct content_record content;
	struct group_record group = {0};
	struct file_record file;
	uint32_t filesystem = 0;
	int r = catalog_get_file(taking->to_reader, entry->file, &file);

	if (r == 0)
		r = find_filesystem(taking, &file, &filesystem);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	if (!filesystem ||
	    !lender_get(taking->from, taking->from_reader, filesystem, &file.attributes, &content))
		return 0;
	if (content.group && (catalog_get_group(taking->from_reader, content.group, &group) < 0 ||
			      group.size != entry->size))
		return 0;
	if (has_rival(taking, entry->size, content.prefix))
		return 0;
	return add_found(taking, &(struct shared_found){entry->size, content.group, group.hash},
			 &(struct content_change){.file = file.id,
						  .digest = file_digest(&file),
						  .prefix = content.prefix,
						  .hash = content.hash});
}

/* ---- a transaction ------------------------------------------------------------------------- */

static void skip_size(struct size_entry *at)
{
	*at = (struct size_entry){.size = at->size + 1};
}

/* Returns whether the files in the list have to be committed before this one. */
static bool is_full(const struct taking *taking, const struct size_entry *entry)
{
	if (taking->count == 0)
		return false;
	if (entry->size != taking->list[taking->count - 1].size)
		return taking->count >= PORTION;
	return taking->count >= CLASS_MAX && !taking->has_known;
}

/* Returns whether the rest of the size is left out: one transaction has to take all files of a size
 * if they are looked up among known contents. */
static bool is_too_large(const struct taking *taking, const struct size_entry *entry)
{
	return taking->has_known && taking->count >= CLASS_MAX &&
	       entry->size == taking->list[taking->count - 1].size;
}

/* Looks up unread files until the list is full. Returns 0, -ENOENT at the end, or another
 * -errno. */
static int look_up_portion(struct taking *taking)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct size_entry entry;
	int r = catalog_scan_sizes(taking->to_reader, &taking->at, &scan);

	while (r == 0 && (r = catalog_next_size(scan, &entry)) == 0) {
		taking->at = entry;
		if (is_full(taking, &entry))
			return 0;
		if (entry.prefix == 0 && !is_too_large(taking, &entry)) {
			r = look_up(taking, &entry);
			taking->at.file++;
			continue;
		}
		skip_size(&taking->at);
		catalog_scan_end(scan);
		scan = NULL;
		r = catalog_scan_sizes(taking->to_reader, &taking->at, &scan);
	}
	return r;
}

/* Forgets the groups that an earlier attempt of the transaction made, or all groups. */
static void forget_groups(struct taking *taking, bool all)
{
	struct shared_group *shared, *next;

	HASH_ITER(hh, taking->groups, shared, next)
	{
		if (!all && shared->is_stored)
			continue;
		HASH_DELETE(hh, taking->groups, shared);
		free(shared);
	}
}

static int find_group(struct taking *taking, struct catalog_writer *w,
		      const struct shared_found *found, uint64_t *group)
{
	struct shared_group *shared;
	int r;

	HASH_FIND(hh, taking->groups, &found->group, sizeof(found->group), shared);
	if (shared) {
		*group = shared->group;
		return 0;
	}
	r = catalog_add_group(w, found->hash, found->size, group);
	if (r < 0)
		return r;
	shared = calloc(1, sizeof(*shared));
	if (!shared)
		return -ENOMEM;
	shared->other = found->group;
	shared->group = *group;
	HASH_ADD(hh, taking->groups, other, sizeof(shared->other), shared);
	if (shared->hh.tbl)
		return 0;
	free(shared);
	return -ENOMEM;
}

static int take_body(struct catalog_writer *w, void *context)
{
	struct taking *taking = context;
	int r = 0;

	forget_groups(taking, false);
	catalog_reconsider_kept(w);
	for (size_t i = 0; r == 0 && i < taking->count; i++) {
		if (taking->list[i].group)
			r = find_group(taking, w, &taking->list[i], &taking->changes[i].group);
	}
	return r < 0 ? r : catalog_set_contents(w, taking->changes, taking->count);
}

/* Commits the contents in the list. */
static int commit(struct taking *taking)
{
	int r = taking->count > 0 ? catalog_write(taking->to, take_body, taking) : 0;

	taking->size_goes_on =
		taking->count > 0 && taking->list[taking->count - 1].size == taking->at.size;
	for (struct shared_group *shared = taking->groups; shared; shared = shared->hh.next)
		shared->is_stored = true;
	if (!taking->size_goes_on)
		forget_groups(taking, true);
	if (r == 0)
		taking->taken += taking->count;
	taking->count = 0;
	return r;
}

static int find_portion(struct taking *taking)
{
	CLEANUP_READER struct catalog_reader *to = NULL;
	CLEANUP_READER struct catalog_reader *from = NULL;
	int r = catalog_read_begin(taking->to, &to);

	if (r == 0)
		r = catalog_read_begin(taking->from->catalog, &from);
	if (r < 0)
		return r;
	/* What two snapshots know of files of one size was possibly never compared. */
	if (taking->size_goes_on && catalog_snapshot_id(from) != taking->snapshot)
		skip_size(&taking->at);
	taking->to_reader = to;
	taking->from_reader = from;
	taking->snapshot = catalog_snapshot_id(from);
	return look_up_portion(taking);
}

/* ---- one other index ----------------------------------------------------------------------- */

static int take_all(struct taking *taking)
{
	int found = 0, r = 0;

	while (r == 0 && found == 0 && !stop_requested()) {
		found = find_portion(taking);
		r = found < 0 && found != -ENOENT ? found : commit(taking);
	}
	return r;
}

static int take_from(const struct lender *from, const struct sources *sources, uint64_t min_size)
{
	struct taking taking = {.to = sources->catalog,
				.from = from,
				.sources = sources,
				.size = UINT64_MAX,
				.at = {.size = min_size}};
	int r = take_all(&taking);

	log_debug("took the contents of %llu files from the index %s",
		  (unsigned long long)taking.taken, quote_path(catalog_folder(from->catalog)));
	forget_groups(&taking, true);
	free(taking.list);
	free(taking.changes);
	free(taking.filesystems);
	return r;
}

int shared_contents_take(const struct lenders *shared, const struct sources *sources,
			 uint64_t min_size)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < shared->count && !stop_requested(); i++)
		r = take_from(&shared->list[i], sources, min_size);
	return r;
}
