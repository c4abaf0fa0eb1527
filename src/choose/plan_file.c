/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/path.h"
#include "base/sort.h"
#include "base/stop.h"
#include "choose/bundle.h"
#include "choose/copies.h"
#include "choose/plan.h"
#include "choose/report.h"
#include "choose/rules.h"
#include "choose/stays.h"
#include "choose/symlinks.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/source.h"
#include "row/json_path.h"
#include "row/json_text.h"
#include "row/line_reader.h"

/* ---- known content -------------------------------------------------------------------------- */

/* What the index knows of the contents of files that a plan names. One thread. */

/* Sets *differ to whether the index knows that two files have different bytes. Returns 0 or
 * -errno. */
static int known_content_differs(struct catalog_reader *reader, uint64_t kept, uint64_t copy,
				 bool *differ)
{
	struct content_record a, b;
	int r = catalog_get_content(reader, kept, &a);

	*differ = false;
	if (r == 0)
		r = catalog_get_content(reader, copy, &b);
	if (r == 0)
		*differ = a.prefix != b.prefix ||
			  (a.group != 0 && b.group != 0 && a.group != b.group);
	return r == -ENOENT ? 0 : r;
}

/* Finds the group and the hash of a file. What the index does not know is zero. Returns 0 or
 * -errno. */
static int known_content_find(struct catalog_reader *reader, uint64_t file,
			      struct group_record *group, struct hash128 *hash)
{
	struct content_record content;
	int r = catalog_get_content(reader, file, &content);

	memset(group, 0, sizeof(*group));
	memset(hash, 0, sizeof(*hash));
	if (r == 0)
		*hash = content.hash;
	if (r == 0 && content.group != 0) {
		r = catalog_get_group(reader, content.group, group);
		*hash = group->hash;
	}
	return r == -ENOENT ? 0 : r;
}

/* ---- plan file ------------------------------------------------------------------------------ */

/* A file that a line names. */
struct mention {
	uint64_t file; /* id of the inode */
	uint64_t line;
	bool stays;
};

/* The state of reading. */
struct plan_reading {
	const char *path;
	int fd;
	struct line_reader lines;
	struct catalog_reader *reader;
	const struct sources *sources;
	const struct report *report;
	struct symlinks *symlinks; /* NULL: not read yet */
	struct act_plan *plan;
	struct refusals *refusals;
	struct bundle_finder bundles;
	struct planned_group group;
	struct mention *mentions;
	size_t mention_count, mention_capacity;
	struct number_set names; /* read so far, see note_name() */
	uint64_t repeated; /* names that were read before */
	uint64_t repeated_line; /* of the first one */
};

static void reading_free(struct plan_reading *reading)
{
	line_reader_deinit(&reading->lines);
	cleanup_close(&reading->fd);
	free(reading->mentions);
	number_set_free(&reading->names);
	symlinks_free(reading->symlinks);
	planned_group_free(&reading->group);
	bundle_finder_free(&reading->bundles);
}

/* Logs what is wrong with the current line. Returns -EPROTO. */
static int complain(const struct plan_reading *reading, const char *fault)
{
	log_error("cannot use the plan %s: line %" PRIu64 ": %s; nothing was done",
		  quote_path(reading->path), reading->lines.line, fault);
	return -EPROTO;
}

/* Logs a failure. Returns it. */
static int fail(const struct plan_reading *reading, int result)
{
	log_error("cannot read the plan %s: %s", quote_path(reading->path), error_text(result));
	return result;
}

static int open_file(struct plan_reading *reading)
{
	int r;

	reading->fd = open(reading->path, O_RDONLY | O_CLOEXEC);
	r = reading->fd < 0
		    ? -errno
		    : line_reader_init(&reading->lines, reading->fd, SIZE_MAX, LINES_OPEN_END);
	return r < 0 ? fail(reading, r) : 0;
}

static bool is_blank(const char *text, size_t length)
{
	while (length > 0 && isspace((unsigned char)text[length - 1]))
		length--;
	return length == 0;
}

/* Reads the next line that is not empty. Returns 0, LINE_END, -EINTR if stop_requested(), or
 * another -errno (logged). */
