/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/stop.h"
#include "base/thread.h"
#include "index/query.h"
#include "scan/candidates.h"
#include "scan/early_files.h"
#include "scan/reading.h"
#include "scan/shared_contents.h"

/* A committed file with a known content. */
struct early_found {
	uint64_t file;
	struct early_content *content;
	bool first; /* the first file of the content */
	uint64_t digest; /* file_digest() when its wait began; 0: it did not wait */
};

struct early_writer {
	struct early_tables *tables;
	const struct ingest *ingest;
	/* of struct early_found: those that wait because the first file of their content is not
	 * committed, then what this batch found */
	struct bytes found;
	struct bytes ready; /* of struct early_found: to be written by early_writer_commit() */
	/* of struct early_content *: groups that early_writer_commit() makes */
	struct bytes groups;
	struct bytes forgotten; /* ids of files whose content early_writer_commit() deletes */
	/* Number of commits when the files were committed. After a further commit of another
	 * thread, what was read of the files is not used. */
	uint64_t generation;
};

struct early_writer *early_writer_new(struct early_tables *tables, const struct ingest *ingest)
{
	struct early_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->tables = tables;
	writer->ingest = ingest;
	return writer;
}

void early_writer_free(struct early_writer *writer)
{
	if (!writer)
		return;
	bytes_free(&writer->found);
	bytes_free(&writer->ready);
	bytes_free(&writer->groups);
	bytes_free(&writer->forgotten);
	free(writer);
}

/* ---- files that were found ------------------------------------------------------------- */

static int add_found(struct bytes *list, uint64_t file, struct early_content *content, bool first)
{
	const struct early_found found = {.file = file, .content = content, .first = first};

	return bytes_append(list, &found, sizeof(found));
}

/* Takes the mark of a committed file. file: EARLY_NO_FILE if it cannot be used here. */
static int take_mark(struct early_writer *writer, struct early_mark *mark, uint64_t file)
{
	struct early_content *content;

	if (mark->kind == EARLY_SIZE || mark->kind == EARLY_LATE)
		return early_take_unread(writer->tables, mark, file);
	content = early_content_of(mark);
	if (mark->kind == EARLY_FIRST)
		content->first = file;
	if (file == EARLY_NO_FILE)
		return 0;
	return add_found(&writer->found, file, content, mark->kind == EARLY_FIRST);
}

static int take_marks(struct early_writer *writer, const struct name_change *changes, size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		if (changes[i].kind == NAME_ADD_FILE && changes[i].context)
			r = take_mark(writer, changes[i].context,
				      changes[i].id ? changes[i].id : EARLY_NO_FILE);
	}
	return r;
}

/* ---- reading --------------------------------------------------------------------------- */

/* Uses the first bytes of the file with this number in the list. length is 0 if the file cannot be
 * read here: it stays unread. Several threads call this at the same time. */
typedef void late_fn(void *context, size_t number, uint64_t size, const uint8_t *bytes,
		     size_t length);

/* Files whose first bytes are read after the walk committed their names. */
struct late_files {
	const struct ingest *ingest;
	/* ids, borrowed; best in ascending order, which is that of directories */
	const uint64_t *files;
	size_t count;
	unsigned int threads; /* maximum number, at least 1 */
	late_fn *use;
	void *context;
	/* set while the threads run */
	_Atomic size_t next; /* number of the next file to take */
	_Atomic int error;
};

struct late_reader {
	struct late_files *late;
	struct catalog_reader *snapshot;
	struct file_opener opener;
	uint8_t *block; /* SMALL_BYTES */
};

/* Reads and proves the first bytes of an open file. Returns their number; 0: the file stays unread.
 */
static size_t read_file(struct late_reader *reader, struct reading_ahead *ahead)
{
	struct reading *reading = &ahead->reading;
	long got;

	if (stop_requested())
		reading_abandon(reading);
	if (reading->fd < 0 || reading_check(reading, &reader->opener, &ahead->file, true))
		return 0;
	got = read_fully_at(reading->fd, reader->block, ahead->length, 0);
	if (reading_close(reading, reader->late->ingest->catalog) || got != (long)ahead->length)
		return 0;
	return ahead->length;
}

/* Sets what the index has of a file. */
static void find_file(const struct late_reader *reader, uint64_t id, struct reading_ahead *ahead)
{
	int r = catalog_get_file(reader->snapshot, id, &ahead->file);

	ahead->wanted = r == 0 && ahead->file.names == 1;
	ahead->length = ahead->wanted ? prefix_length(ahead->file.attributes.size) : 0;
}

