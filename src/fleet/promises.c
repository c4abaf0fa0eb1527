/* SPDX-License-Identifier: MIT */
#include "fleet/promises.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/sort.h"
#include "fleet/file_list.h"
#include "fleet/json_lines.h"
#include "index/store/index_files.h"
#include "row/fields.h"
#include "twinfs/format.h"

#define FORMAT "twinfs-promises"

#define NAME "promises" /* of the file in its folder */
#define ID_MAX ((uint64_t)INT64_MAX) /* largest id: JSON has signed numbers */

struct promise {
	uint8_t sha256[SHA256_BYTES];
	uint64_t size; /* bytes */
	int64_t until; /* seconds since 1970 */
	uint64_t lived; /* promise_file.lived when it was made; 0: an earlier version made it */
};

/* The members of line 1 that the first version did not write. */
struct life {
	uint64_t id; /* random; 0: none yet */
	uint64_t writes; /* how often the file was written */
	/* Seconds that certainly passed since the file was first written: those in which this
	 * machine was running. A wrong clock does not change them. */
	uint64_t lived;
	char boot[BOOT_ID_MAX]; /* during which the file was written */
	uint64_t uptime; /* in seconds, of that boot, when it was written */
};

/* The promises of one owner. */
struct promise_file {
	int folder; /* locked; -1: not open */
	char *path; /* of the file, for messages */
	struct life life;
	/* The life as text; empty: none. The SHA-256 is that of this text and of all lines. */
	struct bytes members;
	struct promise *list; /* sorted, each content once */
	size_t count, capacity;
};

/* Promises are noted twice, because a host can get another index, and an index another host
 * name. */
enum owner {
	OWNER_HOST,
	OWNER_INDEX,
	OWNERS,
};

struct promises {
	struct promise_file files[OWNERS];
	const char *host; /* borrowed */
	uint64_t identity; /* of the index */
	char *index; /* folder of the index */
};

/* Room for the text of the note in the index folder. */
#define NOTE_SIZE (HOST_NAME_BYTES_MAX + 100)

static const struct json_lines_words words = {
	"the promises",
	"nothing was read or removed; move the file away when the last 'twinfs attest' of this "
	"host was more than 14 days ago",
	"it does not begin a file of promises",
	"it has another schema than this version of twinfs can read, which is 1",
};

/* ---- order ------------------------------------------------------------------------------- */

static int compare_contents(const void *left, const void *right)
{
	const struct promise *a = left, *b = right;
	int order = memcmp(a->sha256, b->sha256, SHA256_BYTES);

	return order ? order : numbers_compare(a->size, b->size);
}

/* Orders promises of one content from the longest to the shortest. */
static int compare_promises(const void *left, const void *right)
{
	const struct promise *a = left, *b = right;
	int order = compare_contents(left, right);

	return order ? order : (a->until < b->until) - (a->until > b->until);
}

/* Sorts the promises. Each content stays once, with the longest and the latest promise of it. */
static void sort_once(struct promise_file *file)
{
	size_t once = 0;

	sort_unless_sorted(file->list, file->count, sizeof(*file->list), compare_promises);
	for (size_t i = 0; i < file->count; i++) {
		const struct promise *promise = &file->list[i];

		if (once == 0 || compare_contents(&file->list[once - 1], promise) != 0)
			file->list[once++] = *promise;
		else if (file->list[once - 1].lived < promise->lived)
			file->list[once - 1].lived = promise->lived;
	}
	file->count = once;
}

static int add(struct promise_file *file, const struct promise *promise)
{
	int r = array_reserve(&file->list, &file->capacity, file->count + 1, sizeof(*file->list));

	if (r == 0)
		file->list[file->count++] = *promise;
	return r;
}

/* ---- lines ------------------------------------------------------------------------------- */

#define PROMISE(member, key, type) FIELD(struct promise, member, key, type)
#define NO_PROMISE "it is no promise"

