/* SPDX-License-Identifier: MIT */
#include "scan/contents.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "base/thread.h"
#include "index/scan.h"
#include "index/source.h"
#include "scan/disk.h"
#include "scan/refine.h"

/* ---- what all threads note --------------------------------------------------------------- */

static void add_bytes(_Atomic uint64_t *sum, uint64_t bytes)
{
	uint64_t before = atomic_load(sum);

	while (!atomic_compare_exchange_weak(sum, &before, size_add(before, bytes)))
		;
}

/* Adds to the progress figures, unless contents->repeats is set. A small file is counted when its
 * prefix is read, and a longer file when its class is known. Bytes are counted when they are read.
 */
static void count_done(struct contents *contents, uint64_t files, uint64_t bytes)
{
	if (contents->repeats)
		return;
	atomic_fetch_add(&contents->ingest->progress.compared, files);
	add_bytes(&contents->ingest->progress.compared_bytes, bytes);
}

/* Sets contents->failure unless it was set before. */
static void fail(struct contents *contents, int failure)
{
	int none = 0;

	atomic_compare_exchange_strong(&contents->failure, &none, failure);
}

static void report(struct contents *contents, struct catalog_reader *reader,
		   const struct file_record *file, int error)
{
	CLEANUP_BYTES struct bytes absolute = {0};
	int before;

	if (contents->errors_logged &&
	    catalog_get_error(reader, ERROR_FILE, file->id, &before) == 0 && before == error)
		return;
	if (source_file_path(contents->ingest->sources, reader, file, &absolute) == 0)
		log_warning("cannot read %s: %s; not compared", quote_path(bytes_text(&absolute)),
			    error_text(error));
}

/* Returns true if this process or the machine lacks a resource for a moment. The file is then read
 * again later, and no error is recorded. */
static bool is_shortage(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR ||
	       error == EAGAIN;
}

/* Records why the bytes of a file could not be read or proved.
 *
 * what		enum reading_outcome or -errno
 * reading	has the new attributes after READING_CHANGED; else may be NULL
 */
static void note_outcome(struct contents *contents, struct catalog_reader *reader,
			 const struct file_record *file, int what, const struct reading *reading)
{
	const struct ingest_hooks *hooks = contents->ingest->hooks;
	struct problem_result problem = {.file = file->id};
	int r = 0;

	if (what == READING_GONE)
		return;
	if (what == READING_BUSY || (what < 0 && is_shortage(-what))) {
		atomic_fetch_add(&contents->postponed, 1);
		return;
	}
	if (what == READING_CHANGED) {
		atomic_fetch_add(&contents->postponed, 1);
		if (hooks) {
			hooks->recheck_file(hooks->context, file->id);
			return;
		}
		problem.attributes = reading->attributes;
	} else {
		atomic_fetch_add(&contents->errors, 1);
		problem.error = -what;
		report(contents, reader, file, -what);
	}
	r = results_add_problem(&contents->results, &problem);
	if (r < 0)
		fail(contents, r);
}

/* ---- read prefixes -------------------------------------------------------------------------- */

/* Number of files that a thread reads before it adds their prefixes. The prefixes of so few files
 * stay in the cache of the processor. */
#define READ_FILES 8

struct prefix_reader {
	struct contents *contents;
	struct file_opener opener;
	struct catalog_reader *reader;
	uint8_t *blocks[READ_FILES];
	uint32_t indexes[READ_FILES];
	unsigned int count; /* blocks that are filled */
	struct disk_waits waits;
};

/* Reads the prefix of an open file and closes it. Returns 0, an enum reading_outcome, or -errno. */
static int read_block(struct prefix_reader *prefixes, struct candidate *candidate,
		      struct reading *reading, uint8_t *block)
{
	size_t length = prefix_length(candidate->size);
	uint64_t begun = clock_monotonic_ns();
	long got = read_fully_at(reading->fd, block, length, 0);
	int r;

	disk_order_note_read(prefixes->contents, &prefixes->waits, reading->fd,
			     clock_monotonic_ns() - begun);
	if (got < 0) {
		reading_abandon(reading);
		return (int)got;
	}
	r = reading_close(reading, prefixes->contents->ingest->catalog);
	if (r == 0 && (size_t)got != length)
		/* the file was shorter for a moment, so a process is writing it */
		r = READING_BUSY;
	if (r)
		return r;
	candidate->hash = hash128(block, length);
	return 0;
}

/* Sets what the index has of a candidate. */
static void find_candidate(struct prefix_reader *prefixes, uint32_t index,
			   struct reading_ahead *ahead)
{
	struct candidate *candidate = &prefixes->contents->window.list[index];
	int r = catalog_get_file(prefixes->reader, candidate->file, &ahead->file);

	ahead->wanted = false;
	if (r == -ENOENT)
		return; /* the file was deleted meanwhile */
	if (r < 0) {
		fail(prefixes->contents, r);
		return;
	}
	if (ahead->file.names == 0 || ahead->file.attributes.size != candidate->size)
		return; /* the file changed meanwhile, and is a candidate of another size */
	ahead->wanted = true;
	ahead->length = prefix_length(candidate->size);
	candidate->digest = file_digest(&ahead->file);
}