/* Reads the files from first to end, which fit in a window. */
static void read_window(struct late_reader *reader, size_t first, size_t end)
{
	struct late_files *late = reader->late;
	struct reading_ahead window[READING_WINDOW];

	for (size_t i = first; i < end; i++)
		find_file(reader, late->files[i], &window[i - first]);
	readings_open(window, end - first, &reader->opener, reader->snapshot);
	for (size_t i = first; i < end; i++) {
		struct reading_ahead *ahead = &window[i - first];
		size_t length = read_file(reader, ahead);

		late->use(late->context, i, length ? ahead->file.attributes.size : 0, reader->block,
			  length);
	}
}

static void read_taken(struct late_reader *reader)
{
	struct late_files *late = reader->late;
	size_t count = reading_window(late->threads), first;

	while (!stop_requested() && (first = atomic_fetch_add(&late->next, count)) < late->count)
		read_window(reader, first,
			    late->count - first < count ? late->count : first + count);
}

static void *read_some(void *context)
{
	struct late_files *late = context;
	struct late_reader reader = {.late = late,
				     .opener = FILE_OPENER_INIT(late->ingest->sources),
				     .block = memory_pages(SMALL_BYTES)};
	int r = reader.block ? catalog_read_begin(late->ingest->catalog, &reader.snapshot)
			     : -ENOMEM;

	if (r == 0)
		read_taken(&reader);
	else
		atomic_store(&late->error, r);
	catalog_read_end(reader.snapshot);
	file_opener_deinit(&reader.opener);
	free(reader.block);
	return NULL;
}

/* Reads and proves the first bytes of the files, and waits until all were used, or until
 * stop_requested(). Returns 0 or -errno. */
static int read_files(struct late_files *late)
{
	size_t useful = (late->count + READING_WINDOW - 1) / READING_WINDOW;
	int r;

	if (late->count == 0)
		return 0;
	r = threads_run(useful < late->threads ? (unsigned int)useful : late->threads, read_some,
			late);
	return r < 0 ? r : atomic_load(&late->error);
}

/* Where the marks of files that are read late are put. */
struct late_marks {
	struct early_tables *tables;
	struct early_mark **marks; /* of each file; NULL: it stays unread */
};

static void add_late(void *context, size_t number, uint64_t size, const uint8_t *bytes,
		     size_t length)
{
	const struct late_marks *late = context;

	if (length)
		late->marks[number] = early_add_content(late->tables, size, bytes, length);
}

/* Reads the files that were left for the end of the walk. */
static int read_late(struct early_writer *writer)
{
	CLEANUP_BYTES struct bytes late = {0};
	int r = early_take_late(writer->tables, &late);
	uint64_t *files = (void *)late.data;
	size_t count = late.length / sizeof(*files);
	AUTO_FREE struct early_mark **marks = calloc(count + 1, sizeof(struct early_mark *));

	if (r < 0 || !marks)
		return r < 0 ? r : -ENOMEM;
	sort_unless_sorted(files, count, sizeof(*files), numbers_by_value);
	r = read_files(
		&(struct late_files){.ingest = writer->ingest,
				     .files = files,
				     .count = count,
				     .threads = threads_that_read(),
				     .use = add_late,
				     .context = &(struct late_marks){writer->tables, marks}});
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (marks[i])
			r = take_mark(writer, marks[i], files[i]);
	}
	return r;
}

static int by_first(const void *a, const void *b)
{
	const struct early_content *x = *(struct early_content *const *)a;
	const struct early_content *y = *(struct early_content *const *)b;

	return numbers_compare(x->first, y->first);
}

static void prove(void *context, size_t number, uint64_t size, const uint8_t *bytes, size_t length)
{
	struct early_content *content = ((struct early_content **)context)[number];

	content->proof =
		length && size == content->size && memcmp(bytes, content->bytes, length) == 0
			? EARLY_PROVED
			: EARLY_REFUTED;
	content->listed = false;
}

/* Lists the contents whose first file has to be compared. */
static int list_unproved(const struct early_writer *writer, struct bytes *unproved)
{
	const struct early_found *found = (const void *)writer->found.data;
	size_t count = writer->found.length / sizeof(*found);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct early_content *content = found[i].content;

		if (found[i].first || content->proof != EARLY_UNPROVED)
			continue;
		if (content->first == EARLY_NO_FILE)
			content->proof = EARLY_PROVED;
		if (content->first == 0 || content->first == EARLY_NO_FILE || content->listed)
			continue;
		content->listed = true;
		r = bytes_append(unproved, &content, sizeof(struct early_content *));
	}
	return r;
}

/* Compares the first files of contents with the bytes of the files that are called equal.
 *
 * threads	as in struct late_files */