static int next_line(struct plan_reading *reading, const char **text, size_t *length)
{
	int r;

	do
		r = line_reader_next(&reading->lines, text, length);
	while (r == 0 && is_blank(*text, *length));
	return r < 0 && r != -EINTR ? fail(reading, r) : r;
}

/* Returns whether a line is the first one of a list of what other hosts keep. */
static bool is_of_fleet(const json_t *object)
{
	const char *format = json_string_value(json_object_get(object, "format"));

	return format && strcmp(format, "twinfs-remove") == 0;
}

/* Parses the current line. Returns its list of copies, a member of *object, which the caller frees;
 * or NULL (logged). */
static json_t *parse_line(const struct plan_reading *reading, const char *text, size_t length,
			  json_t **object)
{
	json_t *copies;

	*object = json_read(text, length, JSON_REJECT_DUPLICATES);
	copies = json_object_get(*object, "copies");
	if (!json_is_array(copies)) {
		(void)complain(reading, is_of_fleet(*object)
						? "it is a list of 'twinfs-fleet plan', for "
						  "'twinfs remove --attested'"
						: "it is no group of --dry-run --format=jsonl");
		return NULL;
	}
	return copies;
}

/* ---- one copy ----------------------------------------------------------------------------- */

/* Parses the fate of a copy. Returns 0, or -EPROTO (logged). */
static int get_fate(const struct plan_reading *reading, const json_t *object, enum fate *fate)
{
	const char *word = json_string_value(json_object_get(object, "fate"));
	const json_t *kept = json_object_get(object, "kept");
	enum fate i = FATE_KEPT;

	while (word && i <= FATE_SPARED && strcmp(word, fate_word(i)) != 0)
		i++;
	if (!word || i > FATE_SPARED)
		return complain(reading, "a copy has no fate; it is kept, redundant or spared");
	*fate = i;
	if (kept && json_is_true(kept) != (*fate == FATE_KEPT))
		return complain(reading, "the members kept and fate of a copy do not agree");
	return 0;
}

/* Finds the source of a path. Returns the path below it, or NULL. */
static const char *find_source(const struct sources *sources, const char *path, uint32_t *source)
{
	for (uint32_t i = 0; i < sources->count; i++) {
		const char *below = path_below(path, sources->list[i].path);

		if (below && !path_fault(below, strlen(below))) {
			*source = i;
			return below;
		}
	}
	return NULL;
}

/* Gets the path of a copy, as text. Returns 0, -EPROTO (logged) or -ENOMEM. */
static int get_path(const struct plan_reading *reading, const json_t *object, struct bytes *path)
{
	int r = json_is_object(object) ? json_get_path(object, "path", path) : -EPROTO;

	if (r == -ENOMEM)
		return r;
	if (r < 0 && json_object_get(object, "path") && json_object_get(object, "path_base64"))
		return complain(reading, "path and path_base64 of a copy do not agree");
	if (r < 0 || path->length == 0 || memchr(path->data, '\0', path->length))
		return complain(reading, "a copy has no path");
	return bytes_text(path) ? 0 : -ENOMEM;
}

static int mention(struct plan_reading *reading, uint64_t file, bool stays)
{
	int r = array_reserve(&reading->mentions, &reading->mention_capacity,
			      reading->mention_count + 1, sizeof(*reading->mentions));

	if (r == 0)
		reading->mentions[reading->mention_count++] =
			(struct mention){file, reading->lines.line, stays};
	return r;
}

/* Returns 1 if a name is new, 0 if it would be counted twice, or -ENOMEM. A name can be redundant
 * once in the whole plan, but the kept copy of several lines. If two names had one hash, the second
 * one would not be acted upon. */
static int note_name(struct plan_reading *reading, uint32_t source, const char *below,
		     enum fate fate)
{
	uint64_t line = fate == FATE_KEPT ? reading->lines.line : 0;
	uint64_t hash = hash64(below, strlen(below), line << 32 ^ source);
	int r = number_set_add(&reading->names, hash ? hash : 1);

	if (r == 0 && reading->repeated++ == 0)
		reading->repeated_line = reading->lines.line;
	return r;
}