static const struct field promise_fields[] = {
	{PROMISE(sha256, "sha256", FIELD_SHA256), REQUIRED(NO_PROMISE)},
	{PROMISE(size, "size", FIELD_SIZE), REQUIRED(NO_PROMISE)},
	{PROMISE(until, "until", FIELD_SECONDS), REQUIRED(NO_PROMISE)},
	{PROMISE(lived, "lived", FIELD_SIZE), .fault = NO_PROMISE},
};

#define LIFE(member, key, type) FIELD(struct life, member, key, type), .required = true

static const struct field life_fields[] = {
	{LIFE(id, "id", FIELD_SIZE)},
	{LIFE(writes, "writes", FIELD_SIZE)},
	{LIFE(lived, "lived", FIELD_SIZE)},
	{LIFE(boot, "boot", FIELD_TEXT), .count = BOOT_ID_MAX},
	{LIFE(uptime, "uptime", FIELD_SIZE)},
};

/* Makes the text of the life: members that follow others. */
static int set_members(struct promise_file *file)
{
	int r;

	file->members.length = 0;
	r = fields_append_line(&file->members, &file->life, FIELDS(life_fields));
	if (r == 0) {
		file->members.data[0] = ',';
		file->members.length -= strlen("}\n");
	}
	return r;
}

/* Appends the lines of all promises, and computes the SHA-256 of the members and of these lines. */
static int append_all(struct bytes *lines, const struct promise_file *file,
		      uint8_t hash[static SHA256_BYTES])
{
	struct sha256 *sha256 = sha256_new();
	int r = sha256 ? sha256_update(sha256, file->members.data, file->members.length) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < file->count; i++)
		r = fields_append_line(lines, &file->list[i], FIELDS(promise_fields));
	if (r == 0)
		r = sha256_update(sha256, lines->data, lines->length);
	if (r == 0)
		r = sha256_end(sha256, hash);
	sha256_free(sha256);
	return r;
}

/* ---- reading ----------------------------------------------------------------------------- */

/* The state of reading. */
struct promise_reading {
	struct promise_file *file;
	struct json_lines lines;
	uint64_t rows; /* number that the first line says */
	uint8_t sha256[SHA256_BYTES]; /* of the other lines, as the first line says */
};

/* Reads the members that the first version did not write. */
static int read_life(struct promise_file *file, const json_t *object)
{
	struct life *life = &file->life;
	uint64_t now = clock_boottime_s();
	char this[BOOT_ID_MAX];
	int r = fields_get(object, life, FIELDS(life_fields), NULL, NULL);

	if (r < 0) {
		*life = (struct life){.id = 0};
		return r == -EPROTO ? 0 : r;
	}
	r = set_members(file);
	if (strcmp(life->boot, boot_id(this)) != 0)
		life->lived += now; /* it was written before this boot */
	else if (now > life->uptime)
		life->lived += now - life->uptime;
	return r;
}

#define NO_ROWS "it has no number of rows, or no SHA-256 of them"

static const struct field head_fields[] = {
	{FIELD(struct promise_reading, rows, "rows", FIELD_SIZE), REQUIRED(NO_ROWS)},
	{FIELD(struct promise_reading, sha256, "sha256", FIELD_SHA256), REQUIRED(NO_ROWS)},
};

static int read_head(void *context, const json_t *object, uint64_t *rows)
{
	struct promise_reading *reading = context;
	int r = json_lines_check_format(&reading->lines, object, FORMAT);

	if (r == 0)
		r = json_lines_get(&reading->lines, object, reading, FIELDS(head_fields));
	*rows = reading->rows;
	return r < 0 ? r : read_life(reading->file, object);
}

static int read_row(void *context, const json_t *object)
{
	const struct promise_reading *reading = context;
	struct promise promise = {.lived = 0};
	int r = json_lines_get(&reading->lines, object, &promise, FIELDS(promise_fields));

	return r < 0 ? r : add(reading->file, &promise);
}

