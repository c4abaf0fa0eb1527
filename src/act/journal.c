/* SPDX-License-Identifier: MIT */
#include "act/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/descriptor.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/sort.h"
#include "index/store/index_files.h"
#include "row/fields.h"
#include "row/json_path.h"
#include "row/json_text.h"
#include "twinfs/format.h"

/* Highest number of an intent. */
#define NUMBER_MAX (INT64_C(1) << 53)

struct journal {
	int fd;
	uint64_t last; /* highest number in use */
	struct bytes waiting; /* lines to be written */
	struct bytes ended; /* "done" lines, written by journal_resolve() */
	/* Highest number of an intent of an earlier process. */
	uint64_t inherited;
	bool is_resolved; /* journal_resolve() was called */
	struct act_log *log;
	struct act_log *copies; /* of the records, for the user; borrowed; NULL: none */
	char *path;
};

static int open_file(struct journal *journal, const char *folder)
{
	AUTO_CLOSE int folder_fd = -1;
	int r = index_folder_open(folder, &folder_fd);
	struct stat status;

	if (r < 0)
		return r;
	journal->fd = openat(folder_fd, TWINFS_INDEX_ACTS,
			     O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (journal->fd < 0 || flock(journal->fd, LOCK_EX | LOCK_NB) < 0 ||
	    fstat(journal->fd, &status) < 0)
		return -errno;
	if (status.st_nlink == 0) /* 'index --forget' removed it in this moment */
		return -EWOULDBLOCK;
	return act_log_open(&journal->log, folder_fd);
}

int journal_open(struct journal **journal, const char *folder)
{
	struct journal *made = calloc(1, sizeof(*made));
	int r;

	*journal = NULL;
	if (!made)
		return -ENOMEM;
	made->fd = -1;
	r = asprintf(&made->path, "%s/%s", folder, TWINFS_INDEX_ACTS) < 0 ? -ENOMEM : 0;
	if (r == 0)
		r = open_file(made, folder);
	if (r < 0)
		journal_close(made);
	else
		*journal = made;
	return r;
}

void journal_close(struct journal *journal)
{
	if (!journal)
		return;
	if (journal->fd >= 0)
		close(journal->fd);
	act_log_close(journal->log);
	bytes_free(&journal->waiting);
	bytes_free(&journal->ended);
	free(journal->path);
	free(journal);
}

struct act_log *journal_log(struct journal *journal)
{
	return journal->log;
}

void journal_copy_records(struct journal *journal, struct act_log *log)
{
	journal->copies = log;
}

int journal_has_intents(const char *folder)
{
	AUTO_CLOSE int folder_fd = -1;
	int r = index_folder_open(folder, &folder_fd);
	struct stat status;

	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR ? 0 : r;
	return fstatat(folder_fd, TWINFS_INDEX_ACTS, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       status.st_size > 0;
}

void journal_other_name(char name[static OTHER_NAME_SIZE])
{
	uint64_t number = 0;

	/* If getrandom(2) fails, a name can repeat. That is harmless: no rename replaces a file. */
	if (random_fill(&number, sizeof(number)) < 0)
		number = (uint64_t)getpid();
	(void)snprintf(name, OTHER_NAME_SIZE, OTHER_NAME_PREFIX "%016" PRIx64, number);
}

/* ---- writing ------------------------------------------------------------------------- */

static const struct field_word kinds[] = {
	{"away", INTENT_AWAY},   {"link", INTENT_LINK},     {"symlink", INTENT_SYMLINK},
	{"share", INTENT_SHARE}, {"folder", INTENT_FOLDER},
};

#define INTENT(member, key, type) FIELD(struct intent, member, key, type)

static const struct field fields[] = {
	{INTENT(kind, "kind", FIELD_WORD), .words = kinds, .count = ARRAY_SIZE(kinds),
	 .required = true},
	{INTENT(number, "intent", FIELD_NUMBER)},
	{INTENT(did, "did", FIELD_NUMBER)},
	{INTENT(source, "source", FIELD_PATH), .required = true},
	{INTENT(path, "path", FIELD_PATH), .required = true},
	{INTENT(other, "other", FIELD_PATH), .required = true},
	{INTENT(to, "to", FIELD_PATH)},
	{INTENT(target, "target", FIELD_PATH)},
	{INTENT(info, "info", FIELD_PATH)},
	{INTENT(saved, "saved", FIELD_PATH)},
	{INTENT(record, "record", FIELD_PATH)},
	{INTENT(kept_inode, "kept inode", FIELD_NUMBER)},
	{INTENT(inode, "inode", FIELD_NUMBER)},
	{INTENT(born_ns, "born", FIELD_NUMBER)},
	{INTENT(made_inode, "made inode", FIELD_NUMBER)},
	{INTENT(made_born_ns, "made born", FIELD_NUMBER)},
	{INTENT(is_emptied, "emptied", FIELD_NUMBER)},
	{INTENT(is_direct, "direct", FIELD_NUMBER)},
	{INTENT(new_folders, "new folders", FIELD_NUMBER)},
	{INTENT(root.inode, "root inode", FIELD_NUMBER)},
	{INTENT(root.born_ns, "root born", FIELD_NUMBER)},
	{INTENT(root.filesystem, "root file system", FIELD_NUMBER)},
	{INTENT(mount.path, "mount", FIELD_PATH)},
	{INTENT(mount.root.inode, "mount inode", FIELD_NUMBER)},
	{INTENT(mount.root.born_ns, "mount born", FIELD_NUMBER)},
	{INTENT(mount.root.filesystem, "mount file system", FIELD_NUMBER)},
	{INTENT(saved_mount.path, "saved mount", FIELD_PATH)},
	{INTENT(saved_mount.root.inode, "saved mount inode", FIELD_NUMBER)},
	{INTENT(saved_mount.root.born_ns, "saved mount born", FIELD_NUMBER)},
	{INTENT(saved_mount.root.filesystem, "saved mount file system", FIELD_NUMBER)},
	{INTENT(to_mount.path, "to mount", FIELD_PATH)},
	{INTENT(to_mount.root.inode, "to mount inode", FIELD_NUMBER)},
	{INTENT(to_mount.root.born_ns, "to mount born", FIELD_NUMBER)},
	{INTENT(to_mount.root.filesystem, "to mount file system", FIELD_NUMBER)},
};

static int append_intent(struct journal *journal, const struct intent *intent)
{
	return fields_append_line(&journal->waiting, intent, FIELDS(fields));
}

int journal_intend(struct journal *journal, struct intent *intent)
{
	if (journal->last >= NUMBER_MAX)
		return -EOVERFLOW;
	intent->number = ++journal->last;
	return append_intent(journal, intent);
}

uint64_t journal_reserve(struct journal *journal)
{
	return ++journal->last;
}

int journal_note_done(struct journal *journal, uint64_t number)
{
	return bytes_format(&journal->ended, "{\"done\":%" PRIu64 "}\n", number);
}

static int write_lines(struct journal *journal, struct bytes *lines)
{
	off_t before = lseek(journal->fd, 0, SEEK_END);
	int r = before < 0 ? -errno : write_fully(journal->fd, lines->data, lines->length);

	if (r == 0)
		lines->length = 0;
	/* a partial line would corrupt the line that is appended next */
	else if (before >= 0 && ftruncate(journal->fd, before) < 0)
		r = -errno;
	return r;
}

int journal_amend(struct journal *journal, const struct intent *intent)
{
	int r = append_intent(journal, intent);

	return r < 0 ? r : write_lines(journal, &journal->waiting);
}

int journal_note_did(struct journal *journal, uint64_t number)
{
	int r = bytes_format(&journal->waiting, "{\"did\":%" PRIu64 "}\n", number);

	return r < 0 ? r : write_lines(journal, &journal->waiting);
}

int journal_sync(struct journal *journal)
{
	int r = write_lines(journal, &journal->waiting);

	return r < 0 ? r : fdatasync(journal->fd) < 0 ? -errno : 0;
}

int journal_write_ends(struct journal *journal)
{
	int r = write_lines(journal, &journal->waiting);

	return r < 0 ? r : write_lines(journal, &journal->ended);
}

/* ---- reading ------------------------------------------------------------------------- */

static int read_text(int fd, struct bytes *text)
{
	struct stat status;
	long got;
	int r;

	if (fstat(fd, &status) < 0)
		return -errno;
	r = bytes_reserve(text, (size_t)status.st_size);
	if (r < 0)
		return r;
	got = read_fully_at(fd, text->data, (unsigned long)status.st_size, 0);
	text->length = got < 0 ? 0 : (size_t)got;
	return got < 0 ? (int)got : 0;
}

static bool read_number(const json_t *object, const char *key, json_int_t *number)
{
	const json_t *value = json_object_get(object, key);

	*number = json_integer_value(value);
	return json_is_integer(value) && *number > 0 && *number <= NUMBER_MAX;
}

/* Takes one line: adds its intent to open, marks the intent of an act that was done, or removes
 * from open the intent that the line ends. Updates journal->last, so that no later intent gets a
 * number in use. Returns 0, -EPROTO or -ENOMEM. */
static int take_object(struct journal *journal, json_t *open, json_t *object)
{
	char key[24];
	json_int_t number;

	if (read_number(object, "intent", &number)) {
		if ((uint64_t)number > journal->last)
			journal->last = (uint64_t)number;
		(void)snprintf(key, sizeof(key), "%020" JSON_INTEGER_FORMAT, number);
		return json_object_set(open, key, object) < 0 ? -ENOMEM : 0;
	}
	if (read_number(object, "did", &number)) {
		(void)snprintf(key, sizeof(key), "%020" JSON_INTEGER_FORMAT, number);
		object = json_object_get(open, key);
		return object && json_object_set_new(object, "did", json_integer(1)) < 0 ? -ENOMEM
											 : 0;
	}
	if (!read_number(object, "done", &number))
		return -EPROTO;
	(void)snprintf(key, sizeof(key), "%020" JSON_INTEGER_FORMAT, number);
	(void)json_object_del(open, key);
	return 0;
}

static int take_line(struct journal *journal, json_t *open, const char *line, size_t length)
{
	json_auto_t *object = json_read(line, length, JSON_ALLOW_NUL);

	return object ? take_object(journal, open, object) : -EPROTO;
}

/* Parses the journal into open, the intents without an end. An incomplete last line was never
 * synced. It is cut off, as it would corrupt the line that is appended next. */
static int parse(struct journal *journal, const struct bytes *text, json_t *open)
{
	const char *line = (const char *)text->data, *end;
	size_t left = text->length;
	int r = 0;

	while (r != -ENOMEM && left > 0 && (end = memchr(line, '\n', left))) {
		r = take_line(journal, open, line, (size_t)(end - line));
		if (r == -EPROTO)
			log_warning("cannot read a line of journal %s: corrupt; skipped",
				    quote_path(journal->path));
		left -= (size_t)(end + 1 - line);
		line = end + 1;
	}
	if (r == -ENOMEM)
		return r;
	return left > 0 && ftruncate(journal->fd, (off_t)(text->length - left)) < 0 ? -errno : 0;
}

struct resolve_handler {
	bool (*handle)(void *context, const struct intent *intent);
	void *context;
};

/* Returns 0, -ENOMEM, or another -errno if the intent is corrupt. Its texts are in the memory. */
static int read_intent(const json_t *object, struct arena *memory, struct intent *intent)
{
	int r;

	*intent = (struct intent){.number = 0};
	r = fields_get(object, intent, FIELDS(fields), memory, NULL);
	if (r < 0)
		return r;
	if (strchr(intent->other, '/') ||
	    strncmp(intent->other, OTHER_NAME_PREFIX, strlen(OTHER_NAME_PREFIX)) != 0)
		return -EPROTO;
	return 0;
}

static int handle_one(struct journal *journal, const json_t *object,
		      const struct resolve_handler *how, bool *left)
{
	CLEANUP_ARENA struct arena memory = {0};
	struct intent intent;
	int r = read_intent(object, &memory, &intent);

	if (r == 0 && how->handle(how->context, &intent))
		r = journal_note_done(journal, intent.number);
	else if (r == 0)
		*left = true;
	else if (r != -ENOMEM)
		log_warning("cannot read an intent of journal %s: corrupt; skipped",
			    quote_path(journal->path));
	return r == -ENOMEM ? r : 0;
}

/* Returns the keys of the open intents, in the order of their numbers, or NULL if memory is short.
 * The caller frees the list; the keys are valid as long as their intents are open. */
static const char **list_keys(json_t *open, size_t *count)
{
	const char **keys = calloc(json_object_size(open) + 1, sizeof(*keys));
	const char *key;
	json_t *object;

	*count = 0;
	if (!keys)
		return NULL;
	json_object_foreach(open, key, object) keys[(*count)++] = key;
	qsort(keys, *count, sizeof(*keys), texts_by_bytes);
	return keys;
}

int journal_add_record(struct journal *journal, const char *record)
{
	int r = act_log_append(journal->log, record);

	return r < 0 || !journal->copies ? r : act_log_append(journal->copies, record);
}

int journal_sync_records(struct journal *journal)
{
	int r = act_log_sync(journal->log);

	/* act_log_sync() of the caller returns the failure again */
	if (r == 0 && journal->copies && act_log_sync(journal->copies) < 0)
		journal->copies = NULL;
	return r;
}

/* Adds the record of an act to the logs and notes the end of the act. */
static int record_one(struct journal *journal, const json_t *object)
{
	CLEANUP_ARENA struct arena memory = {0};
	const char *record = NULL;
	int r = json_get_text(object, "record", &memory, &record);

	if (r == 0)
		r = journal_add_record(journal, record);
	if (r == -ENOMEM)
		return r;
	return journal_note_done(journal,
				 (uint64_t)json_integer_value(json_object_get(object, "intent")));
}

/* Returns whether this process did the act. */
static bool is_own_deed(const struct journal *journal, const json_t *object)
{
	json_int_t number = json_integer_value(json_object_get(object, "intent"));

	return json_integer_value(json_object_get(object, "did")) &&
	       (uint64_t)number > journal->inherited;
}

/* Drops the ends of acts whose records could not be written, and these records. So the acts stay
 * open in the journal, and a later call or process writes the records. */
static void forget_ends(struct journal *journal, size_t mark)
{
	journal->ended.length = 0;
	act_log_drop(journal->log, mark);
}

/* Writes the records of the acts that this process did, and then the ends of these acts. */
static int record_all(struct journal *journal, json_t *open)
{
	size_t count, mark = act_log_mark(journal->log);
	AUTO_FREE const char **keys = list_keys(open, &count);
	int r = keys ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < count; i++) {
		json_t *object = json_object_get(open, keys[i]);

		if (!is_own_deed(journal, object))
			continue;
		r = record_one(journal, object);
		(void)json_object_del(open, keys[i]);
	}
	if (r == 0)
		r = act_log_sync(journal->log);
	if (r < 0)
		forget_ends(journal, mark);
	if (r == 0)
		r = write_lines(journal, &journal->ended);
	/* act_log_sync() of the caller returns the failure again */
	if (r == 0 && journal->copies && act_log_sync(journal->copies) < 0)
		journal->copies = NULL;
	return r;
}

/* Handles all open intents, last one first. */
static int handle_all(struct journal *journal, json_t *open, const struct resolve_handler *how,
		      bool *left)
{
	size_t count, mark = act_log_mark(journal->log);
	AUTO_FREE const char **keys = list_keys(open, &count);
	int r = keys ? 0 : -ENOMEM;

	for (size_t i = count; r == 0 && i > 0; i--)
		r = handle_one(journal, json_object_get(open, keys[i - 1]), how, left);
	if (r == 0)
		r = act_log_sync(journal->log);
	if (r < 0)
		forget_ends(journal, mark);
	return r;
}

/* Reads the open intents from the journal. This process possibly does not know all of them: a child
 * process that saves a copy amends its intent (act/one_act.c). */
static int read_open(struct journal *journal, json_t *open)
{
	CLEANUP_BYTES struct bytes text = {0};
	int r = read_text(journal->fd, &text);

	if (r == 0)
		r = parse(journal, &text, open);
	if (!journal->is_resolved)
		journal->inherited = journal->last;
	journal->is_resolved = true;
	return r;
}

int journal_resolve(struct journal *journal,
		    bool (*handle)(void *context, const struct intent *intent), void *context)
{
	json_auto_t *open = json_object();
	bool left = false;
	int r = open ? journal_write_ends(journal) : -ENOMEM;

	if (r == 0)
		r = read_open(journal, open);
	if (r == 0)
		r = record_all(journal, open);
	if (r == 0)
		r = handle_all(journal, open, &(struct resolve_handler){handle, context}, &left);
	if (r == 0 && left)
		r = write_lines(journal, &journal->ended);
	if (r < 0 || left)
		return r < 0 ? r : journal_sync(journal);
	journal->ended.length = 0;
	return ftruncate(journal->fd, 0) < 0 || fdatasync(journal->fd) < 0 ? -errno : 0;
}
