/* SPDX-License-Identifier: MIT */
#include "fleet/digesting.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/sort.h"
#include "base/stop.h"
#include "fleet/file_list.h"
#include "fleet/inventory.h"
#include "fleet/json_lines.h"
#include "fleet/reading_pool.h"
#include "fleet/row_set.h"
#include "index/catalog.h"
#include "index/hashes.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/source.h"
#include "row/fields.h"
#include "row/json_text.h"
#include "row/line_reader.h"
#include "scan/reading.h"

/* ---- the wanted files ----------------------------------------------------------------------- */

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

/* Returns the digest of a file in this state, or NULL. */
static const uint8_t *earlier_digests_find(const struct earlier_digests *earlier, uint64_t file,
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

/* Adds a file of the list. */
static int find_wanted(struct wanted_finding *finding, size_t index)
{
	const struct listed_file *row = &finding->search->wanted->rows[index];
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

		r = stop_requested() ? -EINTR
				     : catalog_read_begin(finding->search->sources->catalog,
							  &finding->reader);
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

/* Returns the number of files from first on that are in one group: one, if it has no group. */
static size_t wanted_files_equal(const struct wanted_files *files, size_t first)
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

/* ---- digests -------------------------------------------------------------------------------- */

/* ---- digest store --------------------------------------------------------------------------- */

/* Writes digests to the index, many in one transaction. Any thread. */

/* Maximum number of digests of a transaction. */
#define DIGEST_STORE_RECORDS 1024

struct digest_store {
	struct catalog *catalog; /* borrowed; NULL: nothing is stored */
	pthread_mutex_t lock; /* for all members below */
	struct stored_digest {
		uint64_t file;
		struct digest_record digest;
	} waiting[DIGEST_STORE_RECORDS];
	size_t count;
	uint64_t written_ns; /* time of the last transaction, on the monotonic clock */
	int failed; /* -errno of the first transaction that failed: nothing more is stored */
};

/* Time after which digests are written, so that a killed process loses little work. A transaction
 * waits for the disk of the index, some milliseconds. */
#define WAIT_NS ((uint64_t)2 * SECOND_NS)

static void digest_store_init(struct digest_store *store, struct catalog *catalog)
{
	store->catalog = catalog;
	store->count = 0;
	store->failed = 0;
	store->written_ns = clock_monotonic_ns();
	pthread_mutex_init(&store->lock, NULL);
}

static int write_body(struct catalog_writer *w, void *context)
{
	const struct digest_store *store = context;
	int r = 0;

	for (size_t i = 0; r == 0 && i < store->count; i++)
		r = catalog_put_digest(w, store->waiting[i].file, &store->waiting[i].digest);
	return r;
}

static void write_waiting(struct digest_store *store)
{
	if (store->count > 0 && store->failed == 0)
		store->failed = catalog_write(store->catalog, write_body, store);
	store->count = 0;
	store->written_ns = clock_monotonic_ns();
}

/* Writes what waits. Returns 0, or -errno of the first failure. */
static int digest_store_end(struct digest_store *store)
{
	write_waiting(store);
	pthread_mutex_destroy(&store->lock);
	return store->failed;
}

/* Adds the digest of a file. If many digests wait, or one for some seconds, writes a transaction:
 * the calling thread must have no reader of the catalog. After a failed transaction, does
 * nothing. */
static void digest_store_add(struct digest_store *store, uint64_t file,
			     const struct digest_record *digest)
{
	if (!store->catalog)
		return;
	pthread_mutex_lock(&store->lock);
	store->waiting[store->count].file = file;
	store->waiting[store->count].digest = *digest;
	store->count++;
	if (store->count == DIGEST_STORE_RECORDS ||
	    clock_monotonic_ns() - store->written_ns >= WAIT_NS)
		write_waiting(store);
	pthread_mutex_unlock(&store->lock);
}

/* ---- digesting ------------------------------------------------------------------------------ */

/* Files up to this size are read under one lease (scan/reading.h), in some milliseconds. */
#define HELD_BYTES_MAX (UINT64_C(1) << 20)

/* Files of one content, of which one has to be read. */
struct unit {
	size_t first, count; /* in the list of files */
};

/* What the reading threads share. A unit, with its files, belongs to the thread that took it. */
struct digesting {
	const struct digesting_task *task;
	struct unit *units;
	size_t count, capacity;
	uint64_t bytes; /* of the first files of the units */
	struct digest_store store;
};

/* ---- units --------------------------------------------------------------------------- */

/* Gives the digest of one file to all files of its unit that have none. Returns whether there were
 * such files. */
static bool share_digest(struct wanted_files *files, const struct unit *unit,
			 const struct wanted_file *from)
{
	bool any = false;

	for (size_t i = unit->first; i < unit->first + unit->count; i++) {
		struct wanted_file *to = &files->list[i];

		if (wanted_has_digest(to))
			continue;
		to->state = WANTED_EQUAL;
		memcpy(to->digest, from->digest, sizeof(to->digest));
		any = true;
	}
	return any;
}

static const struct wanted_file *find_digest(const struct wanted_files *files,
					     const struct unit *unit)
{
	for (size_t i = unit->first; i < unit->first + unit->count; i++) {
		if (wanted_has_digest(&files->list[i]))
			return &files->list[i];
	}
	return NULL;
}

static void store(struct digesting *digesting, const struct wanted_file *file)
{
	struct digest_record digest = {.state = file->digest_state};

	memcpy(digest.bytes, file->digest, sizeof(digest.bytes));
	digest_store_add(&digesting->store, file->id, &digest);
}

static int add_unit(struct digesting *digesting, const struct unit *unit)
{
	int r = array_reserve(&digesting->units, &digesting->capacity, digesting->count + 1,
			      sizeof(*digesting->units));

	if (r < 0)
		return r;
	digesting->units[digesting->count++] = *unit;
	digesting->bytes += digesting->task->files->list[unit->first].size;
	return 0;
}

/* Lists the units to read. A digest of one file is also that of the files that joined its group
 * later; storing it again stores it for the group. */
static int list_units(struct digesting *digesting)
{
	struct wanted_files *files = digesting->task->files;
	struct unit unit = {0};
	int r = 0;

	for (; r == 0 && unit.first < files->count; unit.first += unit.count) {
		const struct wanted_file *known;

		unit.count = wanted_files_equal(files, unit.first);
		known = find_digest(files, &unit);
		if (!known) {
			r = add_unit(digesting, &unit);
			continue;
		}
		if (share_digest(files, &unit, known))
			store(digesting, known);
	}
	return r;
}

/* ---- order --------------------------------------------------------------------------- */

/* Opens the first file of a unit, for its place on the disk. Nothing is proved. Returns a
 * descriptor or -errno. */
static int open_unit(void *context, size_t index, uint64_t *size)
{
	const struct digesting *digesting = context;
	const struct digesting_task *task = digesting->task;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct file_record file = {.names = 0};
	int r = catalog_read_begin(task->sources->catalog, &reader);

	if (r == 0)
		r = catalog_get_file(reader, task->files->list[digesting->units[index].first].id,
				     &file);
	if (r < 0)
		return r;
	*size = file.attributes.size;
	return file.names > 0 ? source_open_file(task->sources, reader, &file, 0) : -ENOENT;
}

static uint64_t unit_place(const void *context, size_t index)
{
	const struct digesting *digesting = context;

	return digesting->task->files->list[digesting->units[index].first].id;
}

/* ---- a file -------------------------------------------------------------------------- */

/* Opens a file in a snapshot of its own. Sets *group to its group. Returns 0, an enum
 * reading_outcome, or -errno. */
static int open_wanted(struct pool_thread *thread, const struct wanted_file *wanted,
		       struct file_record *file, uint64_t *group, struct reading *reading)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct content_record content = {0};
	int r = catalog_read_begin(thread->opener.sources->catalog, &reader);

	*group = 0;
	if (r == 0)
		r = catalog_get_file(reader, wanted->id, file);
	if (r == -ENOENT || (r == 0 && file->names == 0))
		return READING_GONE;
	if (r == 0 && file->attributes.size != wanted->size)
		return READING_CHANGED;
	if (r == 0)
		r = catalog_get_content(reader, wanted->id, &content);
	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0)
		*group = content.group;
	return reading_open(reading, &thread->opener, reader, file, wanted->size <= HELD_BYTES_MAX);
}