/* Checks that no digit of the file has changed. */
static int check_rows(struct promise_reading *reading)
{
	CLEANUP_BYTES struct bytes lines = {0};
	uint8_t sha256[SHA256_BYTES];
	int r = append_all(&lines, reading->file, sha256);

	if (r < 0 || memcmp(sha256, reading->sha256, SHA256_BYTES) == 0)
		return r;
	return json_lines_complain_of(&reading->lines, 1, "the promises do not have this SHA-256");
}

/* Logs the failure of a system call. Returns it. */
static int explain(const struct promise_file *file, const char *verb, int error)
{
	if (error != -ENOMEM && error != -EINTR)
		log_error("cannot %s the promises %s: %s", verb, quote_path(file->path),
			  error_text(error));
	return error;
}

static int read_file(struct promise_file *file)
{
	AUTO_CLOSE int fd = open_beneath_for_reading(file->folder, NAME, 0, true);
	static const struct json_lines_form form = {read_head, read_row};
	struct promise_reading reading = {.file = file};
	struct stat status;
	int r;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return explain(file, "open", fd);
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return explain(file, "read", -EPROTO);
	r = json_lines_init(&reading.lines, fd, file->path, &words);
	if (r == 0)
		r = json_lines_read(&reading.lines, &form, &reading);
	if (r == 0)
		r = check_rows(&reading);
	json_lines_deinit(&reading.lines);
	return r;
}

/* ---- opening ----------------------------------------------------------------------------- */