static int prove_all(struct early_writer *writer, unsigned int threads)
{
	CLEANUP_BYTES struct bytes unproved = {0};
	int r = list_unproved(writer, &unproved);
	struct early_content **list = (void *)unproved.data;
	size_t count = unproved.length / sizeof(struct early_content *);
	AUTO_FREE uint64_t *firsts = calloc(count + 1, sizeof(*firsts));

	if (r < 0 || !firsts)
		return r < 0 ? r : -ENOMEM;
	sort_unless_sorted(list, count, sizeof(struct early_content *), by_first);
	for (size_t i = 0; i < count; i++)
		firsts[i] = list[i]->first;
	return read_files(&(struct late_files){.ingest = writer->ingest,
					       .files = firsts,
					       .count = count,
					       .threads = threads,
					       .use = prove,
					       .context = list});
}

/* Refutes contents with rivals. Each content is searched for in the latest state of the index, and
 * once in those that lend. */
static int refute_rivals(struct early_writer *writer)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	const struct lenders *lenders = writer->ingest->settings->lenders;
	const struct early_found *found = (const void *)writer->found.data;
	size_t count = writer->found.length / sizeof(*found);
	bool has;
	int r = catalog_read_begin(writer->ingest->catalog, &reader);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct early_content *content = found[i].content;

		has = false;
		if (content->proof != EARLY_REFUTED && content->searched != writer->generation)
			r = early_has_rival(reader, content, &has);
		if (content->searched == 0)
			has |= early_is_lent(lenders, content);
		content->searched = writer->generation;
		if (has)
			content->proof = EARLY_REFUTED;
	}
	return r;
}

/* ---- results --------------------------------------------------------------------------- */

/* Adds the group of a content, which then also has the first file of the content. */
static int add_group(struct early_writer *writer, struct early_content *content)
{
	int r = bytes_append(&writer->groups, &content, sizeof(struct early_content *));

	content->listed = true;
	if (r < 0 || content->first == EARLY_NO_FILE)
		return r;
	return add_found(&writer->ready, content->first, content, true);
}

/* Sets *digest to the digest of the record of a file, or to 0 if the index no longer has it. */
static int get_digest(struct catalog_reader *reader, uint64_t id, uint64_t *digest)
{
	struct file_record file;
	int r = catalog_get_file(reader, id, &file);

	*digest = r == 0 ? file_digest(&file) : 0;
	return r == -ENOENT ? 0 : r;
}

/* Outcome: the file waits for the first file of its content. */
enum {
	FILE_WAITS = 1
};

/* Begins the wait of a file. Returns FILE_WAITS, or 0 if the index no longer has the file, or
 * -errno. */
static int begin_wait(struct catalog_reader *reader, struct early_found *found)
{
	int r = found->digest ? 0 : get_digest(reader, found->file, &found->digest);

	return r < 0 || !found->digest ? r : FILE_WAITS;
}

/* Sets *has to whether the file changed while it waited: the walk can find a file again, under
 * another name and with other bytes. Returns 0 or -errno. */
static int has_changed(struct catalog_reader *reader, const struct early_found *found, bool *has)
{
	uint64_t digest = found->digest;
	int r = digest ? get_digest(reader, found->file, &digest) : 0;

	*has = digest != found->digest;
	return r;
}

/* Returns 0, FILE_WAITS or -errno. */
static int sort_out(struct early_writer *writer, struct catalog_reader *reader,
		    struct early_found *found)
{
	struct early_content *content = found->content;
	bool changed = false;
	int r = 0;

	if (content->proof == EARLY_REFUTED)
		return 0;
	if (found->first && early_is_repeated(writer->tables, content))
		return 0; /* the first file stays unread, like the others */
	if (!found->first && content->proof == EARLY_UNPROVED)
		return begin_wait(reader, found);
	r = has_changed(reader, found, &changed);
	if (r < 0 || changed)
		return r;
	if (!found->first && !content->grouped && !content->listed)
		r = add_group(writer, content);
	return r < 0 ? r : bytes_append(&writer->ready, found, sizeof(*found));
}

/* Leaves those that wait in writer->found. */
static int sort_all_out(struct early_writer *writer, struct catalog_reader *reader)
{
	struct early_found *found = (void *)writer->found.data;
	size_t count = writer->found.length / sizeof(*found), left = 0;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < count; i++) {
		r = sort_out(writer, reader, &found[i]);
		if (r == FILE_WAITS)
			found[left++] = found[i];
	}
	writer->found.length = left * sizeof(*found);
	return r < 0 ? r : 0;
}

/* Has contents deleted that were recorded before another file with the same prefix was found. */
static int forget_repeated(struct early_writer *writer)
{
	CLEANUP_BYTES struct bytes repeated = {0};
	int r = early_take_repeated(writer->tables, &repeated);
	struct early_content *const *list = (const void *)repeated.data;

	for (size_t i = 0; r == 0 && i < repeated.length / sizeof(*list); i++) {
		if (list[i]->written)
			r = bytes_append(&writer->forgotten, &list[i]->first,
					 sizeof(list[i]->first));
	}
	return r;
}