/* Reads a file. Returns 0, an enum reading_outcome, or -errno. */
static int read_file(struct pool_thread *thread, struct wanted_file *wanted)
{
	struct reading reading = {.fd = -1};
	struct file_record file = {.names = 0};
	uint64_t group;
	int r = open_wanted(thread, wanted, &file, &group, &reading);

	if (r != 0)
		return r;
	r = file_sha256_read(&thread->reader, reading.fd, wanted->size,
			     file.attributes.blocks * 512 < wanted->size, wanted->digest);
	if (r != 0) {
		reading_abandon(&reading);
		return r == FILE_SHA256_CHANGED ? (int)READING_CHANGED : r;
	}
	r = reading_close(&reading, thread->opener.sources->catalog);
	if (r != 0)
		return r;
	wanted->digest_state = file_digest(&file);
	wanted->state = WANTED_READ;
	wanted->in_group &= group == wanted->group;
	return 0;
}

/* Reads files of a unit until one was read. Returns 0, or -errno that concerns all files. */
static int read_unit(void *context, struct pool_thread *thread, size_t index)
{
	struct digesting *digesting = context;
	const struct unit *unit = &digesting->units[index];
	struct wanted_files *files = digesting->task->files;

	for (size_t i = unit->first; i < unit->first + unit->count; i++) {
		struct wanted_file *file = &files->list[i];
		int r;

		if (file->state != (thread->again ? WANTED_PENDING : WANTED_UNREAD))
			continue;
		r = read_file(thread, file);
		if (r < 0 && reading_pool_ends(r))
			return r;
		file->error = r < 0 ? r : 0;
		if (r != 0)
			file->state = r < 0 ? WANTED_UNREADABLE : WANTED_PENDING;
		if (r == 0)
			store(digesting, file);
		if (r == 0 && file->in_group) {
			(void)share_digest(files, unit, file);
			return 0;
		}
	}
	return 0;
}