static void read_prefix(struct prefix_reader *prefixes, uint32_t index, struct reading_ahead *ahead)
{
	struct candidate *candidate = &prefixes->contents->window.list[index];
	struct reading *reading = &ahead->reading;
	int r = ahead->result;

	if (!ahead->wanted)
		return;
	if (stop_requested()) {
		reading_abandon(reading);
		return;
	}
	if (r == 0)
		r = reading_check(reading, &prefixes->opener, &ahead->file, true);
	if (r == 0)
		r = read_block(prefixes, candidate, reading, prefixes->blocks[prefixes->count]);
	if (is_small(candidate->size)) /* the prefix is the whole file */
		count_done(prefixes->contents, 1, candidate->size);
	if (r == 0)
		prefixes->indexes[prefixes->count++] = index;
	else
		note_outcome(prefixes->contents, prefixes->reader, &ahead->file, r, reading);
}

/* Adds the prefixes that were read. */
static void enter_prefixes(struct prefix_reader *prefixes)
{
	struct contents *contents = prefixes->contents;
	int r = 0;

	if (prefixes->count == 0)
		return;
	pthread_mutex_lock(&contents->prefixes_lock);
	for (unsigned int i = 0; r == 0 && i < prefixes->count; i++)
		r = prefixes_add(&contents->prefixes, prefixes->indexes[i], prefixes->blocks[i]);
	pthread_mutex_unlock(&contents->prefixes_lock);
	if (r < 0)
		fail(contents, r);
	prefixes->count = 0;
}

/* Reads the candidates from first to end, at most READING_WINDOW. */
static int read_range(struct prefix_reader *prefixes, uint32_t first, uint32_t end)
{
	struct reading_ahead window[READING_WINDOW];
	int r = catalog_read_begin(prefixes->contents->ingest->catalog, &prefixes->reader);

	if (r < 0)
		return r;
	for (uint32_t i = first; i < end; i++)
		find_candidate(prefixes, i, &window[i - first]);
	readings_open(window, end - first, &prefixes->opener, prefixes->reader);
	for (uint32_t i = first; i < end; i++) {
		read_prefix(prefixes, i, &window[i - first]);
		if (prefixes->count == READ_FILES)
			enter_prefixes(prefixes);
	}
	enter_prefixes(prefixes);
	catalog_read_end(prefixes->reader);
	return 0;
}

static void read_all(struct prefix_reader *prefixes)
{
	struct contents *contents = prefixes->contents;
	uint32_t count = (uint32_t)reading_window(contents->readers), first, end;
	int r;

	/* If a trial is due, the threads return. The trial then decides whether the remaining
	 * candidates are sorted. */
	while (!contents->failure && !stop_requested() &&
	       !disk_order_trial_is_due(&contents->order)) {
		if (!disk_order_take(contents, count, &first, &end))
			break;
		r = read_range(prefixes, first, end);
		if (r < 0)
			fail(contents, r);
	}
}

/* Reads the prefixes of candidates and adds them to contents->prefixes, until no candidate is left
 * or the order of the disk is enabled. Each reading thread runs this function. Takes a struct
 * contents and returns NULL. */
static void *read_prefixes_run(void *context)
{
	struct contents *contents = context;
	struct prefix_reader prefixes = {.contents = contents,
					 .opener = FILE_OPENER_INIT(contents->ingest->sources)};
	AUTO_FREE uint8_t *memory = memory_pages(SMALL_BYTES * READ_FILES);

	prefixes.opener.patient = contents->ingest->patient;
	if (!memory) {
		fail(contents, -ENOMEM);
		return NULL;
	}
	for (size_t i = 0; i < READ_FILES; i++)
		prefixes.blocks[i] = memory + i * SMALL_BYTES;
	read_all(&prefixes);
	file_opener_deinit(&prefixes.opener);
	return NULL;
}

/* ---- compare -------------------------------------------------------------------------------- */

/* Memory for the blocks of all threads together, and the minimum for one thread. With the minimum,
 * 1,000 files with one hash are still compared together. */
#define BLOCKS_BYTES ((size_t)24 << 20)
#define BLOCKS_BYTES_MIN ((size_t)6 << 20)

/* Maximum number of comparisons of one prefix. If a representative of a group cannot be read, the
 * next comparison uses another member. */
#define ATTEMPTS_MAX 4

/* Descriptors that other parts of the process need: the index, the sources, and the mount. */
#define DESCRIPTORS_LEFT 48
#define DESCRIPTORS_MAX 512

/* Holes are not read, but hashed as zeros. If a file has more bytes in holes than this, it is
 * hashed only after it was found equal to another file. */
#define HASHED_HOLES ((uint64_t)256 << 20)

