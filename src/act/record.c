/* SPDX-License-Identifier: MIT */
#include "act/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/options.h"
#include "base/system_call.h"
#include "row/json_path.h"
#include "row/json_read.h"
#include "row/json_text.h"
#include "row/json_xattrs.h"

static const char *const command_words[] = {
	[RECORD_REMOVE] = "remove", [RECORD_MOVE] = "move",       [RECORD_TRASH] = "trash",
	[RECORD_LINK] = "link",     [RECORD_SYMLINK] = "symlink", [RECORD_DEDUPE] = "dedupe",
	[RECORD_UNDO] = "undo",
};

static const char *const states[] = {
	[RECORD_DONE] = "done",
	[RECORD_INTERRUPTED] = "interrupted",
	[RECORD_RETURNED] = "returned",
	[RECORD_WAITING] = "waiting",
};

/* The types of files that are no regular ones. */
static const struct type_word {
	const char *word;
	uint32_t type;
} type_words[] = {
	{"folder", S_IFDIR},  {"symlink", S_IFLNK}, {"fifo", S_IFIFO},
	{"socket", S_IFSOCK}, {"block", S_IFBLK},   {"character", S_IFCHR},
};

/* The texts and numbers of struct record. A text that is NULL and a number that is 0 are left
 * out. */
static const struct text_field {
	const char *key;
	size_t offset;
} text_fields[RECORD_TEXTS] = {
	{"act", offsetof(struct record, act)},
	{"path", offsetof(struct record, path)},
	{"source", offsetof(struct record, source)},
	{"kept", offsetof(struct record, kept)},
	{"kept_source", offsetof(struct record, kept_source)},
	{"kept_by", offsetof(struct record, kept_by)},
	{"to", offsetof(struct record, to)},
	{"info", offsetof(struct record, info)},
	{"target", offsetof(struct record, target)},
	{"undone", offsetof(struct record, undone)},
	{"mount", offsetof(struct record, mount.path)},
};

static const struct number_field {
	const char *key;
	size_t offset;
} number_fields[] = {
	{"order", offsetof(struct record, order.number)},
	{"undone_file", offsetof(struct record, undone_file)},
	{"size", offsetof(struct record, size)},
	{"inode", offsetof(struct record, inode)},
	{"born", offsetof(struct record, born_ns)},
	{"links", offsetof(struct record, links)},
	{"device", offsetof(struct record, device)},
	{"source_inode", offsetof(struct record, root.inode)},
	{"source_born", offsetof(struct record, root.born_ns)},
	{"mount_inode", offsetof(struct record, mount.root.inode)},
	{"mount_born", offsetof(struct record, mount.root.born_ns)},
	{"kept_inode", offsetof(struct record, kept_inode)},
	{"kept_born", offsetof(struct record, kept_born_ns)},
	{"kept_ctime", offsetof(struct record, kept_changed_ns)},
	{"made_inode", offsetof(struct record, made_inode)},
	{"made_born", offsetof(struct record, made_born_ns)},
	{"new_folders", offsetof(struct record, new_folders)},
};

/* Random numbers and identities of file systems, with 16 hexadecimal digits. */
static const struct number_field identity_fields[] = {
	{"series", offsetof(struct record, order.series)},
	{"file_system", offsetof(struct record, filesystem)},
	{"made_file_system", offsetof(struct record, made_filesystem)},
};

const char *record_command_word(enum record_command command)
{
	return command_words[command];
}

const char *record_command_text(enum record_command command)
{
	if (command == RECORD_TRASH)
		return "remove --trash";
	return command == RECORD_SYMLINK ? "link --symbolic" : command_words[command];
}

void record_make_id(char id[static ACT_ID_SIZE])
{
	uint32_t number = 0;

	if (random_fill(&number, sizeof(number)) < 0)
		number = (uint32_t)time(NULL) ^ (uint32_t)getpid() << 16;
	(void)snprintf(id, ACT_ID_SIZE, "%08" PRIx32, number);
}

/* ---- writing ------------------------------------------------------------------------- */

static int set_text(json_t *object, const char *key, const char *text)
{
	return text ? json_set_path(object, key, text, strlen(text)) : 0;
}

static int set_number(json_t *object, const char *key, int64_t number)
{
	return number ? json_object_set_new(object, key, json_integer(number)) : 0;
}