/* ---- messages ------------------------------------------------------------------------ */

/* Appends the absolute path of a file. */
static int find_path(const struct digesting_task *task, uint64_t id, struct bytes *path)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct file_record file;
	int r = catalog_read_begin(task->sources->catalog, &reader);

	if (r == 0)
		r = catalog_get_file(reader, id, &file);
	return r < 0 ? r : source_file_path(task->sources, reader, &file, path);
}

static void warn(const struct digesting_task *task, const struct wanted_file *file)
{
	const char *cause = file->state == WANTED_PENDING
				    ? "it changed meanwhile, or a program can write to it"
				    : error_text(file->error);
	CLEANUP_BYTES struct bytes path = {0};

	if (find_path(task, file->id, &path) == 0)
		log_warning("cannot read %s: %s", quote_bytes((const char *)path.data, path.length),
			    cause);
}

/* Names each file that could not be read, and the first ones that changed. */
static void name_failures(const struct digesting_task *task)
{
	unsigned int pending = 0;

	for (size_t i = 0; i < task->files->count; i++) {
		const struct wanted_file *file = &task->files->list[i];

		if (file->state == WANTED_UNREADABLE ||
		    (file->state == WANTED_PENDING && pending++ < WANTED_NAMED))
			warn(task, file);
	}
}

static void end_store(struct digesting *digesting)
{
	int r = digest_store_end(&digesting->store);

	if (r < 0)
		log_warning("cannot write digests to the index: %s; files whose digests it lacks "
			    "are read again if the output is lost",
			    error_text(r));
}

static int read_units(struct digesting *digesting)
{
	const struct digesting_task *task = digesting->task;
	const struct reading_pool_task pool = {
		.sources = task->sources,
		.count = digesting->count,
		.bytes = digesting->bytes,
		.label = "hashing",
		.progress = task->progress,
		.disk = task->disk,
		.open = open_unit,
		.place = unit_place,
		.read = read_unit,
		.context = digesting,
	};

	return reading_pool_run(&pool);
}

int digesting_run(const struct digesting_task *task)
{
	AUTO_FREE struct digesting *digesting = calloc(1, sizeof(*digesting));
	int r;

	if (!digesting)
		return -ENOMEM;
	digesting->task = task;
	digest_store_init(&digesting->store, task->keeps_digests ? task->sources->catalog : NULL);
	r = list_units(digesting);
	if (r == 0)
		r = read_units(digesting);
	end_store(digesting);
	name_failures(task);
	free(digesting->units);
	return r;
}