/* A file in the comparison, or several files that are known to be equal. */
struct compared {
	struct strand strand;
	uint64_t file; /* the file that is read */
	uint64_t group; /* the group that a rival represents, or 0 */
	struct hash128 group_hash;
	uint64_t digest; /* file_digest() at the first open */
	uint32_t first; /* start of a chain of candidates: index in the window + 1; 0: a rival */
	bool alone; /* only the first candidate of the chain belongs to this strand */
	bool sparse;
	bool counted; /* its bytes count as progress */
	bool decided; /* the class, or the reason why there is no class, is recorded */
	bool opened; /* was opened once, so digest is set */
	/* the file could not be opened, its digest changed, or it changed while it was read; it is
	 * not read again */
	bool lost;
	uint64_t read_bytes;
	uint64_t fetched; /* the kernel was asked to read ahead up to this offset */
	uint64_t data_from, data_known; /* [data_known, data_from) is a hole */
	struct reading reading;
};

/* The comparison of the files of one prefix by one thread. Candidates are files that were not
 * compared yet; rivals are files with the same prefix hash that were compared before. */
struct comparison {
	struct contents *contents;
	const struct prefix *prefix;
	struct file_opener opener;
	struct catalog_reader *reader; /* set while the files are collected */
	struct compared *list;
	size_t count, capacity;
	bool keep_open;
	bool large_holes;
	size_t descriptors;
	unsigned int attempt;
	/* Arrays of struct file_result and struct class_result: the results so far. */
	struct bytes files;
	struct bytes classes;
};

static struct compared *compared_of(struct strand *strand)
{
	return strand->file;
}

/* ---- reading ------------------------------------------------------------------------- */

/* Records a problem of one file; what: READING_BUSY or -errno. */
static void note_problem(struct comparison *c, const struct compared *compared, int what)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct file_record file;

	if (catalog_read_begin(c->contents->ingest->catalog, &reader) == 0 &&
	    catalog_get_file(reader, compared->file, &file) == 0)
		note_outcome(c->contents, reader, &file, what, NULL);
}

/* Checks that a file that is opened again has the digest of its first open. */
static int check_digest(struct compared *compared, const struct file_record *file)
{
	uint64_t digest = file_digest(file);

	if (compared->opened && compared->digest != digest) {
		reading_abandon(&compared->reading);
		return READING_CHANGED;
	}
	compared->opened = true;
	compared->digest = digest;
	return 0;
}

static int open_compared(struct comparison *c, struct compared *compared)
{
	struct catalog_reader *reader = NULL;
	struct file_record file;
	int r;

	if (compared->reading.fd >= 0)
		return 0;
	if (compared->lost)
		return -ESTALE;
	r = catalog_read_begin(c->contents->ingest->catalog, &reader);
	if (r < 0)
		return r;
	r = catalog_get_file(reader, compared->file, &file);
	if (r == 0 && (file.names == 0 || file.attributes.size != c->prefix->key.size))
		r = -ENOENT;
	if (r == 0)
		r = reading_open(&compared->reading, &c->opener, reader, &file, false);
	if (r == 0)
		r = check_digest(compared, &file);
	if (r && r != -ENOENT)
		note_outcome(c->contents, reader, &file, r, &compared->reading);
	compared->lost = r != 0;
	catalog_read_end(reader);
	return r;
}

static int finish(void *context, struct strand *strand)
{
	struct compared *compared = compared_of(strand);
	struct comparison *c = context;
	int r;

	if (compared->reading.fd < 0)
		return 0; /* the file was not opened, as it is empty or a single hole */
	r = reading_close(&compared->reading, c->contents->ingest->catalog);
	if (r)
		atomic_fetch_add(&c->contents->postponed, 1);
	return r;
}

/* If the representative of a group changed while it was read, files that differ from it can still
 * be equal to the other members. */
static void abandon(void *context, struct strand *strand)
{
	struct compared *compared = compared_of(strand);

	if (compared->group && finish(context, strand))
		compared->lost = true;
	reading_abandon(&compared->reading);
}

static uint64_t hole(void *context, struct strand *strand, uint64_t offset)
{
	struct compared *compared = compared_of(strand);
	struct comparison *c = context;
	off_t data;

	if (!compared->sparse)
		return 0;
	if (offset >= compared->data_known && offset < compared->data_from)
		return compared->data_from - offset;
	if (open_compared(c, compared))
		return 0; /* the read will fail and report the error */
	data = lseek(compared->reading.fd, (off_t)offset, SEEK_DATA);
	if (data < 0)
		data = errno == ENXIO ? (off_t)c->prefix->key.size : (off_t)offset;
	compared->data_known = offset;
	compared->data_from = (uint64_t)data;
	if (!c->keep_open && finish(c, strand))
		return 0;
	return compared->data_from - offset;
}

/* If the disk must seek between files, asks the kernel to read ahead a long piece of the file. */
static void fetch_turn(const struct comparison *c, struct compared *compared, uint64_t offset,
		       size_t length)
{
	uint64_t from = compared->fetched > offset ? compared->fetched : offset, turn;

	if (offset + length <= from)
		return;
	turn = disk_order_turn(&c->contents->order, from, c->count);
	if (turn > c->prefix->key.size - from)
		turn = c->prefix->key.size - from;
	disk_fetch_range(compared->reading.fd, from, turn);
	compared->fetched = from + turn;
}