static int set_time(json_t *object, struct timespec time)
{
	struct tm parts;
	char text[32];

	if (!gmtime_r(&time.tv_sec, &parts) ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		text[0] = '\0';
	return json_object_set_new(object, "time", json_string(text));
}

static int set_identity(json_t *object, const struct number_field *field,
			const struct record *record)
{
	const void *identity = (const char *)record + field->offset;
	char digits[20];

	if (!*(const uint64_t *)identity)
		return 0;
	(void)snprintf(digits, sizeof(digits), "%016" PRIx64, *(const uint64_t *)identity);
	return json_object_set_new(object, field->key, json_string(digits));
}

static int set_mode(json_t *object, const char *key, uint32_t mode)
{
	char digits[16];

	(void)snprintf(digits, sizeof(digits), "%04" PRIo32, mode);
	return json_object_set_new(object, key, json_string(digits));
}

static int set_type(json_t *object, uint32_t type)
{
	for (size_t i = 0; i < ARRAY_SIZE(type_words); i++) {
		if (type_words[i].type == type)
			return json_object_set_new(object, "type", json_string(type_words[i].word));
	}
	return 0;
}

static int set_folder(json_t *object, const struct record *record)
{
	if (!record->folder_known)
		return 0;
	return set_mode(object, "folder_mode", record->folder_mode) |
	       json_object_set_new(object, "folder_uid", json_integer(record->folder_uid)) |
	       json_object_set_new(object, "folder_gid", json_integer(record->folder_gid));
}

static int set_sha256(json_t *object, const struct record *record)
{
	char digits[SHA256_DIGITS + 1];

	if (!record->kept_by)
		return 0;
	sha256_format(record->sha256, digits);
	return json_object_set_new(object, "sha256", json_string(digits));
}

static int set_flags(json_t *object, const struct record *record)
{
	char digits[16];

	if (!record->has_flags)
		return 0;
	(void)snprintf(digits, sizeof(digits), "%" PRIx32, record->flags);
	return json_object_set_new(object, "flags", json_string(digits));
}

/* Sets the members that need a format of their own. */
static int set_others(json_t *object, const struct record *record)
{
	char digits[HASH128_DIGITS + 1];

	if (record->command == RECORD_UNDO)
		return 0;
	hash128_format(record->hash, digits);
	return json_object_set_new(object, "hash", json_string(digits)) |
	       set_sha256(object, record) | set_flags(object, record) |
	       set_mode(object, "mode", record->mode) | set_folder(object, record) |
	       json_object_set_new(object, "uid", json_integer(record->uid)) |
	       json_object_set_new(object, "gid", json_integer(record->gid)) |
	       json_object_set_new(object, "mtime", json_integer(record->mtime.tv_sec)) |
	       json_object_set_new(object, "mtime_ns", json_integer(record->mtime.tv_nsec)) |
	       (record->xattrs ? json_set_xattrs(object, record->xattrs) : 0);
}

/* The members "act" and "file" must be the first ones, see record_is_of(). */
static int fill(json_t *object, const struct record *record)
{
	const char *base = (const char *)record;
	int r = set_text(object, "act", record->act);

	r |= json_object_set_new(object, "file", json_integer((json_int_t)record->file));
	r |= set_time(object, record->time);
	r |= json_object_set_new(object, "command", json_string(command_words[record->command]));
	if (record->state != RECORD_DONE)
		r |= json_object_set_new(object, "state", json_string(states[record->state]));
	for (size_t i = 1; r == 0 && i < ARRAY_SIZE(text_fields); i++) {
		const void *text = base + text_fields[i].offset;

		r = set_text(object, text_fields[i].key, *(const char *const *)text);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(number_fields); i++) {
		const void *number = base + number_fields[i].offset;

		r = set_number(object, number_fields[i].key, *(const int64_t *)number);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(identity_fields); i++)
		r = set_identity(object, &identity_fields[i], record);
	if (r == 0)
		r = set_type(object, record->type);
	return r == 0 ? set_others(object, record) : r;
}

int record_encode(struct bytes *line, const struct record *record)
{
	json_auto_t *object = json_object();

	if (!object || fill(object, record) != 0 || json_append(line, object, JSON_COMPACT) != 0)
		return -ENOMEM;
	return 0;
}

/* ---- reading ------------------------------------------------------------------------- */

bool record_is_of(const char *line, const char *act, uint64_t *file)
{
	char beginning[sizeof("{\"act\":\"\",\"file\":") + ACT_ID_SIZE];
	int length = snprintf(beginning, sizeof(beginning), "{\"act\":\"%s\",\"file\":", act);

	if (length >= (int)sizeof(beginning) || strncmp(line, beginning, (size_t)length) != 0)
		return false;
	*file = strtoull(line + length, NULL, 10);
	return *file > 0;
}

/* Returns the index of the word of a member, or -EINVAL. */
static int find_word(const json_t *object, const char *key, const char *const *words, size_t count)
{
	const char *word = json_string_value(json_object_get(object, key));

	return word ? options_find_word(word, words, count) : -EINVAL;
}

static int get_words(const json_t *object, struct record *record)
{
	int command = find_word(object, "command", command_words, ARRAY_SIZE(command_words));
	int state = json_object_get(object, "state")
			    ? find_word(object, "state", states, ARRAY_SIZE(states))
			    : RECORD_DONE;

	if (command < 0 || state < 0)
		return -EPROTO;
	record->command = (enum record_command)command;
	record->state = (enum record_state)state;
	return 0;
}

static int get_time(const json_t *object, struct record *record)
{
	const char *text = json_string_value(json_object_get(object, "time"));
	struct tm parts = {0};
	const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts) : NULL;

	if (!end || *end != '\0')
		return -EPROTO;
	record->time.tv_sec = timegm(&parts);
	return 0;
}