/* Leaves first files unread that would be written, but whose prefix another file has now. */
static void drop_repeated(struct early_writer *writer)
{
	struct early_found *ready = (void *)writer->ready.data;
	size_t count = writer->ready.length / sizeof(*ready), left = 0;

	for (size_t i = 0; i < count; i++) {
		if (!ready[i].first || !early_is_repeated(writer->tables, ready[i].content))
			ready[left++] = ready[i];
	}
	writer->ready.length = left * sizeof(*ready);
}

static int by_file(const void *a, const void *b)
{
	return numbers_compare(((const struct early_found *)a)->file,
			       ((const struct early_found *)b)->file);
}

/* After a later commit of another thread, nothing is used that was found until then. */
static int begin_resolve(struct early_writer *writer)
{
	struct catalog_totals totals = {0};
	int r = catalog_totals_now(writer->ingest->catalog, &totals);

	writer->generation = totals.generation;
	return r;
}

/* Has the collected contents written that are proved. Returns 0 or -errno. */
static int resolve(struct early_writer *writer, unsigned int threads)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = refute_rivals(writer);

	if (r == 0)
		r = prove_all(writer, threads);
	if (r == 0)
		r = catalog_read_begin(writer->ingest->catalog, &reader);
	if (r == 0)
		r = sort_all_out(writer, reader);
	if (r == 0)
		r = forget_repeated(writer);
	if (r < 0)
		return r;
	drop_repeated(writer);
	sort_unless_sorted(writer->ready.data, writer->ready.length / sizeof(struct early_found),
			   sizeof(struct early_found), by_file);
	return 0;
}

int early_writer_resolve(struct early_writer *writer, const struct name_change *changes,
			 size_t count)
{
	int r = begin_resolve(writer);

	if (r == 0)
		r = take_marks(writer, changes, count);
	/* the walk uses the other processors */
	return r < 0 ? r : resolve(writer, 1);
}

int early_writer_finish(struct early_writer *writer)
{
	int r = begin_resolve(writer);

	if (r == 0)
		r = read_late(writer);
	return r < 0 ? r : resolve(writer, threads_that_read());
}

/* ---- writing --------------------------------------------------------------------------- */

static int add_groups(struct early_writer *writer, struct catalog_writer *w)
{
	struct early_content **list = (void *)writer->groups.data;
	size_t count = writer->groups.length / sizeof(*list);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = catalog_add_deferred_group(w, list[i]->hash, list[i]->size, &list[i]->group);
	return r;
}

static int add_contents(struct early_writer *writer, struct catalog_writer *w)
{
	const struct early_found *found = (const void *)writer->ready.data;
	size_t count = writer->ready.length / sizeof(*found);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct early_content *content = found[i].content;
		const struct content_change change = {
			.file = found[i].file,
			.prefix = prefix_of(content->hash),
			.group = content->group,
		};

		/* the first file of a content is listed twice if its group is new */
		if (i == 0 || found[i].file != found[i - 1].file)
			r = catalog_add_deferred_content(w, &change);
	}
	return r;
}

static int forget_contents(struct early_writer *writer, struct catalog_writer *w)
{
	const uint64_t *files = (const void *)writer->forgotten.data;
	size_t count = writer->forgotten.length / sizeof(*files);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = catalog_forget_deferred_content(w, files[i]);
	return r;
}

/* Leaves all files unread whose contents were to be written. */
static void refute_all(struct early_writer *writer)
{
	struct early_content **list = (void *)writer->groups.data;
	size_t count = writer->groups.length / sizeof(*list);

	for (size_t i = 0; i < count; i++)
		list[i]->proof = EARLY_REFUTED;
	writer->ready.length = writer->groups.length = 0;
}

int early_writer_commit(struct early_writer *writer, struct catalog_writer *w)
{
	struct catalog_totals totals;
	int r;

	if (writer->ready.length == 0 && writer->forgotten.length == 0)
		return 0;
	r = catalog_get_totals(catalog_writer_reader(w), &totals);
	if (r == 0 && totals.generation != writer->generation)
		refute_all(writer);
	if (r == 0)
		r = add_groups(writer, w);
	if (r == 0)
		r = add_contents(writer, w);
	return r < 0 ? r : forget_contents(writer, w);
}

void early_writer_committed(struct early_writer *writer)
{
	struct early_content **list = (void *)writer->groups.data;
	const struct early_found *found = (const void *)writer->ready.data;

	for (size_t i = 0; i < writer->groups.length / sizeof(*list); i++) {
		list[i]->grouped = true;
		list[i]->listed = false;
	}
	for (size_t i = 0; i < writer->ready.length / sizeof(*found); i++)
		found[i].content->written |= found[i].first;
	writer->ready.length = writer->groups.length = writer->forgotten.length = 0;
}