/* The lock is that of the folder, as the file is replaced when it is written. */
static int lock(const struct promise_file *file, const char *host)
{
	if (flock(file->folder, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return explain(file, "lock", -errno);
	log_error("cannot use the promises of %s: another 'twinfs attest' or 'twinfs remove "
		  "--attested' of this host uses them; wait until it has ended",
		  host);
	return -EWOULDBLOCK;
}

static int open_folder(struct promise_file *file, const char *folder)
{
	int r = asprintf(&file->path, "%s/" NAME, folder);

	if (r < 0) {
		file->path = NULL;
		return -ENOMEM;
	}
	r = index_folder_make(folder);
	if (r == 0)
		r = index_folder_open(folder, &file->folder);
	return r < 0 ? explain(file, "open", r) : 0;
}

/* Marks the folder. Refuses one that was copied or restored with its promises, as they are possibly
 * not the last ones. Returns 0 or -errno, logged. */
static int mark_folder(const struct promise_file *file, const char *folder)
{
	if (!index_folder_is_copy(file->folder) || !name_exists(file->folder, NAME)) {
		index_folder_mark(file->folder);
		return 0;
	}
	log_error("cannot use the promises in %s: the folder was copied or restored, so other "
		  "hosts possibly rely on more; if they are the last ones, or the last 'twinfs "
		  "attest' of this host was more than 14 days ago, remove " TWINFS_OWN_MARK
		  " in %s",
		  quote_path(file->path), quote_path(folder));
	return -ESTALE;
}

/* Opens, locks and reads the promises of an owner. Returns 0 or -errno, logged except -ENOMEM.
 *
 * owner	name of the folder
 * host		for messages
 */
static int open_file(struct promise_file *file, const char *indexes, const char *owner,
		     const char *host)
{
	AUTO_FREE char *folder = NULL;
	int r;

	if (asprintf(&folder, "%s/.promises/%s", indexes, owner) < 0)
		return -ENOMEM;
	r = open_folder(file, folder);
	if (r == 0)
		r = lock(file, host);
	if (r == 0)
		r = mark_folder(file, folder);
	if (r == 0)
		r = read_file(file);
	sort_once(file);
	return r;
}

/* ---- the note in the index folder -------------------------------------------------------- */

/* Returns whether a file has at least the promises that were noted. */
static bool is_as_noted(const struct promise_file *file, uint64_t id, uint64_t writes)
{
	return file->life.id == id && file->life.writes >= writes;
}

/* Returns the promises that are not at least those that a note has, or NULL. own: of the index in
 * use. */
static const struct promise_file *find_lost(const struct promises *promises, const char *text,
					    bool own)
{
	const struct promise_file *host = &promises->files[OWNER_HOST],
				  *index = &promises->files[OWNER_INDEX];
	uint64_t host_id, host_writes, index_id, index_writes, identity = promises->identity;
	char name[HOST_NAME_BYTES_MAX + 1] = "";
	int found =
		sscanf(text, "%" SCNx64 " %" SCNu64 " %" SCNx64 " %" SCNu64 " %64[^ ] +%" SCNx64,
		       &index_id, &index_writes, &host_id, &host_writes, name, &identity);
	bool same = strcmp(name, promises->host) == 0;

	if (found < 5 || (same && !is_as_noted(host, host_id, host_writes)))
		return host;
	/* an index that was made anew has no promises yet; earlier versions noted no identity */
	if (!own || (same && (found == 5 ? index->life.id == 0 : identity != promises->identity)))
		return NULL;
	return is_as_noted(index, index_id, index_writes) ? NULL : index;
}

/* Refuses promises that are older than the note in the folder of an index, or not those. index is
 * its name or path. Returns 0 or -errno, logged. */
static int check_note(const struct promises *promises, int folder, const char *index, bool own)
{
	char text[NOTE_SIZE];
	int r = index_file_read(folder, TWINFS_INDEX_PROMISED, text, sizeof(text));
	const struct promise_file *lost = r == 0 ? find_lost(promises, text, own) : NULL;

	if (r < 0 && r != -ENOENT)
		return explain(&promises->files[OWNER_INDEX], "check", r);
	if (!lost)
		return 0;
	log_error("cannot use the promises in %s: they are lost or older than the "
		  "note " TWINFS_INDEX_PROMISED
		  " in %s, so other hosts possibly rely on more; restore them, or move the note "
		  "away when the last 'twinfs attest' of this host was more than 14 days ago",
		  quote_path(lost->path), quote_path(index));
	return -ESTALE;
}

static int check_other_note(void *context, int directory, const struct dirent *entry)
{
	AUTO_CLOSE int fd =
		openat(directory, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 || entry->d_name[0] == '.' ? 0
						 : check_note(context, fd, entry->d_name, false);
}

/* Checks the notes of the index in use and of all indexes of this user. */
static int check_notes(struct promises *promises, const char *indexes)
{
	AUTO_CLOSE int fd = -1, all = open(indexes, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = index_folder_open(promises->index, &fd);

	r = r < 0 ? explain(&promises->files[OWNER_INDEX], "check", r)
		  : check_note(promises, fd, promises->index, true);
	return r < 0 || all < 0 ? r : directory_visit(all, check_other_note, promises);
}

/* Notes which promises were made. Returns 0 or -errno, logged. */
static int write_note(const struct promises *promises)
{
	const struct promise_file *host = &promises->files[OWNER_HOST],
				  *index = &promises->files[OWNER_INDEX];
	char text[NOTE_SIZE];
	AUTO_CLOSE int fd = -1;
	int r = index_folder_open(promises->index, &fd);

	(void)snprintf(text, sizeof(text),
		       "%" PRIx64 " %" PRIu64 " %" PRIx64 " %" PRIu64 " %s +%" PRIx64,
		       index->life.id, index->life.writes, host->life.id, host->life.writes,
		       promises->host, promises->identity);
	if (r == 0)
		r = index_file_replace(fd, TWINFS_INDEX_PROMISED, text, true);
	return r < 0 ? explain(index, "note", r) : 0;
}

int promises_open(struct promises **promises, const char *indexes, const char *index_folder,
		  const struct file_list *list)
{
	struct promises *opened = calloc(1, sizeof(*opened));
	char index[sizeof("+") + 16];
	int r;

	*promises = NULL;
	if (!opened)
		return -ENOMEM;
	for (size_t i = 0; i < OWNERS; i++)
		opened->files[i].folder = -1;
	opened->host = list->host;
	opened->identity = list->index;
	opened->index = strdup(index_folder);
	/* no host has such a name */
	(void)snprintf(index, sizeof(index), "+%016" PRIx64, list->index);
	r = opened->index ? open_file(&opened->files[OWNER_HOST], indexes, list->host, list->host)
			  : -ENOMEM;
	if (r == 0)
		r = open_file(&opened->files[OWNER_INDEX], indexes, index, list->host);
	if (r == 0)
		r = check_notes(opened, indexes);
	if (r < 0)
		promises_close(opened);
	else
		*promises = opened;
	return r;
}

void promises_close(struct promises *promises)
{
	for (size_t i = 0; promises && i < OWNERS; i++) {
		struct promise_file *file = &promises->files[i];

		cleanup_close(&file->folder);
		free(file->list);
		free(file->path);
		bytes_free(&file->members);
	}
	if (promises)
		free(promises->index);
	free(promises);
}

static int64_t find(const struct promise_file *file, const struct promise *wanted)
{
	const struct promise *found = file->count > 0 ? bsearch(wanted, file->list, file->count,
								sizeof(*wanted), compare_contents)
						      : NULL;

	return found && found->until > clock_now().tv_sec ? found->until : 0;
}

int64_t promises_until(const struct promises *promises, const uint8_t *sha256, uint64_t size)
{
	struct promise wanted = {.size = size};
	int64_t until = 0;

	memcpy(wanted.sha256, sha256, SHA256_BYTES);
	for (size_t i = 0; until == 0 && i < OWNERS; i++)
		until = find(&promises->files[i], &wanted);
	return until;
}

/* ---- adding ------------------------------------------------------------------------------ */

/* Drops the promises that have expired, if this machine was running for as long since they were
 * made. So a clock that is far ahead drops none, however often. */
static void drop_expired(struct promise_file *file, int64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < file->count; i++) {
		struct promise *promise = &file->list[i];

		if (promise->lived == 0)
			promise->lived = file->life.lived;
		if (promise->until > now || file->life.lived - promise->lived < PROMISE_SECONDS)
			file->list[kept++] = *promise;
	}
	file->count = kept;
}

static int write_file(const struct promise_file *file)
{
	CLEANUP_BYTES struct bytes head = {0}, lines = {0};
	CLEANUP_NEW_FILE struct new_file new;
	uint8_t sha256[SHA256_BYTES];
	char digits[SHA256_DIGITS + 1] = "";
	int r = new_file_begin(&new, file->folder, NAME ".new");

	if (r == 0)
		r = append_all(&lines, file, sha256);
	if (r == 0) {
		sha256_format(sha256, digits);
		r = bytes_format(&head,
				 "{\"format\":\"" FORMAT
				 "\",\"schema\":1,\"rows\":%zu,\"sha256\":\"%s\"%.*s}\n",
				 file->count, digits, (int)file->members.length,
				 (const char *)file->members.data);
	}
	if (r == 0)
		r = new_file_append(&new, head.data, head.length);
	if (r == 0)
		r = new_file_append(&new, lines.data, lines.length);
	return r == 0 ? new_file_commit(&new, NAME) : r;
}

static int add_all(struct promise_file *file, const struct file_list *list)
{
	int64_t now = clock_now().tv_sec;
	struct promise promise = {.until = now + PROMISE_SECONDS};
	struct life *life = &file->life;
	int r;

	if (life->id == 0 && random_fill(&life->id, sizeof(life->id)) < 0)
		life->id = (uint64_t)now;
	life->id &= ID_MAX;
	life->writes++;
	life->lived += life->lived == 0; /* 0 is that of an earlier version */
	(void)boot_id(life->boot);
	life->uptime = clock_boottime_s();
	promise.lived = life->lived;
	r = set_members(file);
	drop_expired(file, now);
	for (size_t i = 0; r == 0 && i < list->count; i++) {
		memcpy(promise.sha256, list->rows[i].sha256, SHA256_BYTES);
		promise.size = list->rows[i].size;
		r = add(file, &promise);
	}
	sort_once(file);
	if (r == 0)
		r = write_file(file);
	return r < 0 ? explain(file, "write", r) : 0;
}

int promises_add(struct promises *promises, const struct file_list *list)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < OWNERS; i++)
		r = add_all(&promises->files[i], list);
	return r == 0 ? write_note(promises) : r;
}
