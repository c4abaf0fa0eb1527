/* SPDX-License-Identifier: MIT */
#include "ingest/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "base/stop.h"
#include "catalog/scan.h"
#include "ingest/contents_state.h"
#include "ingest/disk_fetch.h"
#include "ingest/refine.h"

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
	bool lost; /* the file could not be opened or its digest changed; it is not read again */
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
	struct strand **strands;
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
		contents_note_problem(c->contents, reader, &file, what, NULL);
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
		contents_note_problem(c->contents, reader, &file, r, &compared->reading);
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

static void abandon(void *context, struct strand *strand)
{
	(void)context;
	reading_abandon(&compared_of(strand)->reading);
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
	if (compared->counted && compared->read_bytes + length <= c->prefix->key.size) {
		contents_count_done(c->contents, 0, length);
		compared->read_bytes += length;
	}
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
		contents_count_done(c->contents, 1, c->prefix->key.size - compared->read_bytes);
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

		compared->decided = !is_stale_representative(compared, hash);
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

static int compare_files(struct comparison *c, void *memory, size_t budget)
{
	struct refinement refinement = {.calls = &refine_calls,
					.context = c,
					.size_bytes = c->prefix->key.size,
					.memory = memory,
					.budget_bytes = budget,
					.seed = c->contents->seed,
					.hash_later = c->large_holes};
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
	struct rlimit limit;
	size_t budget = DESCRIPTORS_MAX;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur <= DESCRIPTORS_LEFT)
		return 1;
	if (limit.rlim_cur != RLIM_INFINITY &&
	    (limit.rlim_cur - DESCRIPTORS_LEFT) / threads / 2 < budget)
		budget = (limit.rlim_cur - DESCRIPTORS_LEFT) / threads / 2;
	return budget;
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
			contents_fail(contents, r);
	}
}

void *compare_run(void *context)
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
		contents_fail(contents, -ENOMEM);
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
