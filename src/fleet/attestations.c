/* SPDX-License-Identifier: MIT */
#include "fleet/attestations.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/sort.h"
#include "fleet/file_list.h"
#include "fleet/json_lines.h"
#include "fleet/row_set.h"
#include "row/fields.h"
#include "row/json_text.h"

/* ---- attestation file ----------------------------------------------------------------------- */

/* Room for a name. The temporary name is attested-HOST-NUMBER.jsonl.new, with another NUMBER for
 * each process, so that no process gives the file of another one its name. */
#define NAME_SIZE (sizeof("attested--.jsonl.new") + HOST_NAME_BYTES_MAX + NUMBER_DIGITS)
#define NUMBER_DIGITS 16
#define TEMPORARY_SUFFIX ".jsonl.new"

#define FORMAT "twinfs-attestation"

/* ---- lines --------------------------------------------------------------------------- */

/* The first line. */
struct attestation_head {
	char format[sizeof("twinfs-attestation")];
	uint32_t schema;
	char plan[PLAN_DIGITS + 1];
	char host[HOST_NAME_BYTES_MAX + 1];
	uint8_t list[SHA256_BYTES]; /* SHA-256 of the keep list */
	int64_t begun, created; /* seconds since 1970 */
	uint64_t rows;
};

/* A line for a content of the keep list. */
struct attestation_row {
	uint8_t sha256[SHA256_BYTES];
	uint64_t size; /* bytes */
	bool kept;
	/* The file that is kept. No chmod, link or rename changes these. */
	uint64_t inode;
	int64_t born_ns;
	const char *reason; /* why the content is not kept; not read */
};

#define HEAD(member, key, type) FIELD(struct attestation_head, member, key, type)
#define NO_TIMES "it has no valid times"

static const struct field head_fields[] = {
	{HEAD(format, "format", FIELD_TEXT), .count = sizeof(FORMAT), REQUIRED("it has no format")},
	{HEAD(schema, "schema", FIELD_COUNT), REQUIRED("it has no schema")},
	{FIELD_PLAN(struct attestation_head, plan)},
	{FIELD_HOST(struct attestation_head, host, "host"), .fault = "it has no valid host"},
	{HEAD(list, "list", FIELD_SHA256), REQUIRED("it does not name its keep list")},
	{HEAD(begun, "begun", FIELD_SECONDS), REQUIRED(NO_TIMES)},
	{HEAD(created, "created", FIELD_SECONDS), REQUIRED(NO_TIMES)},
	{HEAD(rows, "rows", FIELD_SIZE), REQUIRED("it has no number of rows")},
};

#define ROW(member, key, type) FIELD(struct attestation_row, member, key, type)
#define NO_FILE "it does not say which file is kept"

static const struct field row_fields[] = {
	{ROW(sha256, "sha256", FIELD_SHA256), REQUIRED("it has no valid sha256")},
	{ROW(size, "size", FIELD_SIZE), .min = 1, REQUIRED("it has no valid size")},
	{ROW(kept, "kept", FIELD_BOOL), REQUIRED("it does not say whether the content is kept")},
};

static const struct field kept_fields[] = {
	{ROW(inode, "inode", FIELD_HEX64), REQUIRED(NO_FILE)},
	{ROW(born_ns, "born", FIELD_HEX64), REQUIRED(NO_FILE)},
};

static const struct field lost_fields[] = {
	{ROW(reason, "reason", FIELD_PATH)},
};

/* Returns 0, -EPROTO or -ENOMEM. */
static int attestation_row_get(const struct json_lines *lines, const json_t *object,
			       struct attestation_row *row)
{
	int r;

	*row = (struct attestation_row){.size = 0};
	r = json_lines_get(lines, object, row, FIELDS(row_fields));
	if (r < 0 || row->kept)
		return r < 0 ? r : json_lines_get(lines, object, row, FIELDS(kept_fields));
	return json_is_string(json_object_get(object, "reason"))
		       ? 0
		       : json_lines_complain(lines, "it has no reason");
}

/* ---- the folder ---------------------------------------------------------------------- */

static int explain_writing(const struct attestation_file *file, int error)
{
	const char *remedy = output_folder_remedy(error);

	if (error < 0 && error != -ENOMEM)
		log_error("cannot write the attestation to %s: %s%s%s", quote_path(file->folder),
			  error_text(error), remedy ? "; " : "", remedy ? remedy : "");
	return error;
}