/* Counts bytes as progress, at most as many as the file has: some are read twice. */
static void count_read(const struct comparison *c, struct compared *compared, size_t length)
{
	uint64_t left = c->prefix->key.size - compared->read_bytes;
	uint64_t counted = length < left ? length : left;

	count_done(c->contents, 0, counted);
	compared->read_bytes += counted;
}

static int read_strand(void *context, struct strand *strand, uint64_t offset, void *block,
		       size_t length)
{
	struct compared *compared = compared_of(strand);
	struct comparison *c = context;
	long got;
	int r = open_compared(c, compared);

	if (r)
		return r;
	fetch_turn(c, compared, offset, length);
	got = read_fully_at(compared->reading.fd, block, length, (off_t)offset);
	if (got != (long)length) {
		note_problem(c, compared, got < 0 ? (int)got : READING_BUSY);
		abandon(c, strand);
		return -1;
	}
	if (compared->counted)
		count_read(c, compared, length);
	return c->keep_open ? 0 : finish(c, strand);
}

/* ---- equal files --------------------------------------------------------------------- */

static int add_result(struct comparison *c, uint64_t file, uint64_t digest)
{
	struct file_result result = {file, digest, prefix_of(c->prefix->key.hash)};

	return bytes_append(&c->files, &result, sizeof(result));
}

static int add_candidates(struct comparison *c, const struct compared *compared)
{
	const struct candidate *window = c->contents->window.list, *candidate;
	int r = 0;

	for (uint32_t at = compared->first; r == 0 && at; at = candidate->next) {
		candidate = &window[at - 1];
		r = add_result(c, candidate->file, candidate->digest);
		if (compared->alone)
			break;
	}
	if (compared->counted)
		count_done(c->contents, 1, c->prefix->key.size - compared->read_bytes);
	return r;
}

/* Returns true if a representative no longer has the hash of its group, as its bytes changed
 * without a change of its times. Files equal to the representative are then not equal to the group,
 * so the comparison is repeated with another representative. */
static bool is_stale_representative(const struct compared *compared, const struct hash128 *hash)
{
	return !compared->first && compared->group && hash &&
	       !hash128_equal(*hash, compared->group_hash);
}

/* Records a class of equal strands as a result. */
static int emit(void *context, struct strand *first, const struct hash128 *hash)
{
	struct comparison *c = context;
	struct class_result class = {.size = c->prefix->key.size,
				     .first = c->files.length / sizeof(struct file_result)};
	bool delta = false;
	int r = 0;

	for (struct strand *strand = first; r == 0 && strand; strand = strand->equal) {
		struct compared *compared = compared_of(strand);

		compared->decided = !compared->lost && !is_stale_representative(compared, hash);
		delta |= compared->first != 0;
		if (!compared->decided)
			note_problem(c, compared, READING_BUSY);
		else if (compared->first)
			r = add_candidates(c, compared);
		else if (compared->group)
			class.group = compared->group;
		else
			r = add_result(c, compared->file, compared->digest);
	}
	if (r < 0 || !delta)
		return r;
	/* A class without a hash is one strand. Only a strand of small files has several files. The
	 * prefix hash covers all bytes of a small file. */
	class.whole = hash;
	class.hash = hash ? *hash : c->prefix->key.hash;
	class.count = c->files.length / sizeof(struct file_result) - class.first;
	return bytes_append(&c->classes, &class, sizeof(class));
}

/* Records an error for each candidate of a class with holes that are too long to be hashed. Records
 * of rivals do not change. */
static void refuse(void *context, struct strand *strand)
{
	for (; strand; strand = strand->equal) {
		if (compared_of(strand)->first)
			note_problem(context, compared_of(strand), -EFBIG);
		compared_of(strand)->decided = true;
	}
}

static const struct refine_calls refine_calls = {
	.hole = hole,
	.read = read_strand,
	.finish = finish,
	.abandon = abandon,
	.refuse = refuse,
	.emit = emit,
};

/* ---- the files of a comparison ------------------------------------------------------- */

/* Adds the file, unless the index no longer has it. */
static int add_file(struct comparison *c, const struct compared *compared)
{
	struct compared *added;
	struct file_record file;
	uint64_t allocated;
	int r = catalog_get_file(c->reader, compared->file, &file);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = array_reserve(&c->list, &c->capacity, c->count + 1, sizeof(*c->list));
	if (r < 0)
		return r;
	allocated = file.attributes.blocks * 512;
	added = &c->list[c->count++];
	*added = *compared;
	added->reading.fd = -1;
	added->sparse = allocated < file.attributes.size;
	c->large_holes |= added->sparse && file.attributes.size - allocated > HASHED_HOLES;
	return 0;
}

static int add_contents(struct comparison *c)
{
	const struct candidate *window = c->contents->window.list;
	bool small = is_small(c->prefix->key.size);
	int r = 0;

	for (const struct content *content = c->prefix->contents; content;
	     content = content->next) {
		for (uint32_t at = content->first; r == 0 && at; at = window[at - 1].next) {
			r = add_file(c, &(struct compared){.file = window[at - 1].file,
							   .first = at,
							   .alone = !small,
							   .counted = !small});
			if (small)
				break; /* the first file represents the others of its content */
		}
	}
	return r;
}

