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

#include "base/kernel.h"
#include "row/fields.h"
#include "row/json_text.h"
#include "row/json_xattrs.h"

static const struct field_word commands[] = {
	{"remove", RECORD_REMOVE}, {"move", RECORD_MOVE},       {"trash", RECORD_TRASH},
	{"link", RECORD_LINK},     {"symlink", RECORD_SYMLINK}, {"dedupe", RECORD_DEDUPE},
	{"undo", RECORD_UNDO},
};

static const struct field_word states[] = {
	{"interrupted", RECORD_INTERRUPTED},
	{"returned", RECORD_RETURNED},
	{"waiting", RECORD_WAITING},
};

/* The types of files that are no regular ones. */
static const struct field_word types[] = {
	{"folder", S_IFDIR},  {"symlink", S_IFLNK}, {"fifo", S_IFIFO},
	{"socket", S_IFSOCK}, {"block", S_IFBLK},   {"character", S_IFCHR},
};

#define RECORD(member, key, type) FIELD(struct record, member, key, type)
#define WORDS(table) .words = (table), .count = ARRAY_SIZE(table)
#define IF(member) .optional = true, .given = offsetof(struct record, member)

/* The members "act" and "file" must be the first ones, see record_is_of(). */
static const struct field fields[] = {
	{RECORD(act, "act", FIELD_PATH), .required = true},
	{RECORD(file, "file", FIELD_NUMBER), .required = true},
	{RECORD(time, "time", FIELD_TIME), .required = true},
	{RECORD(command, "command", FIELD_WORD), WORDS(commands), .required = true},
	{RECORD(state, "state", FIELD_WORD), WORDS(states)},
	{RECORD(path, "path", FIELD_PATH), .required = true},
	{RECORD(source, "source", FIELD_PATH), .required = true},
	{RECORD(kept, "kept", FIELD_PATH)},
	{RECORD(kept_source, "kept_source", FIELD_PATH)},
	{RECORD(kept_by, "kept_by", FIELD_PATH)},
	{RECORD(to, "to", FIELD_PATH)},
	{RECORD(info, "info", FIELD_PATH)},
	{RECORD(target, "target", FIELD_PATH)},
	{RECORD(undone, "undone", FIELD_PATH)},
	{RECORD(mount.path, "mount", FIELD_PATH)},
	{RECORD(order.number, "order", FIELD_NUMBER)},
	{RECORD(undone_file, "undone_file", FIELD_NUMBER)},
	{RECORD(size, "size", FIELD_NUMBER)},
	{RECORD(inode, "inode", FIELD_NUMBER)},
	{RECORD(born_ns, "born", FIELD_NUMBER)},
	{RECORD(links, "links", FIELD_NUMBER)},
	{RECORD(device, "device", FIELD_NUMBER)},
	{RECORD(root.inode, "source_inode", FIELD_NUMBER)},
	{RECORD(root.born_ns, "source_born", FIELD_NUMBER)},
	{RECORD(mount.root.inode, "mount_inode", FIELD_NUMBER)},
	{RECORD(mount.root.born_ns, "mount_born", FIELD_NUMBER)},
	{RECORD(kept_inode, "kept_inode", FIELD_NUMBER)},
	{RECORD(kept_born_ns, "kept_born", FIELD_NUMBER)},
	{RECORD(kept_changed_ns, "kept_ctime", FIELD_NUMBER)},
	{RECORD(made_inode, "made_inode", FIELD_NUMBER)},
	{RECORD(made_born_ns, "made_born", FIELD_NUMBER)},
	{RECORD(new_folders, "new_folders", FIELD_NUMBER)},
	{RECORD(order.series, "series", FIELD_HEX64)},
	{RECORD(filesystem, "file_system", FIELD_HEX64)},
	{RECORD(made_filesystem, "made_file_system", FIELD_HEX64)},
	{RECORD(type, "type", FIELD_WORD), WORDS(types)},
};

/* Not of RECORD_UNDO. "xattrs" follows them. */
static const struct field metadata_fields[] = {
	{RECORD(hash, "hash", FIELD_HASH128), .required = true},
	{RECORD(sha256, "sha256", FIELD_SHA256)},
	{RECORD(flags, "flags", FIELD_FLAGS), IF(has_flags)},
	{RECORD(mode, "mode", FIELD_MODE), .required = true},
	{RECORD(folder_mode, "folder_mode", FIELD_MODE), IF(folder_known)},
	{RECORD(folder_uid, "folder_uid", FIELD_COUNT), IF(folder_known)},
	{RECORD(folder_gid, "folder_gid", FIELD_COUNT), IF(folder_known)},
	{RECORD(uid, "uid", FIELD_COUNT)},
	{RECORD(gid, "gid", FIELD_COUNT)},
	{RECORD(mtime, "mtime", FIELD_TIMES)},
};

const char *record_command_word(enum record_command command)
{
	return field_word_of(commands, ARRAY_SIZE(commands), command);
}

const char *record_command_text(enum record_command command)
{
	if (command == RECORD_TRASH)
		return "remove --trash";
	return command == RECORD_SYMLINK ? "link --symbolic" : record_command_word(command);
}

void record_make_id(char id[static ACT_ID_SIZE])
{
	uint32_t number = 0;

	if (random_fill(&number, sizeof(number)) < 0)
		number = (uint32_t)time(NULL) ^ (uint32_t)getpid() << 16;
	(void)snprintf(id, ACT_ID_SIZE, "%08" PRIx32, number);
}

/* ---- writing ------------------------------------------------------------------------- */

static int fill(json_t *object, const struct record *record)
{
	int r = fields_set(object, record, FIELDS(fields));

	if (r < 0 || record->command == RECORD_UNDO)
		return r;
	r = fields_set(object, record, FIELDS(metadata_fields));
	return r == 0 && record->xattrs ? json_set_xattrs(object, record->xattrs) : r;
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

static int get_metadata(const json_t *object, struct decoded_record *decoded)
{
	struct record *record = &decoded->record;
	int r = fields_get(object, record, FIELDS(metadata_fields), NULL, NULL);

	record->xattrs = &decoded->xattrs;
	if (r == 0 && record->kept_by && !json_object_get(object, "sha256"))
		r = -EPROTO;
	return r < 0 ? r : json_get_xattrs(object, &decoded->xattrs);
}

/* A type that is unknown is -EPROTO: the record must not be taken for that of a regular file. */
static int decode(const json_t *object, struct decoded_record *decoded)
{
	struct record *record = &decoded->record;
	int r;

	record->type = S_IFREG;
	r = fields_get(object, record, FIELDS(fields), decoded->texts, NULL);
	if (r == 0 && record->file == 0)
		r = -EPROTO;
	return r < 0 || record->command == RECORD_UNDO ? r : get_metadata(object, decoded);
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
