/* SPDX-License-Identifier: MIT */
#include "fleet/wanted_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/array.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/sort.h"
#include "base/stop.h"
#include "fleet/file_list.h"
#include "fleet/json_lines.h"
#include "fleet/row_set.h"
#include "index/query.h"
#include "index/source.h"
#include "row/fields.h"
#include "row/json_text.h"
#include "row/line_reader.h"

/* ---- a part ------------------------------------------------------------------------------ */

#define EARLIER(member, key, type) FIELD(struct earlier_digest, member, key, type)

static const struct field fields[] = {
	{EARLIER(file, "id", FIELD_SIZE), .required = true},
	{EARLIER(digest.bytes, "sha256", FIELD_SHA256), .required = true},
	{EARLIER(digest.state, "state", FIELD_HEX64), .required = true},
};

/* Adds the digest of a row. Returns 0, -EPROTO or -ENOMEM. */
static int add_row(struct earlier_digests *earlier, const json_t *row)
{
	struct earlier_digest digest = {0};
	int r = fields_get(row, &digest, FIELDS(fields), NULL, NULL);

	if (r == 0)
		r = array_reserve(&earlier->list, &earlier->capacity, earlier->count + 1,
				  sizeof(*earlier->list));
	if (r == 0)
		earlier->list[earlier->count++] = digest;
	return r;
}

static int read_lines(struct earlier_digests *earlier, struct line_reader *lines)
{
	const char *text;
	size_t length;
	json_t *row;
	int r;

	while ((r = line_reader_next(lines, &text, &length)) == 0) {
		row = json_read(text, length, JSON_REJECT_DUPLICATES);
		r = add_row(earlier, row);
		json_decref(row);
		if (r < 0)
			return r;
	}
	if (r == LINE_END)
		return 0;
	return r > 0 ? -EPROTO : r;
}

/* Returns whether the bytes that were read are those that the manifest names. */
static bool has_sum(struct sha256 *state, const json_t *part)
{
	const char *digits = json_string_value(json_object_get(part, "sha256"));
	uint8_t expected[SHA256_BYTES], found[SHA256_BYTES];

	return digits && sha256_parse(digits, expected) && sha256_end(state, found) == 0 &&
	       memcmp(expected, found, sizeof(found)) == 0;
}

static bool is_compressed(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && strcmp(dot, ".zst") == 0;
}

static int read_part(struct earlier_digests *earlier, int folder, const json_t *part)
{
	const char *name = json_string_value(json_object_get(part, "name"));
	CLEANUP_LINE_READER struct line_reader lines = {.fd = -1};
	struct sha256 *state;
	AUTO_CLOSE int fd = -1;
	int r;

	if (!name || *name == '/' || is_dots(name))
		return -EPROTO;
	fd = open_beneath_for_reading(folder, name, 0, false);
	if (fd < 0)
		return fd;
	state = sha256_new();
	r = state ? line_reader_init(&lines, fd, LINE_BYTES_MAX,
				     is_compressed(name) ? LINES_COMPRESSED : 0)
		  : -ENOMEM;
	lines.sha256 = state;
	if (r == 0)
		r = read_lines(earlier, &lines);
	if (r == 0 && !has_sum(state, part))
		r = -EPROTO;
	sha256_free(state);
	return r;
}

/* ---- the set ----------------------------------------------------------------------------- */

static int compare_earlier(const void *left, const void *right)
{
	const struct earlier_digest *a = left, *b = right;

	return numbers_compare(a->file, b->file);
}

/* The folder was checked to have digests of this host. */
static int read_set(struct earlier_digests *earlier, const struct set_folder *folder,
		    uint64_t index)
{
	const json_t *parts = json_object_get(folder->manifest, "parts");
	uint64_t found;
	int r = 0;

	if (!json_get_hex64(folder->manifest, "index", &found) || found != index)
		return 0;
	for (size_t i = 0; r == 0 && i < json_array_size(parts); i++)
		r = read_part(earlier, folder->fd, json_array_get(parts, i));
	return r;
}