/* ---- digest rows ---------------------------------------------------------------------------- */

/* Number of rows that are made in one snapshot. */
#define PORTION 2048

struct digest_writing {
	const struct sources *sources;
	const struct wanted_files *files;
	struct row_set *set;
	struct digest_rows_result *result;
	struct row_maker maker;
};

/* ---- a row ------------------------------------------------------------------------------- */

/* Sets *current to whether the digest of a file is that of its present record: the record is that
 * of the read, or it is in the group whose content was read. */
static int is_current(struct catalog_reader *reader, const struct wanted_file *file,
		      const struct file_record *record, bool *current)
{
	struct content_record content;
	int r;

	*current = record->names > 0 && file_digest(record) == file->digest_state;
	if (*current || record->names == 0 || !file->in_group)
		return 0;
	r = catalog_get_content(reader, file->id, &content);
	*current = r == 0 && content.group == file->group;
	return r == -ENOENT ? 0 : r;
}

/* Makes the row of a file, if its digest is current. */
static int make_row(struct digest_writing *writing, struct catalog_reader *reader,
		    const struct wanted_file *file)
{
	struct file_record record;
	struct inventory_row row;
	bool current = false;
	int r = wanted_has_digest(file) ? catalog_get_file(reader, file->id, &record) : -ENOENT;

	if (r == 0)
		r = is_current(reader, file, &record, &current);
	if (r < 0 && r != -ENOENT)
		return r;
	if (!current && file->state == WANTED_EARLIER)
		return 0;
	if (!current) {
		*(file->state == WANTED_UNREADABLE ? &writing->result->unreadable
						   : &writing->result->pending) += 1;
		return 0;
	}
	r = row_maker_identify(&writing->maker, &record, &row);
	if (r < 0)
		return r;
	memcpy(row.sha256, file->digest, sizeof(row.sha256));
	row.state = file_digest(&record);
	return row_set_keep(writing->set, &row, inventory_row_fields, file->size);
}

/* ---- the set ----------------------------------------------------------------------------- */

/* Makes the rows of the next files in a snapshot of its own. */
static int make_portion(struct digest_writing *writing, size_t first)
{
	const struct wanted_files *files = writing->files;
	size_t end = files->count - first < PORTION ? files->count : first + PORTION;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(writing->sources->catalog, &reader);

	row_maker_begin(&writing->maker, reader);
	for (size_t i = first; r == 0 && i < end; i++)
		r = make_row(writing, reader, &files->list[i]);
	return r;
}

static int compare_ids(const void *left, const void *right)
{
	const struct wanted_file *a = left, *b = right;

	return numbers_compare(a->id, b->id);
}

static int commit(struct digest_writing *writing)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct row_set_figures figures = {
		.index = catalog_identity(writing->sources->catalog),
		.errors = writing->result->unreadable,
		.pending = writing->result->pending,
	};
	int r = catalog_read_begin(writing->sources->catalog, &reader);

	if (r == 0)
		r = catalog_get_min_size(reader, &figures.min_size);
	catalog_read_end(TAKE(reader));
	if (r == 0)
		r = rows_list_sources(writing->sources, &figures.sources);
	if (r == 0)
		r = row_set_commit(writing->set, &figures);
	json_decref(figures.sources);
	return r;
}

int digest_rows_write(const struct sources *sources, struct wanted_files *files,
		      struct row_set *set, struct digest_rows_result *result)
{
	struct digest_writing writing = {
		.sources = sources,
		.files = files,
		.set = set,
		.result = result,
		.maker = {.sources = sources, .examines_disk = true},
	};
	int r = 0;

	*result = (struct digest_rows_result){0};
	sort_unless_sorted(files->list, files->count, sizeof(*files->list), compare_ids);
	for (size_t i = 0; r == 0 && i < files->count; i += PORTION) {
		r = make_portion(&writing, i);
		if (r == 0)
			r = row_set_write_waiting(set);
	}
	if (r == 0)
		r = commit(&writing);
	result->rows = set->rows;
	row_maker_deinit(&writing.maker);
	return r;
}