static void explain_repeated(const struct plan_reading *reading)
{
	char count[NUMBER_TEXT_MAX];

	if (reading->repeated > 0)
		log_warning("the plan %s repeats %s %s, the first one in line %" PRIu64
			    "; each counts once, where it is first",
			    quote_path(reading->path), number_format(count, reading->repeated),
			    plural(reading->repeated, "name", "names"), reading->repeated_line);
}

/* Sets the id (0: not indexed) of the file with a path, and the place of its folder. */
static int find_file(const struct plan_reading *reading, uint32_t source, const char *below,
		     uint64_t *file, struct location *location)
{
	CLEANUP_BYTES struct bytes folder = {0};
	struct entry_record entry;
	int r = catalog_find_path(reading->reader, reading->sources->list[source].root, below,
				  &entry);

	*file = r == 0 && entry.kind == ENTRY_FILE ? entry.child : 0;
	r = *file ? catalog_dir_location(reading->reader, entry.dir, &folder, location) : r;
	return r == -ENOENT ? 0 : r;
}

/* Appends a copy to the group, unless its name was read before. */
static int append_copy(struct plan_reading *reading, uint32_t source, const char *below,
		       enum fate fate)
{
	struct copies *copies = &reading->group.copies;
	struct location location = {0};
	struct copy *copy;
	uint64_t file;
	int r = find_file(reading, source, below, &file, &location);

	if (r == 0 && file != 0)
		r = mention(reading, file, fate == FATE_KEPT);
	if (r == 0)
		r = note_name(reading, source, below, fate);
	if (r <= 0)
		return r;
	r = array_reserve(&copies->list, &copies->capacity, copies->count + 1,
			  sizeof(*copies->list));
	if (r < 0)
		return r;
	copy = &copies->list[copies->count];
	memset(copy, 0, sizeof(*copy)); /* clears the padding as well */
	copy->file = file;
	copy->source = source;
	copy->emptied = location.place;
	copy->fate = fate;
	copy->why = "in the plan";
	copy->path = copies->paths.length;
	copy->lead = copies->count++;
	return bytes_append(&copies->paths, below, strlen(below) + 1);
}

static int read_copy(struct plan_reading *reading, const json_t *object)
{
	CLEANUP_BYTES struct bytes path = {0};
	enum fate fate = FATE_SPARED;
	const char *below;
	uint32_t source;
	int r = get_path(reading, object, &path);

	if (r == 0)
		r = get_fate(reading, object, &fate);
	if (r < 0)
		return r;
	below = find_source(reading->sources, bytes_text(&path), &source);
	if (!below)
		return complain(reading, "a path is not below a source");
	return fate == FATE_SPARED ? 0 : append_copy(reading, source, below, fate);
}

/* ---- one group ---------------------------------------------------------------------------- */

/* Compares copies for qsort(3): first the kept ones, then by inode, then in the order of the
 * plan. */
static int compare_copies(const void *left, const void *right)
{
	const struct copy *a = left, *b = right;
	int order = (int)(b->fate == FATE_KEPT) - (int)(a->fate == FATE_KEPT);

	if (order == 0 && a->fate != FATE_KEPT)
		order = numbers_compare(a->file, b->file);
	return order ? order : numbers_compare(a->lead, b->lead);
}

/* Counts and logs a copy that the plan cannot act upon. */
static void refuse(struct plan_reading *reading, size_t index, enum act_outcome outcome)
{
	const struct act_file file = planned_file(&reading->group, index);
	const struct act_result result = {.outcome = outcome};

	reading->group.copies.list[index].fate = FATE_SPARED;
	refusals_add(reading->refusals, &file, &result);
}

/* Spares a name in a store, or one whose kept file is in a store. */
static int check_stores(struct plan_reading *reading, size_t index)
{
	const struct rules *rules = reading->report->rules;
	const struct copies *copies = &reading->group.copies;
	struct bundle_place kept = {.kind = NULL}, copy = {.kind = NULL};
	int r = 0;

	if (rules->shares_blocks)
		return 0;
	r = bundle_find_name(&reading->bundles, reading->report, copies, index, &copy);
	if (r == 0)
		r = bundle_find_name(&reading->bundles, reading->report, copies, 0, &kept);
	if (r == 0 && (copy.kind || kept.kind))
		refuse(reading, index, copy.kind ? ACT_MANAGED : ACT_KEPT_MANAGED);
	return r;
}