/* Reads a member that is a path, or a text without NUL. */
static int get_text(const json_t *object, const char *key, struct bytes *text, const char **found)
{
	int r = json_get_path(object, key, text);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	*found = bytes_text(text);
	if (!*found)
		return -ENOMEM;
	return strlen(*found) < text->length ? -EPROTO : 0;
}

static void get_identity(const json_t *object, const struct number_field *field,
			 struct record *record)
{
	const char *digits = json_string_value(json_object_get(object, field->key));
	void *identity = (char *)record + field->offset;

	*(uint64_t *)identity = digits ? strtoull(digits, NULL, 16) : 0;
}

static uint32_t get_count(const json_t *object, const char *key)
{
	return (uint32_t)json_integer_value(json_object_get(object, key));
}

/* A type that is unknown is -EPROTO: the record must not be taken for that of a regular file. */
static int get_type(const json_t *object, struct record *record)
{
	const char *word = json_string_value(json_object_get(object, "type"));

	record->type = S_IFREG;
	for (size_t i = 0; word && i < ARRAY_SIZE(type_words); i++) {
		record->type = type_words[i].type;
		if (strcmp(word, type_words[i].word) == 0)
			return 0;
	}
	return word ? -EPROTO : 0;
}

static void get_flags(const json_t *object, struct record *record)
{
	const char *digits = json_string_value(json_object_get(object, "flags"));

	record->has_flags = digits;
	record->flags = digits ? (uint32_t)strtoul(digits, NULL, 16) : 0;
}

static void get_folder(const json_t *object, struct record *record)
{
	const char *mode = json_string_value(json_object_get(object, "folder_mode"));

	record->folder_known = mode;
	record->folder_mode = mode ? (uint32_t)strtoul(mode, NULL, 8) : 0;
	record->folder_uid = get_count(object, "folder_uid");
	record->folder_gid = get_count(object, "folder_gid");
}

static int get_sha256(const json_t *object, struct record *record)
{
	const char *digits = json_string_value(json_object_get(object, "sha256"));

	if (!record->kept_by)
		return 0;
	return digits && sha256_parse(digits, record->sha256) ? 0 : -EPROTO;
}

static int get_metadata(const json_t *object, struct decoded_record *decoded)
{
	struct record *record = &decoded->record;
	const char *hash = json_string_value(json_object_get(object, "hash"));
	const char *mode = json_string_value(json_object_get(object, "mode"));
	int r;

	if (record->command == RECORD_UNDO)
		return 0;
	if (!hash || !hash128_parse(hash, &record->hash) || !mode)
		return -EPROTO;
	record->mode = (uint32_t)strtoul(mode, NULL, 8);
	record->uid = get_count(object, "uid");
	record->gid = get_count(object, "gid");
	get_folder(object, record);
	get_flags(object, record);
	record->mtime.tv_sec = json_integer_value(json_object_get(object, "mtime"));
	record->mtime.tv_nsec = json_integer_value(json_object_get(object, "mtime_ns"));
	record->xattrs = &decoded->xattrs;
	r = get_sha256(object, record);
	return r < 0 ? r : json_get_xattrs(object, &decoded->xattrs);
}

static int decode(const json_t *object, struct decoded_record *decoded)
{
	struct record *record = &decoded->record;
	char *base = (char *)record;
	int r = get_words(object, record);

	if (r == 0)
		r = get_time(object, record);
	if (r == 0)
		r = get_type(object, record);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(text_fields); i++) {
		void *text = base + text_fields[i].offset;

		r = get_text(object, text_fields[i].key, &decoded->texts[i], text);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(number_fields); i++) {
		void *number = base + number_fields[i].offset;

		*(int64_t *)number =
			json_integer_value(json_object_get(object, number_fields[i].key));
	}
	for (size_t i = 0; i < ARRAY_SIZE(identity_fields); i++)
		get_identity(object, &identity_fields[i], record);
	record->file = (uint64_t)json_integer_value(json_object_get(object, "file"));
	if (r == 0 && (!record->act || !record->path || !record->source || record->file == 0))
		r = -EPROTO;
	return r == 0 ? get_metadata(object, decoded) : r;
}

int record_decode(const char *line, size_t length, struct decoded_record *decoded)
{
	json_auto_t *object = json_read(line, length, JSON_ALLOW_NUL);

	decoded->record = (struct record){.act = NULL};
	for (size_t i = 0; i < RECORD_TEXTS; i++)
		decoded->texts[i].length = 0;
	xattrs_clear(&decoded->xattrs);
	return object ? decode(object, decoded) : -EPROTO;
}

void decoded_record_free(struct decoded_record *decoded)
{
	for (size_t i = 0; i < RECORD_TEXTS; i++)
		bytes_free(&decoded->texts[i]);
	xattrs_free(&decoded->xattrs);
}