/* Adds one member of the group as its representative. Each attempt uses another member. */
static int add_representative(struct comparison *c, uint64_t group_id)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct group_record group;
	uint64_t file = 0, passed_over;
	int r = catalog_get_group(c->reader, group_id, &group);

	if (r == 0)
		r = catalog_scan_members(c->reader, group_id, 0, &scan);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	passed_over = c->attempt % (group.inodes ? group.inodes : 1);
	for (uint64_t i = 0; r == 0 && i <= passed_over; i++)
		r = catalog_next_member(scan, &file);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	return add_file(c, &(struct compared){.file = file,
					      .group = group_id,
					      .group_hash = group.hash});
}

/* Adds rivals with this prefix hash after *from, up to the first member of a group. Sets *from to
 * the entry to continue from. Returns 0, -ENOENT if no rivals are left, or -errno. */
static int add_rivals_from(struct comparison *c, struct size_entry *from)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct size_entry entry;
	int r = catalog_scan_sizes(c->reader, from, &scan);

	while (r == 0 && (r = catalog_next_size(scan, &entry)) == 0) {
		if (entry.size != from->size || entry.prefix != from->prefix)
			return -ENOENT;
		if (entry.group) {
			*from = entry;
			from->file = UINT64_MAX;
			return add_representative(c, entry.group);
		}
		r = add_file(c, &(struct compared){.file = entry.file});
	}
	return r;
}

/* Adds the files with this prefix hash that were compared before: one file of each group, and all
 * files that are in no group. */
static int add_rivals(struct comparison *c)
{
	struct size_entry from = {.size = c->prefix->key.size,
				  .prefix = prefix_of(c->prefix->key.hash)};
	int r = 0;

	while (r == 0)
		r = add_rivals_from(c, &from);
	return r == -ENOENT ? 0 : r;
}

static int find_files(struct comparison *c)
{
	const struct candidate *window = c->contents->window.list;
	int r = catalog_read_begin(c->contents->ingest->catalog, &c->reader);

	if (r < 0)
		return r;
	r = add_contents(c);
	if (r == 0 && window[c->prefix->contents->first - 1].rivals)
		r = add_rivals(c);
	catalog_read_end(c->reader);
	return r;
}

/* ---- one prefix ---------------------------------------------------------------------- */

/* Records an error for each undecided candidate. Too many contents have the same seeded hash to be
 * compared in memory. uniques/ shows such files, like every file that is not compared. */
static void note_too_many(struct comparison *c)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->list[i].first && !c->list[i].decided)
			note_problem(c, &c->list[i], -E2BIG);
	}
}

/* The last blocks of files of this size are compared first, as recordings and disk images can have
 * equal beginnings. Of 160 files of 16 MiB, a quarter of which differed at the end, 1,289 MiB were
 * read instead of 1,929. */
#define END_FIRST_BYTES (UINT64_C(4) << 20)

static bool compares_ends_first(const struct comparison *c)
{
	return c->prefix->key.size >= END_FIRST_BYTES && !disk_order_is_on(&c->contents->order);
}

static int compare_files(struct comparison *c, void *memory, size_t budget)
{
	struct refinement refinement = {.calls = &refine_calls,
					.context = c,
					.size_bytes = c->prefix->key.size,
					.memory = memory,
					.budget_bytes = budget,
					.seed = c->contents->seed,
					.hash_later = c->large_holes,
					.end_first = compares_ends_first(c)};
	AUTO_FREE struct strand **strands = calloc(c->count ? c->count : 1, sizeof(*strands));
	int r;

	if (!strands)
		return -ENOMEM;
	for (size_t i = 0; i < c->count; i++) {
		c->list[i].strand.file = &c->list[i];
		strands[i] = &c->list[i].strand;
	}
	c->keep_open = c->count <= c->descriptors;
	if (c->count == 1)
		return emit(c, strands[0], NULL);
	r = refine(&refinement, strands, c->count);
	for (size_t i = 0; i < c->count; i++)
		reading_abandon(&c->list[i].reading);
	if (r == -E2BIG) {
		note_too_many(c);
		r = 0;
	}
	return r;
}

/* Returns true if a rival could not be read. A file that was found equal to no group is then
 * possibly equal to the rival's group. */
static bool rival_is_lost(const struct comparison *c)
{
	for (size_t i = 0; i < c->count; i++) {
		if (!c->list[i].first && !c->list[i].decided)
			return true;
	}
	return false;
}

/* Adds the results of the prefix. If a rival was lost, classes without a group are postponed. */
static int hand_over(struct comparison *c, bool lost)
{
	const struct class_result *classes = (const void *)c->classes.data;
	const struct file_result *files = (const void *)c->files.data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->classes.length / sizeof(*classes); i++) {
		if (lost && !classes[i].group)
			atomic_fetch_add(&c->contents->postponed, classes[i].count);
		else
			r = results_add_class(&c->contents->results, &classes[i],
					      files + classes[i].first);
	}
	return r;
}