/* Spares a name if the plan cannot act upon it. */
static int check_name(struct plan_reading *reading, size_t index)
{
	const struct copy *kept = &reading->group.copies.list[0];
	const struct copy *copy = &reading->group.copies.list[index];
	enum emptied_place place = planned_place(&reading->group, reading->sources, 0);
	bool differ = false;
	int r = 0;

	if (copy->file == 0) {
		refuse(reading, index, ACT_NOT_INDEXED);
	} else if (kept->file == 0) {
		refuse(reading, index, ACT_KEPT_NOT_INDEXED);
	} else if (place_spares(place, planned_place(&reading->group, reading->sources, index))) {
		refuse(reading, index, act_place_refusal(place));
	} else {
		r = known_content_differs(reading->reader, kept->file, copy->file, &differ);
		if (differ)
			refuse(reading, index, ACT_DIFFERS);
		else if (r == 0)
			r = check_stores(reading, index);
	}
	return r;
}

/* Fills in the records of a name. The hash of a copy is that of the kept file or unknown: only so
 * it is right as long as one of both files is as in the index. */
static int complete_name(struct plan_reading *reading, size_t index)
{
	struct planned_name *name = &reading->group.names[index];
	uint64_t id = reading->group.copies.list[index].file;
	struct group_record group;
	struct file_record file;
	int r = 0;

	memset(&file, 0, sizeof(file));
	memset(name, 0, sizeof(*name));
	if (id != 0)
		r = catalog_get_file(reading->reader, id, &file);
	name->attributes = file.attributes;
	reading->group.copies.list[index].links = file.attributes.links;
	if (r == 0)
		r = known_content_find(reading->reader, id, &group, &name->hash);
	if (r < 0)
		return r;
	if (index == 0)
		reading->group.group = group;
	else if (!hash128_equal(name->hash, reading->group.names[0].hash))
		memset(&name->hash, 0, sizeof(name->hash));
	return 0;
}

/* Fills in the records of the names and of the group. */
static int complete_group(struct plan_reading *reading)
{
	struct planned_group *group = &reading->group;
	int r = array_reserve(&group->names, &group->capacity, group->copies.count,
			      sizeof(*group->names));

	for (size_t i = 0; r == 0 && i < group->copies.count; i++)
		r = complete_name(reading, i);
	if (r < 0)
		return r;
	group->group.size = group->names[0].attributes.size;
	group->group.inodes = group->copies.redundant + 1;
	return 0;
}

/* Spares the copies that an act leaves, although the plan names them. */
static int leave_copies(struct plan_reading *reading)
{
	const struct report *report = reading->report;
	const struct rules *rules = report->rules;
	struct copies *copies = &reading->group.copies;
	int r = 0;

	if (!reading->symlinks)
		r = symlinks_new(&reading->symlinks, report->reader, report->sources, false);
	if (r == 0)
		r = symlinks_find(reading->symlinks, copies);
	for (size_t i = 0, end; r == 0 && i < copies->count; i = end) {
		struct copy *copy = &copies->list[i];

		end = copies_inode_end(copies, i);
		if (copy->fate != FATE_REDUNDANT)
			continue;
		copy->stays_for_links = rules->links && copies_are_held_outside(copies, i, end);
		copy->stays_for_symlinks = !rules->break_symlinks && copy->symlinks > 0;
		if (!copy->stays_for_links && !copy->stays_for_symlinks)
			continue;
		for (size_t j = i; j < end; j++)
			copies->list[j].fate = FATE_SPARED;
	}
	return r < 0 || !report->stays ? r : stay_tally_add(report->stays, report, copies);
}

/* Drops all kept names but the first one and its hard links, sorts the names by inode, and drops
 * those that the plan cannot act upon. */
static int finish_group(struct plan_reading *reading)
{
	struct copies *copies = &reading->group.copies;
	int r;

	if (copies->count == 0)
		return 0;
	qsort(copies->list, copies->count, sizeof(*copies->list), compare_copies);
	if (copies->list[0].fate != FATE_KEPT)
		return complain(reading, "no copy has the fate kept");
	r = complete_group(reading);
	for (size_t i = 1; r == 0 && i < copies->count; i++) {
		struct copy *copy = &copies->list[i];

		if (copy->fate == FATE_REDUNDANT)
			r = check_name(reading, i);
		else if (copy->file != copies->list[0].file)
			copy->fate = FATE_SPARED;
	}
	if (r < 0)
		return r;
	r = leave_copies(reading);
	if (r < 0)
		return r;
	planned_group_drop_spared(&reading->group);
	reading->group.group.inodes = copies->redundant + 1;
	r = retained_find(reading->reader, &reading->group.group, copies);
	return r < 0 ? r : act_plan_add(reading->plan, &reading->group);
}