int earlier_digests_load(struct earlier_digests *earlier, const struct set_folder *folder,
			 uint64_t index)
{
	int r;

	*earlier = (struct earlier_digests){.count = 0};
	r = read_set(earlier, folder, index);
	if (r < 0) {
		earlier->count = 0;
		if (r != -EINTR && r != -ENOMEM)
			log_warning("cannot use the earlier digests in %s: %s; files that only "
				    "they have are read again",
				    quote_path(folder->settings->folder), error_text(r));
	}
	sort_unless_sorted(earlier->list, earlier->count, sizeof(*earlier->list), compare_earlier);
	return r == -EINTR || r == -ENOMEM ? r : 0;
}

const uint8_t *earlier_digests_find(const struct earlier_digests *earlier, uint64_t file,
				    uint64_t state)
{
	const struct earlier_digest key = {.file = file};
	const struct earlier_digest *found =
		earlier->count == 0 ? NULL
				    : bsearch(&key, earlier->list, earlier->count,
					      sizeof(*earlier->list), compare_earlier);

	return found && found->digest.state == state ? found->digest.bytes : NULL;
}

void earlier_digests_free(struct earlier_digests *earlier)
{
	free(earlier->list);
	*earlier = (struct earlier_digests){.count = 0};
}

/* ---- wanted files --------------------------------------------------------------------------- */

/* Number of files that are found in one snapshot. */
#define BATCH 4096

/* The state of a search. */
struct wanted_finding {
	const struct wanted_search *search;
	struct wanted_files *files;
	uint64_t *roots; /* root directory of each source of the list */
	struct catalog_reader *reader;
};

/* Counts a path, and keeps the first ones. */
static int note(struct wanted_named *named, const struct wanted_finding *finding,
		const struct listed_file *row)
{
	const char *source = finding->search->wanted->sources.items[row->source];
	CLEANUP_BYTES struct bytes path = {0};

	if (named->count++ >= WANTED_NAMED)
		return 0;
	if (bytes_format(&path, "%s/%s", strcmp(source, "/") == 0 ? "" : source, row->path) < 0 ||
	    !bytes_text(&path))
		return -ENOMEM;
	named->paths[named->count - 1] = strdup(bytes_text(&path));
	return named->paths[named->count - 1] ? 0 : -ENOMEM;
}

/* Sets the group of a file, and its digest if it is known. */
static int find_known(const struct wanted_finding *finding, const struct file_record *record,
		      struct wanted_file *file)
{
	const uint8_t *earlier;
	struct content_record content;
	int r = catalog_get_content(finding->reader, file->id, &content);

	if (r < 0 && r != -ENOENT)
		return r;
	file->group = r == 0 ? content.group : 0;
	file->in_group = file->group != 0;
	file->digest_state = file_digest(record);
	r = catalog_find_digest(finding->reader, record, file->digest);
	if (r == 0)
		file->state = WANTED_KNOWN;
	if (r != -ENOENT)
		return r;
	earlier = earlier_digests_find(finding->search->earlier, file->id, file->digest_state);
	if (earlier) {
		memcpy(file->digest, earlier, sizeof(file->digest));
		file->state = WANTED_KNOWN;
	}
	return 0;
}

static int add_file(struct wanted_files *files, const struct wanted_file *file)
{
	int r = array_reserve(&files->list, &files->capacity, files->count + 1,
			      sizeof(*files->list));

	if (r == 0)
		files->list[files->count++] = *file;
	return r;
}

static int find_row(struct wanted_finding *finding, const struct listed_file *row)
{
	struct wanted_files *files = finding->files;
	struct file_record record = {.names = 0};
	struct wanted_file file = {.state = WANTED_UNREAD};
	uint64_t dir;
	int r = listed_file_find(finding->reader, finding->roots[row->source], row, &record, &dir);

	if (r == -ENOENT)
		return note(&files->missing, finding, row);
	if (r < 0)
		return r;
	if (record.attributes.size != row->size)
		return note(&files->changed, finding, row);
	file.id = record.id;
	file.size = record.attributes.size;
	r = find_known(finding, &record, &file);
	return r < 0 ? r : add_file(files, &file);
}