static int compare_prefix(struct comparison *c, void *memory, size_t budget)
{
	bool lost = true;
	int r = 0;

	for (c->attempt = 0; r == 0 && lost && c->attempt < ATTEMPTS_MAX; c->attempt++) {
		c->count = c->files.length = c->classes.length = 0;
		c->large_holes = false;
		r = find_files(c);
		if (r == 0)
			r = compare_files(c, memory, budget);
		lost = rival_is_lost(c);
	}
	return r < 0 ? r : hand_over(c, lost);
}

static size_t descriptor_budget(unsigned int threads)
{
	uint64_t most = descriptors_max(), budget;

	if (most <= DESCRIPTORS_LEFT)
		return 1;
	budget = (most - DESCRIPTORS_LEFT) / threads / 2;
	return budget < DESCRIPTORS_MAX ? budget : DESCRIPTORS_MAX;
}

static void refine_prefixes(struct comparison *c, void *memory, size_t budget)
{
	struct contents *contents = c->contents;
	uint32_t at;
	int r;

	while (!contents->failure && !stop_requested()) {
		at = atomic_fetch_add(&contents->next, 1);
		if (at >= contents->end)
			break;
		c->prefix = contents->undecided[at];
		r = compare_prefix(c, memory, budget);
		if (r < 0 && r != -ECANCELED)
			fail(contents, r);
	}
}

/* Compares the undecided prefixes (candidates.h) block by block until none is left. Each comparing
 * thread runs this function. Takes a struct contents and returns NULL. */
static void *compare_run(void *context)
{
	struct contents *contents = context;
	unsigned int threads = contents->comparers;
	struct comparison c = {.contents = contents,
			       .opener = FILE_OPENER_INIT(contents->ingest->sources)};
	size_t share = BLOCKS_BYTES / threads;
	size_t budget = share < BLOCKS_BYTES_MIN ? BLOCKS_BYTES_MIN : share;
	AUTO_FREE void *memory = memory_pages(budget);

	c.opener.patient = contents->ingest->patient;
	if (!memory) {
		fail(contents, -ENOMEM);
		return NULL;
	}
	c.descriptors = descriptor_budget(threads);
	refine_prefixes(&c, memory, budget);
	file_opener_deinit(&c.opener);
	bytes_free(&c.files);
	bytes_free(&c.classes);
	free(c.list);
	return NULL;
}

/* ---- contents ------------------------------------------------------------------------------- */

/* candidates -> window -> prefixes, read by all threads -> decided ----------> results -> catalog
 *                                                      `-> undecided -> compared -^
 *
 * A window is one round of these stages. Its results are committed while the next window is read.
 * On disks that seek, both stages take files in the order of the disk (contents.h).
 *
 * Memory: 56 bytes for each candidate, about 150 for each prefix, and the bytes of small contents.
 * Candidates and prefixes take at most 16 MiB. On machines with little memory the limits are parts
 * of the available memory.
 */
#define WINDOW_BYTES ((size_t)16 << 20)
#define WINDOW_PART 8
#define BYTES_A_FILE 256
/* A comparison has several windows, so that files are read during most commits. Each window passes
 * through the directories and the index again, so windows are not small. */
#define WINDOW_FILES_MIN ((size_t)32 << 10)
#define WINDOWS 4
#define CACHED_BYTES ((size_t)16 << 20)
#define CACHED_PART 16

/* Minimum number of comparing threads, unless the user chose a number. They often wait for the
 * disk, so several run even on few processors. Each thread needs a few MiB for blocks. */
#define COMPARERS_MIN 4

#define PAUSE_MS_MIN 25
#define PAUSE_MS_MAX 400

/* ---- one window ---------------------------------------------------------------------- */

/* Adds the results of a prefix whose files need not be compared further. */
static int emit_decided(struct contents *contents, const struct prefix *prefix, struct bytes *files)
{
	const struct candidate *window = contents->window.list, *candidate;
	struct class_result class = {.size = prefix->key.size, .hash = prefix->key.hash};
	int r = 0;

	for (const struct content *content = prefix->contents; content; content = content->next) {
		files->length = 0;
		for (uint32_t at = content->first; r == 0 && at; at = candidate->next) {
			candidate = &window[at - 1];
			r = bytes_append(files,
					 &(struct file_result){candidate->file, candidate->digest,
							       prefix_of(prefix->key.hash)},
					 sizeof(struct file_result));
		}
		class.count = content->count;
		if (r == 0)
			r = results_add_class(&contents->results, &class,
					      (const void *)files->data);
		if (r < 0)
			return r;
	}
	if (!is_small(prefix->key.size))
		count_done(contents, prefix->files, size_multiply(prefix->files, prefix->key.size));
	return 0;
}

static int add_undecided(struct contents *contents, struct prefix *prefix)
{
	int r = array_reserve(&contents->undecided, &contents->undecided_capacity,
			      contents->undecided_count + 1, sizeof(struct prefix *));

	if (r == 0)
		contents->undecided[contents->undecided_count++] = prefix;
	return r;
}

static bool has_rivals(const struct contents *contents, const struct prefix *prefix)
{
	return contents->window.list[prefix->contents->first - 1].rivals;
}