static bool is_left(const char *name, const char *host)
{
	char prefix[NAME_SIZE];
	size_t length = (size_t)snprintf(prefix, sizeof(prefix), "attested-%s-", host);

	return strncmp(name, prefix, length) == 0 &&
	       strspn(name + length, "0123456789abcdef") == NUMBER_DIGITS &&
	       strcmp(name + length + NUMBER_DIGITS, TEMPORARY_SUFFIX) == 0;
}

static int remove_left(void *context, int directory, const struct dirent *entry)
{
	const struct attestation_file *file = context;

	if (!is_left(entry->d_name, file->list->host))
		return 0;
	return unlinkat(directory, entry->d_name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int attestation_file_init(struct attestation_file *file, const char *folder,
			  const struct file_list *list)
{
	bool made;

	*file = (struct attestation_file){.folder = folder, .list = list};
	file->fd = output_folder_open(folder, &made);
	return explain_writing(file, file->fd < 0 ? file->fd
						  : directory_visit(file->fd, remove_left, file));
}

void attestation_file_deinit(struct attestation_file *file)
{
	cleanup_close(&file->fd);
	file->fd = -1;
}

/* ---- the file ------------------------------------------------------------------------ */

static int append_head(struct new_file *new, const struct file_list *list, struct timespec begun)
{
	CLEANUP_BYTES struct bytes line = {0};
	struct attestation_head head = {
		.format = FORMAT,
		.schema = 1,
		.begun = begun.tv_sec,
		.created = clock_now().tv_sec,
		.rows = list->count,
	};
	int r;

	memcpy(head.plan, list->plan, sizeof(head.plan));
	memcpy(head.host, list->host, sizeof(head.host));
	memcpy(head.list, list->sha256, sizeof(head.list));
	r = fields_append_line(&line, &head, FIELDS(head_fields));
	return r < 0 ? r : new_file_append(new, line.data, line.length);
}

static int append_row(struct new_file *new, const struct listed_file *listed,
		      const struct attested *attested)
{
	CLEANUP_BYTES struct bytes line = {0};
	json_auto_t *object = json_object();
	struct attestation_row row = {
		.size = listed->size,
		.kept = attested->state == ATTESTED_KEPT,
		.inode = attested->inode,
		.born_ns = attested->born_ns,
	};
	int r = object ? 0 : -ENOMEM;

	memcpy(row.sha256, listed->sha256, SHA256_BYTES);
	if (!row.kept)
		row.reason = attested_reason(attested->state);
	if (r == 0)
		r = fields_set(object, &row, FIELDS(row_fields));
	if (r == 0)
		r = fields_set(object, &row, row.kept ? FIELDS(kept_fields) : FIELDS(lost_fields));
	if (r == 0)
		r = json_append_line(&line, object, JSON_COMPACT);
	return r < 0 ? r : new_file_append(new, line.data, line.length);
}

int attestation_file_write(const struct attestation_file *file, const struct attested *results,
			   struct timespec begun)
{
	const struct file_list *list = file->list;
	CLEANUP_NEW_FILE struct new_file new = {.fd = -1};
	char name[NAME_SIZE], temporary[NAME_SIZE];
	uint64_t number;
	int r;

	if (random_fill(&number, sizeof(number)) < 0)
		return explain_writing(file, -EIO);
	(void)snprintf(name, sizeof(name), "attested-%s.jsonl", list->host);
	(void)snprintf(temporary, sizeof(temporary), "attested-%s-%016" PRIx64 TEMPORARY_SUFFIX,
		       list->host, number);
	r = new_file_begin(&new, file->fd, temporary);
	if (r == 0)
		r = append_head(&new, list, begun);
	for (size_t i = 0; r == 0 && i < list->count; i++)
		r = append_row(&new, &list->rows[i], &results[i]);
	return explain_writing(file, r == 0 ? new_file_commit(&new, name) : r);
}

/* ---- attestations --------------------------------------------------------------------------- */

/* The clocks of two hosts can differ by this much. */
#define SKEW_SECONDS 300

/* A content of the remove list. */
struct wanted_content {
	const uint8_t *sha256; /* borrowed */
	uint64_t size;
};

/* A content that a keeper has attested. */
struct kept {
	size_t content; /* number in struct attestations */
	uint64_t file; /* hash_file() */
	uint16_t keeper;
};

struct attestations {
	const struct file_list *list; /* borrowed */
	struct wanted_content *contents; /* sorted, each once */
	size_t count;
	struct kept *kept; /* sorted by content, then by keeper */
	size_t kept_count, kept_capacity;
	uint64_t *files; /* those of kept, sorted */
};

/* Why the attestation of a keeper does not count. */
enum refusal {
	REFUSED_MISSING,
	REFUSED_OTHER_PLAN,
	REFUSED_OTHER_LIST,
	REFUSED_OLD,
	REFUSED_FUTURE,
	ACCEPTED,
};

/* The state of reading a folder. */
struct attestation_reading {
	struct attestations *found;
	const char *folder;
	uint64_t max_age_s;
	int64_t now; /* seconds since 1970 */
	enum refusal *refusals; /* of each keeper */
	uint8_t *seen; /* a bit for each content: the current file has a row of it */
	struct json_lines lines; /* of the current file */
	const char *name; /* of that file */
	size_t keeper; /* whose file it is */
	int file_result; /* of the current file; failures are logged */
};

static const struct json_lines_words words = {
	"the attestation",
	"nothing was removed; copy the file from its host again, or remove it",
	"it does not begin an attestation",
	"the attestation has another schema than this version of twinfs can read, which is 1",
};

/* ---- contents ---------------------------------------------------------------------------- */

static bool get_bit(const uint8_t *bits, size_t number)
{
	return bits[number / 8] >> number % 8 & 1;
}

static void set_bit(uint8_t *bits, size_t number)
{
	bits[number / 8] |= (uint8_t)(1U << number % 8);
}

static int compare_contents(const void *left, const void *right)
{
	const struct wanted_content *a = left, *b = right;
	int order = memcmp(a->sha256, b->sha256, SHA256_BYTES);

	return order ? order : numbers_compare(a->size, b->size);
}

/* Lists the contents of the rows, each once. */
static int list_contents(struct attestations *found)
{
	const struct file_list *list = found->list;
	size_t once = 0;

	found->contents = calloc(list->count + 1, sizeof(*found->contents));
	if (!found->contents)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++)
		found->contents[i] =
			(struct wanted_content){list->rows[i].sha256, list->rows[i].size};
	sort_unless_sorted(found->contents, list->count, sizeof(*found->contents),
			   compare_contents);
	for (size_t i = 0; i < list->count; i++) {
		const struct wanted_content *content = &found->contents[i];

		if (once == 0 || compare_contents(&found->contents[once - 1], content) != 0)
			found->contents[once++] = *content;
	}
	found->count = once;
	return 0;
}

/* Finds a content. Returns false if the list does not have it. */
static bool find_content(const struct attestations *found, const uint8_t *sha256, uint64_t size,
			 size_t *number)
{
	const struct wanted_content wanted = {sha256, size};
	const struct wanted_content *content =
		bsearch(&wanted, found->contents, found->count, sizeof(wanted), compare_contents);

	*number = content ? (size_t)(content - found->contents) : 0;
	return content;
}

/* ---- kept files -------------------------------------------------------------------------- */

static uint64_t hash_file(uint64_t inode, uint64_t born)
{
	const uint64_t file[] = {inode, born};

	return hash64(file, sizeof(file), 0);
}

static int add_kept(struct attestations *found, const struct kept *kept)
{
	int r = array_reserve(&found->kept, &found->kept_capacity, found->kept_count + 1,
			      sizeof(*found->kept));

	if (r == 0)
		found->kept[found->kept_count++] = *kept;
	return r;
}

static int compare_kept(const void *left, const void *right)
{
	const struct kept *a = left, *b = right;
	int order = numbers_compare(a->content, b->content);

	return order ? order : numbers_compare(a->keeper, b->keeper);
}

/* Returns what a keeper has attested about a content, or NULL. */
static const struct kept *find_kept(const struct attestations *found, size_t content,
				    uint16_t keeper)
{
	const struct kept wanted = {.content = content, .keeper = keeper};

	return found->kept_count > 0 ? bsearch(&wanted, found->kept, found->kept_count,
					       sizeof(wanted), compare_kept)
				     : NULL;
}

bool attestations_have_file(const struct attestations *attestations, uint64_t inode,
			    int64_t born_ns)
{
	const uint64_t wanted = hash_file(inode, (uint64_t)born_ns);

	return attestations->kept_count > 0 &&
	       bsearch(&wanted, attestations->files, attestations->kept_count, sizeof(wanted),
		       numbers_by_value);
}

/* Sorts what was read. */
static int sort_kept(struct attestations *found)
{
	sort_unless_sorted(found->kept, found->kept_count, sizeof(*found->kept), compare_kept);
	found->files = calloc(found->kept_count + 1, sizeof(*found->files));
	if (!found->files)
		return -ENOMEM;
	for (size_t i = 0; i < found->kept_count; i++)
		found->files[i] = found->kept[i].file;
	sort_unless_sorted(found->files, found->kept_count, sizeof(*found->files),
			   numbers_by_value);
	return 0;
}

/* ---- a file ------------------------------------------------------------------------------ */

static int read_row(void *context, const json_t *object)
{
	struct attestation_reading *reading = context;
	struct attestations *found = reading->found;
	struct attestation_row row;
	size_t number;
	int r = attestation_row_get(&reading->lines, object, &row);

	if (r < 0 || !find_content(found, row.sha256, row.size, &number))
		return r;
	if (get_bit(reading->seen, number))
		return json_lines_complain(&reading->lines, "an earlier line has the same content");
	set_bit(reading->seen, number);
	if (!row.kept)
		return 0;
	return add_kept(found, &(struct kept){number, hash_file(row.inode, (uint64_t)row.born_ns),
					      (uint16_t)reading->keeper});
}

/* Finds the number of a keeper. Returns false if the list does not name the host. */
static bool find_keeper(const struct file_list *list, const char *host, size_t *keeper)
{
	for (*keeper = 0; *keeper < list->keeper_count; ++*keeper) {
		if (strcmp(list->keepers[*keeper].host, host) == 0)
			return true;
	}
	return false;
}

static enum refusal judge(const struct attestation_reading *reading,
			  const struct attestation_head *head, size_t keeper)
{
	const struct file_list *list = reading->found->list;

	if (strcmp(head->plan, list->plan) != 0)
		return REFUSED_OTHER_PLAN;
	if (memcmp(head->list, list->keepers[keeper].list, SHA256_BYTES) != 0)
		return REFUSED_OTHER_LIST;
	if (head->begun > reading->now + SKEW_SECONDS)
		return REFUSED_FUTURE;
	return head->begun < reading->now &&
			       (uint64_t)(reading->now - head->begun) > reading->max_age_s
		       ? REFUSED_OLD
		       : ACCEPTED;
}

/* The name of a file, attested-HOST.jsonl. */
#define PREFIX "attested-"
#define SUFFIX ".jsonl"

static bool is_attestation(const char *name)
{
	size_t length = strlen(name);

	return length >= strlen(PREFIX SUFFIX) && strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
	       strcmp(name + length - strlen(SUFFIX), SUFFIX) == 0;
}

/* Checks that the file is named for the host that wrote it. So a host has one attestation. */
static int check_name(const struct attestation_reading *reading, const char *host)
{
	char expected[NAME_SIZE];

	(void)snprintf(expected, sizeof(expected), PREFIX "%s" SUFFIX, host);
	return strcmp(reading->name, expected) == 0
		       ? 0
		       : json_lines_complain(
				 &reading->lines,
				 "it is of another host than the name of the file says");
}

static int read_head(void *context, const json_t *object, uint64_t *rows)
{
	struct attestation_reading *reading = context;
	struct attestation_head head = {.rows = 0};
	enum refusal refusal;
	int r = json_lines_check_format(&reading->lines, object, FORMAT);

	if (r == 0)
		r = json_lines_get(&reading->lines, object, &head, FIELDS(head_fields));
	if (r == 0)
		r = check_name(reading, head.host);
	if (r < 0)
		return r;
	if (!find_keeper(reading->found->list, head.host, &reading->keeper))
		return JSON_LINES_SKIPPED;
	refusal = judge(reading, &head, reading->keeper);
	reading->refusals[reading->keeper] = refusal;
	if (refusal != ACCEPTED)
		return JSON_LINES_SKIPPED;
	memset(reading->seen, 0, reading->found->count / 8 + 1);
	*rows = head.rows;
	return 0;
}

/* Opens a file. Never blocks on a FIFO. */
static int open_file(int directory, const char *name, const char *path)
{
	int fd = open_beneath_for_reading(directory, name, 0, true);
	struct stat status;

	if (fd < 0 && fd != -ELOOP) {
		log_error("cannot open %s: %s; nothing was removed", quote_path(path),
			  error_text(fd));
		return fd;
	}
	if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return fd;
	if (fd >= 0)
		(void)close(fd);
	log_error("cannot use %s %s: it is no regular file; %s", words.noun, quote_path(path),
		  words.remedy);
	return -EPROTO;
}

static int read_file(struct attestation_reading *reading, int directory, const char *name)
{
	static const struct json_lines_form form = {read_head, read_row};
	CLEANUP_BYTES struct bytes path = {0};
	AUTO_CLOSE int fd = -1;
	int r = bytes_format(&path, "%s/%s", reading->folder, name);

	if (r < 0 || !bytes_text(&path))
		return -ENOMEM;
	fd = open_file(directory, name, bytes_text(&path));
	if (fd < 0)
		return fd;
	r = json_lines_init(&reading->lines, fd, bytes_text(&path), &words);
	reading->name = name;
	if (r == 0)
		r = json_lines_read(&reading->lines, &form, reading);
	json_lines_deinit(&reading->lines);
	return r < 0 ? r : 0;
}

static int read_entry(void *context, int directory, const struct dirent *entry)
{
	struct attestation_reading *reading = context;

	if (is_attestation(entry->d_name))
		reading->file_result = read_file(reading, directory, entry->d_name);
	return reading->file_result;
}

/* ---- the folder -------------------------------------------------------------------------- */

/* Names the keepers whose attestations do not count. */
static void explain(const struct attestation_reading *reading)
{
	static const char *const reasons[] = {
		[REFUSED_MISSING] = "it is missing",
		[REFUSED_OTHER_PLAN] = "it is of another plan",
		[REFUSED_OTHER_LIST] = "it is of another keep list than the remove list names",
		[REFUSED_OLD] = "it is older than --max-age allows",
		[REFUSED_FUTURE] = "it was begun in the future; check the clocks of both hosts",
	};
	const struct file_list *list = reading->found->list;

	for (size_t i = 0; i < list->keeper_count; i++) {
		if (reading->refusals[i] != ACCEPTED)
			log_warning("the attestation of %s in %s does not count: %s; run 'twinfs "
				    "attest' there, and copy its output",
				    list->keepers[i].host, quote_path(reading->folder),
				    reasons[reading->refusals[i]]);
	}
}

static int read_folder(struct attestation_reading *reading)
{
	AUTO_CLOSE int fd = open(reading->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : 0;

	if (r < 0) {
		log_error("cannot open the folder of attestations %s: %s",
			  quote_path(reading->folder), error_text(r));
		return r;
	}
	r = directory_visit(fd, read_entry, reading);
	if (r < 0 && r != reading->file_result)
		log_error("cannot read the folder of attestations %s: %s",
			  quote_path(reading->folder), error_text(r));
	return r;
}

int attestations_read(struct attestations **attestations, const struct file_list *list,
		      const char *folder, uint64_t max_age_s)
{
	struct attestations *found = calloc(1, sizeof(*found));
	struct attestation_reading reading = {
		.found = found,
		.folder = folder,
		.max_age_s = max_age_s,
		.now = clock_now().tv_sec,
		.refusals = calloc(list->keeper_count + 1, sizeof(*reading.refusals)),
	};
	int r = found && reading.refusals ? 0 : -ENOMEM;

	*attestations = NULL;
	if (r == 0) {
		found->list = list;
		r = list_contents(found);
	}
	if (r == 0)
		reading.seen = malloc(found->count / 8 + 1);
	if (r == 0)
		r = reading.seen ? read_folder(&reading) : -ENOMEM;
	if (r == 0)
		r = sort_kept(found);
	if (r == 0) {
		explain(&reading);
		*attestations = TAKE(found);
	}
	free(reading.seen);
	free(reading.refusals);
	attestations_free(found);
	return r;
}

void attestations_free(struct attestations *attestations)
{
	if (!attestations)
		return;
	free(attestations->contents);
	free(attestations->kept);
	free(attestations->files);
	free(attestations);
}

/* ---- queries ----------------------------------------------------------------------------- */

/* Returns whether an earlier keeper of the row has attested the same file of a content, on a disk
 * that both see. */
static bool is_seen_twice(const struct attestations *attestations, size_t content,
			  const struct listed_file *row, uint16_t place)
{
	uint64_t file = find_kept(attestations, content, row->keepers[place])->file;

	for (uint16_t i = 0; i < place; i++) {
		const struct kept *kept = find_kept(attestations, content, row->keepers[i]);

		if (kept && kept->file == file)
			return true;
	}
	return false;
}

size_t attestations_count(const struct attestations *attestations, const struct listed_file *row)
{
	size_t content, count = 0;

	if (!find_content(attestations, row->sha256, row->size, &content))
		return 0;
	for (uint16_t i = 0; i < row->keeper_count; i++)
		count += find_kept(attestations, content, row->keepers[i]) &&
			 !is_seen_twice(attestations, content, row, i);
	return count;
}

int attestations_hosts(const struct attestations *attestations, const struct listed_file *row,
		       struct bytes *text)
{
	size_t content;
	bool any = false;
	int r = 0;

	if (!find_content(attestations, row->sha256, row->size, &content))
		return 0;
	for (uint16_t i = 0; r == 0 && i < row->keeper_count; i++) {
		if (!find_kept(attestations, content, row->keepers[i]))
			continue;
		r = bytes_format(text, "%s%s", any ? ", " : "",
				 attestations->list->keepers[row->keepers[i]].host);
		any = true;
	}
	return r;
}