static int find_wanted(struct wanted_finding *finding, size_t index)
{
	return find_row(finding, &finding->search->wanted->rows[index]);
}

/* Adds a file of the earlier output, unless its digest is not current any more. */
static int find_earlier(struct wanted_finding *finding, size_t index)
{
	const struct earlier_digest *earlier = &finding->search->earlier->list[index];
	struct wanted_file file = {.id = earlier->file};
	struct file_record record;
	int r = catalog_get_file(finding->reader, earlier->file, &record);

	if (r == -ENOENT ||
	    (r == 0 && (record.names == 0 || file_digest(&record) != earlier->digest.state)))
		return 0;
	if (r < 0)
		return r;
	file.size = record.attributes.size;
	r = find_known(finding, &record, &file);
	file.state = WANTED_EARLIER;
	return r < 0 ? r : add_file(finding->files, &file);
}

/* Calls find for each index below count, with many short snapshots. */
static int find_all(struct wanted_finding *finding, size_t count,
		    int (*find)(struct wanted_finding *finding, size_t index))
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count;) {
		size_t end = count - i < BATCH ? count : i + BATCH;

		r = stop_requested()
			    ? -EINTR
			    : catalog_read_begin(finding->search->catalog, &finding->reader);
		for (; r == 0 && i < end; i++)
			r = find(finding, i);
		catalog_read_end(TAKE(finding->reader));
	}
	return r;
}

/* Finds the root directories of the sources of the list. */
static int find_roots(const struct wanted_finding *finding)
{
	const struct wanted_search *search = finding->search;
	size_t count = search->wanted->sources.count;
	AUTO_FREE size_t *numbers = calloc(count, sizeof(*numbers));
	int r = numbers ? listed_sources_find(search->wanted, search->file, search->sources,
					      numbers)
			: -ENOMEM;

	for (size_t i = 0; r == 0 && i < count; i++)
		finding->roots[i] = search->sources->list[numbers[i]].root;
	return r;
}

static int compare_files(const void *left, const void *right)
{
	const struct wanted_file *a = left, *b = right;
	int order = numbers_compare(a->group, b->group);

	if (order == 0)
		order = numbers_compare(a->id, b->id);
	return order ? order : (a->state > b->state) - (a->state < b->state);
}

/* Sorts the files. An inode with several wanted names, or that was wanted earlier, too, stays
 * once. */
static void sort_once(struct wanted_files *files)
{
	size_t kept = 0;

	sort_unless_sorted(files->list, files->count, sizeof(*files->list), compare_files);
	for (size_t i = 0; i < files->count; i++) {
		if (kept == 0 || files->list[kept - 1].id != files->list[i].id)
			files->list[kept++] = files->list[i];
	}
	files->count = kept;
}

size_t wanted_files_equal(const struct wanted_files *files, size_t first)
{
	uint64_t group = files->list[first].group;
	size_t count = 1;

	while (group && first + count < files->count && files->list[first + count].group == group)
		count++;
	return count;
}

int wanted_files_find(struct wanted_files *files, const struct wanted_search *search)
{
	struct wanted_finding finding = {.search = search, .files = files};
	AUTO_FREE uint64_t *roots = calloc(search->wanted->sources.count, sizeof(*roots));
	int r;

	*files = (struct wanted_files){.count = 0};
	finding.roots = roots;
	r = roots ? find_roots(&finding) : -ENOMEM;
	if (r == 0)
		r = find_all(&finding, search->wanted->count, find_wanted);
	if (r == 0)
		r = find_all(&finding, search->earlier->count, find_earlier);
	sort_once(files);
	return r;
}

static void free_named(struct wanted_named *named)
{
	for (size_t i = 0; i < WANTED_NAMED; i++)
		free(named->paths[i]);
}

void wanted_files_free(struct wanted_files *files)
{
	free(files->list);
	free_named(&files->missing);
	free_named(&files->changed);
	*files = (struct wanted_files){.count = 0};
}