/* Adds the results of decided prefixes, and lists the prefixes that have to be compared. */
static int sort_prefixes(struct contents *contents)
{
	CLEANUP_BYTES struct bytes files = {0};
	struct prefix *prefix, *next;
	int r;

	contents->undecided_count = 0;
	HASH_ITER(hh, contents->prefixes.table, prefix, next)
	{
		if (prefix->undecided || has_rivals(contents, prefix))
			r = add_undecided(contents, prefix);
		else
			r = emit_decided(contents, prefix, &files);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Pieces of work [first, end), and how many of them a thread takes at a time. */
struct window_work {
	uint32_t first, end;
	uint32_t at_a_time;
	unsigned int threads; /* maximum */
};

/* Runs body in as many threads as the work needs. Returns 0, -ECANCELED after stop_requested(), or
 * -errno. */
static int run(struct contents *contents, void *(*body)(void *), const struct window_work *work)
{
	uint32_t wanted = (work->end - work->first + work->at_a_time - 1) / work->at_a_time;
	int r;

	atomic_store(&contents->next, work->first);
	contents->end = work->end;
	r = threads_run(wanted < work->threads ? wanted : work->threads, body, contents);
	if (r < 0)
		return r;
	if (contents->failure)
		return contents->failure;
	return stop_requested() ? -ECANCELED : 0;
}

static int read_prefixes(struct contents *contents)
{
	uint32_t count = (uint32_t)contents->window.count;
	int r = 0;

	atomic_store(&contents->next, 0);
	contents->order.arranged = false;
	/* The threads return early if a trial is due. */
	while (r == 0 && contents->next < count && !contents->order.arranged) {
		disk_order_decide(contents, contents->next);
		if (disk_order_is_on(&contents->order))
			r = disk_order_arrange(contents, contents->next);
		if (r == 0)
			r = run(contents, read_prefixes_run,
				&(struct window_work){contents->next, count, READING_WINDOW,
						      contents->readers});
	}
	return r;
}

/* Runs in each thread: fetches the next batch unless another thread does, then compares the current
 * one. */
static void *compare_in_order(void *contents)
{
	disk_batches_fetch_next(contents);
	return compare_run(contents);
}

static int refine_undecided(struct contents *contents)
{
	struct window_work work = {0, (uint32_t)contents->undecided_count, 1, contents->comparers};
	uint32_t count;
	int r;

	disk_order_examine(contents);
	if (!disk_order_is_on(&contents->order))
		return run(contents, compare_run, &work);
	r = disk_batches_make(contents);
	while (r == 0 && (count = disk_batches_next(contents, &work.first, &work.threads)) > 0) {
		work.end = work.first + count;
		r = run(contents, compare_in_order, &work);
	}
	return r;
}

static int compare_undecided(struct contents *contents)
{
	int r;

	results_start_timer(&contents->results);
	r = refine_undecided(contents);
	results_stop_timer(&contents->results);
	return r;
}

/* Compares the files of one window. last: no other window follows. */
static int compare_window(struct contents *contents, bool last)
{
	int r, committed;

	contents->prefixes.window = contents->window.list;
	r = read_prefixes(contents);
	prefixes_close(&contents->prefixes);
	if (r == 0)
		r = sort_prefixes(contents);
	if (r == 0)
		r = results_commit_if_due(&contents->results);
	/* If a size is split between windows, its later files are compared with the earlier ones.
	 * These must be in the catalog by now. */
	if (r == 0 && contents->undecided_count > 0)
		r = results_wait(&contents->results);
	if (r == 0 && contents->undecided_count > 0)
		r = compare_undecided(contents);
	/* Finished results are committed even after a stop. */
	committed = results_commit(&contents->results, r == 0 && !last);
	prefixes_reset(&contents->prefixes);
	return r < 0 ? r : committed;
}

/* ---- all windows --------------------------------------------------------------------- */

static size_t window_files(const struct ingest *ingest)
{
	uint64_t files = atomic_load(&ingest->progress.candidates) / WINDOWS;
	uint64_t most = memory_at_most(WINDOW_BYTES, WINDOW_PART) / BYTES_A_FILE;

	if (files < WINDOW_FILES_MIN)
		files = WINDOW_FILES_MIN;
	return (size_t)(files < most ? files : most);
}

/* Compares the files of these sizes; NULL: all sizes. */
static int compare_all(struct contents *contents, const struct ingest_sizes *sizes,
		       bool skip_errors)
{
	struct candidates candidates = {.catalog = contents->ingest->catalog,
					.window_files = window_files(contents->ingest),
					.skip_errors = skip_errors,
					.range = contents->ingest->range,
					.sizes = sizes};
	int r = candidates_begin(&candidates);

	while (r == 0) {
		r = candidates_next(&candidates, &contents->window);
		if (r < 0 || contents->window.count == 0)
			break;
		r = compare_window(contents, candidates_are_done(&candidates));
	}
	return r;
}

/* Repeats the comparison until no file is postponed, or until patience_ms ends. */
static int compare_until_quiet(struct contents *contents)
{
	uint64_t patience_ns = contents->ingest->settings->patience_ms * MS_NS;
	uint64_t begun = clock_monotonic_ns();
	unsigned int pause_ms = PAUSE_MS_MIN;
	int r = compare_all(contents, NULL, false);

	while (r == 0 && contents->postponed > 0 && clock_monotonic_ns() - begun < patience_ns) {
		clock_sleep_ms(pause_ms);
		if (pause_ms < PAUSE_MS_MAX)
			pause_ms *= 2;
		atomic_store(&contents->postponed, 0);
		contents->repeats = true;
		r = compare_all(contents, NULL, true);
	}
	return r;
}

/* The files that wait to be compared in one state of the index. */
struct pending {
	uint64_t files, bytes;
	uint64_t errors; /* objects that could not be read */
	uint64_t generation; /* of that state */
};

static int count_pending(struct ingest *ingest, struct pending *pending)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct catalog_totals totals = {0};
	int r = catalog_read_begin(ingest->catalog, &reader);

	*pending = (struct pending){0};
	if (r == 0)
		r = catalog_count_pending(reader, &pending->files, &pending->bytes);
	if (r == 0)
		r = catalog_get_totals(reader, &totals);
	pending->errors = totals.errors;
	pending->generation = totals.generation;
	return r;
}

/* Sets the totals of the progress. */
static void set_progress(struct ingest *ingest, const struct pending *pending)
{
	/* If ranges of sizes are compared one after the other, their figures add up. */
	atomic_store(&ingest->progress.candidates,
		     atomic_load(&ingest->progress.compared) + pending->files);
	atomic_store(&ingest->progress.candidate_bytes,
		     size_add(atomic_load(&ingest->progress.compared_bytes), pending->bytes));
}

static void set_threads(struct contents *contents)
{
	unsigned int given = contents->ingest->settings->threads;
	unsigned int comparers = threads_that_compute();

	if (comparers < COMPARERS_MIN)
		comparers = COMPARERS_MIN;
	contents->readers = threads_with_files(given ? given : threads_that_read());
	contents->comparers = threads_with_files(given ? given : comparers);
}

static void contents_init(struct contents *contents, struct ingest *ingest, bool trial_due)
{
	*contents = (struct contents){.ingest = ingest,
				      .prefixes = {.budget_bytes =
							   (size_t)memory_at_most(CACHED_BYTES,
										  CACHED_PART)}};
	set_threads(contents);
	if (random_fill(&contents->seed, sizeof(contents->seed)) < 0)
		contents->seed = clock_monotonic_ns();
	contents->prefixes.seed = contents->seed;
	/* The kernel sends SIGIO to this process if a writer has to wait for one of its leases. */
	(void)signal(SIGIO, SIG_IGN);
	pthread_mutex_init(&contents->prefixes_lock, NULL);
	results_init(&contents->results, ingest->catalog, ingest->hooks);
	disk_order_init(&contents->order, ingest, trial_due);
}

static void contents_deinit(struct contents *contents)
{
	results_deinit(&contents->results);
	disk_order_deinit(&contents->order);
	window_free(&contents->window);
	prefixes_reset(&contents->prefixes);
	arena_free(&contents->prefixes.memory);
	free(contents->undecided);
	pthread_mutex_destroy(&contents->prefixes_lock);
}

/* As ingest_contents(), but does not end the scan. Sets *pending to the files that are left:
 * postponed files, files that could not be decided without these, and files that were deleted after
 * the walk. */
static int compare_unread(struct ingest *ingest, struct pending *pending)
{
	struct contents contents;
	int r = count_pending(ingest, pending);

	set_progress(ingest, pending);
	ingest->result.pending = 0;
	/* files that could not be read are tried again */
	if (r < 0 || (pending->files == 0 && pending->errors == 0))
		return r;
	contents_init(&contents, ingest, ingest->may_seek);
	contents.results.of_scan = true;
	r = compare_until_quiet(&contents);
	ingest->result.errors += contents.errors;
	ingest->result.stopped |= r == -ECANCELED;
	if (r == 0)
		r = count_pending(ingest, pending);
	if (r == 0)
		ingest->result.pending = pending->files;
	contents_deinit(&contents);
	return r == -ECANCELED ? 0 : r;
}

static int end_body(struct catalog_writer *w, void *context)
{
	const struct pending *pending = context;

	catalog_end_scan(w, pending->files == 0 && pending->generation == catalog_generation(w));
	return catalog_know_folders(w);
}

int ingest_contents(struct ingest *ingest)
{
	struct catalog_totals totals = {0};
	struct pending pending;
	int r = compare_unread(ingest, &pending);

	if (r < 0 || ingest->result.stopped || ingest->range.below)
		return r;
	r = catalog_totals_now(ingest->catalog, &totals);
	return r == 0 && totals.unended ? catalog_write(ingest->catalog, end_body, &pending) : r;
}

int ingest_compare(struct ingest *ingest, const struct ingest_sizes *sizes)
{
	struct contents contents;
	int r;

	contents_init(&contents, ingest, false);
	contents.errors_logged = true;
	r = compare_all(&contents, sizes, true);
	ingest->result.stopped |= r == -ECANCELED;
	ingest->result.pending = contents.postponed;
	contents_deinit(&contents);
	return r == -ECANCELED ? 0 : r;
}