static int read_group(struct plan_reading *reading, const char *text, size_t length)
{
	struct copies *copies = &reading->group.copies;
	json_t *object = NULL, *member;
	json_t *list = parse_line(reading, text, length, &object);
	int r = list ? 0 : -EPROTO;
	size_t i;

	copies_clear(copies);
	json_array_foreach(list, i, member)
	{
		if (r == 0)
			r = read_copy(reading, member);
	}
	json_decref(object);
	return r < 0 ? r : finish_group(reading);
}

/* ---- the whole file ----------------------------------------------------------------------- */

/* Compares mentions for qsort(3): by file, then by line. */
static int compare_mentions(const void *left, const void *right)
{
	const struct mention *a = left, *b = right;

	return a->file != b->file ? numbers_compare(a->file, b->file)
				  : numbers_compare(a->line, b->line);
}

/* Refuses a plan in which a file both stays and goes. */
static int check_mentions(const struct plan_reading *reading)
{
	const struct mention *first = reading->mentions;

	if (reading->mention_count == 0)
		return 0;
	qsort(reading->mentions, reading->mention_count, sizeof(*reading->mentions),
	      compare_mentions);
	for (size_t i = 1; i < reading->mention_count; i++) {
		const struct mention *other = &reading->mentions[i];

		if (other->file != first->file) {
			first = other;
		} else if (other->stays != first->stays) {
			log_error("cannot use the plan %s: lines %" PRIu64 " and %" PRIu64
				  ": a file is kept in one and redundant in the other, possibly "
				  "as a hard link; nothing was done",
				  quote_path(reading->path), first->line, other->line);
			return -EPROTO;
		}
	}
	return 0;
}

int plan_file_read(const char *path, const struct report *report, struct act_plan *plan,
		   struct refusals *refusals)
{
	CLEANUP(reading_free)
	struct plan_reading reading = {.path = path,
				       .fd = -1,
				       .reader = report->reader,
				       .sources = report->sources,
				       .report = report,
				       .plan = plan,
				       .refusals = refusals};
	const char *text = NULL;
	size_t length = 0;
	int r = open_file(&reading);

	if (r < 0)
		return r;
	while ((r = next_line(&reading, &text, &length)) == 0) {
		r = stop_requested() ? -EINTR : read_group(&reading, text, length);
		if (r < 0)
			return r == -EPROTO || r == -EINTR ? r : fail(&reading, r);
	}
	if (r == LINE_END)
		r = check_mentions(&reading);
	if (r == 0)
		explain_repeated(&reading);
	return r < 0 ? r : act_plan_rewind(plan);
}

/* Refuses a pipe: what is read here would be missing when the plan is read. */
static int check_rereadable(const struct plan_reading *reading)
{
	struct stat status;

	if (fstat(reading->fd, &status) < 0)
		return fail(reading, -errno);
	if (S_ISREG(status.st_mode))
		return 0;
	log_error("the plan %s is no regular file: give its SOURCE..., too",
		  quote_path(reading->path));
	return -EINVAL;
}

int plan_file_first_path(const char *path, struct bytes *first)
{
	CLEANUP(reading_free) struct plan_reading reading = {.path = path, .fd = -1};
	json_t *object = NULL, *copies;
	const char *text = NULL;
	size_t length = 0;
	int r = open_file(&reading);

	if (r == 0)
		r = check_rereadable(&reading);
	if (r == 0) {
		r = next_line(&reading, &text, &length);
		r = r == LINE_END ? -ENODATA : r;
	}
	if (r < 0)
		return r;
	copies = parse_line(&reading, text, length, &object);
	r = copies ? get_path(&reading, json_array_get(copies, 0), first) : -EPROTO;
	json_decref(object);
	return r;
}
