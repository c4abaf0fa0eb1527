/* SPDX-License-Identifier: MIT */
#include "act/act_log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/path.h"
#include "index/store/index_files.h"
#include "row/fields.h"
#include "row/json_text.h"
#include "twinfs/format.h"

/* ---- records -------------------------------------------------------------------------------- */

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
	r = fields_get(object, record, FIELDS(fields), &decoded->texts, NULL);
	if (r == 0 && record->file == 0)
		r = -EPROTO;
	return r < 0 || record->command == RECORD_UNDO ? r : get_metadata(object, decoded);
}

int record_decode(const char *line, size_t length, struct decoded_record *decoded)
{
	json_auto_t *object = json_read(line, length, JSON_ALLOW_NUL);

	decoded->record = (struct record){.act = NULL};
	arena_reset(&decoded->texts);
	xattrs_clear(&decoded->xattrs);
	return object ? decode(object, decoded) : -EPROTO;
}

void decoded_record_free(struct decoded_record *decoded)
{
	arena_free(&decoded->texts);
	xattrs_free(&decoded->xattrs);
}

/* ---- the log -------------------------------------------------------------------------------- */

/* ---- the order of acts ---------------------------------------------------------------- */

/* Length of the first line, which is always overwritten as a whole. */
#define HEADER_LENGTH (sizeof("series 0123456789abcdef last 00000000000000000012\n") - 1)
/* Prefix of the further lines. */
#define BEFORE "before "
/* Prefix and length of a line that is overwritten as a whole. */
#define LOGGED "logged "
#define LOGGED_LENGTH (sizeof(LOGGED "00000000000000000012\n") - 1)
/* Bytes that are read at once to find the last line end. */
#define TAIL_BYTES 4096
/* Bounds the memory for the last line of a log: a record with many attributes is long. */
#define LINE_BYTES_MAX (1 << 20)

/* ---- the last record of a log -------------------------------------------------------------- */

/* Returns the length of a log up to its last line end, or -errno. */
static off_t whole_length(int fd, off_t length)
{
	char tail[TAIL_BYTES];

	while (length > 0) {
		off_t at = length > TAIL_BYTES ? length - TAIL_BYTES : 0;
		long got = read_fully_at(fd, tail, (unsigned long)(length - at), at);
		const char *end;

		if (got < length - at)
			return got < 0 ? got : -EIO;
		end = memrchr(tail, '\n', (size_t)got);
		if (end)
			return at + (end + 1 - tail);
		length = at;
	}
	return 0;
}

/* Reads the last complete line of a log, without its end. Returns 0, -ENOENT if there is none or it
 * is too long, or another -errno. */
static int read_last_line(int fd, struct bytes *line)
{
	struct stat status;
	off_t end = fstat(fd, &status) < 0 ? -errno : whole_length(fd, status.st_size);
	off_t start = end > 0 ? whole_length(fd, end - 1) : end;
	long got;

	if (end <= 0 || start < 0)
		return start < 0 ? (int)start : -ENOENT;
	if (end - start > LINE_BYTES_MAX)
		return -ENOENT;
	if (bytes_reserve(line, (size_t)(end - start)) < 0)
		return -ENOMEM;
	got = read_fully_at(fd, line->data, (unsigned long)(end - 1 - start), start);
	line->length = got < 0 ? 0 : (size_t)got;
	return got < 0 ? (int)got : 0;
}

/* A pass over the logs of all indexes. */
struct log_tails {
	uint64_t series;
	uint64_t number; /* the highest one of this series */
	struct text_list last; /* ids of the last act of each log */
};

/* Takes the last record of a log into account. Returns 0 or -ENOMEM. */
static int take_tail(struct log_tails *tails, int log)
{
	CLEANUP_DECODED_RECORD struct decoded_record decoded = {.record = {.act = NULL}};
	CLEANUP_BYTES struct bytes line = {0};
	const struct record *record = &decoded.record;
	int r = read_last_line(log, &line);

	if (r == 0)
		r = record_decode((const char *)line.data, line.length, &decoded);
	if (r != 0)
		return r == -ENOMEM ? r : 0;
	if (tails->series == 0)
		tails->series = record->order.series;
	if (record->order.series == tails->series && record->order.number > tails->number)
		tails->number = record->order.number;
	return text_list_add(&tails->last, record->act, strlen(record->act));
}

/* Takes the log in the folder of an index into account. Returns 0 or -ENOMEM. */
static int take_index(struct log_tails *tails, int index)
{
	AUTO_CLOSE int log = openat(index, TWINFS_INDEX_LOG,
				    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return log < 0 ? 0 : take_tail(tails, log);
}

static int visit_index(void *context, int directory, const struct dirent *entry)
{
	AUTO_CLOSE int index = -1;

	if (entry->d_name[0] == '.')
		return 0;
	index = openat(directory, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return index < 0 ? 0 : take_index(context, index);
}

/* ---- the file ------------------------------------------------------------------------------ */

static int format_header(struct bytes *text, const struct act_order *last)
{
	return bytes_format(text, "series %016" PRIx64 " last %020" PRIu64 "\n", last->series,
			    last->number);
}

/* Sets *last to the first line, or to zeros if that is corrupt. Returns 0 or -errno. */
static int read_header(int fd, struct act_order *last)
{
	CLEANUP_BYTES struct bytes again = {0};
	char text[HEADER_LENGTH + 1] = "";
	long got = read_fully_at(fd, text, HEADER_LENGTH, 0);
	char *end;
	int r;

	*last = (struct act_order){0};
	if (got < 0)
		return (int)got;
	if (got < (long)HEADER_LENGTH)
		return 0;
	last->series = strtoull(text + strlen("series "), &end, 16);
	last->number = strtoull(end + strlen(" last "), NULL, 10);
	r = format_header(&again, last);
	if (r == 0 &&
	    (again.length != HEADER_LENGTH || memcmp(again.data, text, again.length) != 0))
		*last = (struct act_order){0};
	return r;
}

static uint64_t make_series(void)
{
	uint64_t id = 0;

	if (random_fill(&id, sizeof(id)) < 0 || id == 0)
		id = (uint64_t)time(NULL) << 20 ^ (uint64_t)getpid();
	return id;
}

/* Writes the first line of a series that goes on, or the whole file of a new one. */
static int write_file(int fd, const struct act_order *order, const struct log_tails *tails,
		      bool is_new)
{
	CLEANUP_BYTES struct bytes text = {0};
	int r = format_header(&text, order);

	for (size_t i = 0; r == 0 && is_new && i < tails->last.count; i++)
		r = bytes_format(&text, BEFORE "%s %" PRIu64 "\n", tails->last.items[i],
				 order->number);
	if (r < 0)
		return r;
	if (is_new && ftruncate(fd, 0) < 0)
		return -errno;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	r = write_fully(fd, text.data, text.length);
	return r == 0 && fdatasync(fd) < 0 ? -errno : r;
}

/* Takes the next number from the open file.
 *
 * logs		a folder that has a log, or whose folders have logs, or both
 */
static int take_next(int fd, int logs, struct act_order *order)
{
	struct log_tails tails = {0};
	struct act_order last;
	int r = read_header(fd, &last);
	bool is_new = last.series == 0;

	if (r < 0)
		return r;
	tails.series = last.series;
	tails.number = last.number;
	/* the file is possibly an older one than the logs, if it was restored */
	r = directory_visit(logs, visit_index, &tails);
	if (r == 0)
		r = take_index(&tails, logs);
	if (tails.series == 0)
		tails.series = make_series();
	*order = (struct act_order){tails.series, tails.number + 1};
	if (r == 0)
		r = write_file(fd, order, &tails, is_new);
	text_list_free(&tails.last);
	return r;
}

/* Waits for the lock of the file. */
static int lock_file(int fd, int lock)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid())
		return -EPERM;
	while (flock(fd, lock) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/* Opens the file in the folder with the indexes, and locks it. Returns a descriptor or -errno. */
static int open_locked(int indexes, int flags, int lock)
{
	int fd = openat(indexes, TWINFS_ACT_ORDER,
			flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : lock_file(fd, lock);

	if (r == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return r;
}

/* Opens the file in the folder above an index that the user placed, and locks it. Another program
 * can have a file of this name there. Returns a descriptor, -ENOENT or another -errno. */
static int open_beside(int indexes)
{
	struct act_order last;
	int fd = open_locked(indexes, O_RDWR, LOCK_EX);
	int r = fd < 0 ? fd : read_header(fd, &last);

	if (r >= 0 && last.series != 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return r < 0 && fd >= 0 ? r : -ENOENT;
}

int act_order_take(const char *folder, bool is_default, struct act_order *order)
{
	AUTO_CLOSE int index = -1;
	AUTO_CLOSE int indexes = -1;
	AUTO_CLOSE int fd = -1;
	int r = index_folder_open(folder, &index), logs;

	*order = (struct act_order){0};
	if (r < 0)
		return r;
	indexes = openat(index, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (indexes < 0)
		return -errno;
	fd = is_default ? open_locked(indexes, O_RDWR | O_CREAT, LOCK_EX) : open_beside(indexes);
	logs = fd == -ENOENT ? index : indexes;
	if (fd == -ENOENT)
		fd = open_locked(index, O_RDWR | O_CREAT, LOCK_EX);
	if (fd < 0)
		return fd;
	if (is_default)
		index_folder_mark(indexes);
	r = take_next(fd, logs, order);
	if (r < 0)
		*order = (struct act_order){0};
	return r;
}

/* Reads the lines after the first one.
 *
 * fd		is closed
 * at		set to the place of the line with the last act that has a record, or to the end
 */
static int read_lines(int fd, struct act_order_series *series, off_t *at)
{
	AUTO_FREE char *line = NULL;
	AUTO_FCLOSE FILE *stream = fdopen(fd, "r");
	size_t room = 0;
	ssize_t length;
	int r = 0;

	*at = 0;
	if (!stream) {
		close(fd);
		return -ENOMEM;
	}
	rewind(stream);
	while (r == 0 && (length = getline(&line, &room, stream)) > 0) {
		const char *id = line + strlen(BEFORE);

		if (line[length - 1] != '\n')
			break; /* a power failure left a part of it */
		if (length == LOGGED_LENGTH && strncmp(line, LOGGED, strlen(LOGGED)) == 0) {
			series->logged = strtoull(line + strlen(LOGGED), NULL, 10);
			break; /* it is the last line */
		}
		if (strncmp(line, BEFORE, strlen(BEFORE)) == 0)
			r = text_list_add(&series->before, id, strcspn(id, "\n"));
		*at += length;
	}
	return r;
}

/* Reads the file in a folder. */
static int read_series(int folder, struct act_order_series *series)
{
	int fd = open_locked(folder, O_RDONLY, LOCK_SH), r;
	struct act_order last;
	off_t at;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	r = read_header(fd, &last);
	if (r < 0 || last.series == 0) {
		close(fd);
		return r;
	}
	series->id = last.series;
	return read_lines(fd, series, &at);
}

/* Writes the number of the last act that has a record, unless it is there. */
static int write_logged(int fd, uint64_t number)
{
	CLEANUP_BYTES struct bytes text = {0};
	struct act_order_series series = {.id = 0};
	int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	off_t at = 0;
	int r = again < 0 ? -errno : read_lines(again, &series, &at);

	text_list_free(&series.before);
	if (r < 0 || series.logged >= number)
		return r;
	r = bytes_format(&text, LOGGED "%020" PRIu64 "\n", number);
	if (r == 0 && lseek(fd, at, SEEK_SET) < 0)
		r = -errno;
	if (r == 0)
		r = write_fully(fd, text.data, text.length);
	return r == 0 && fdatasync(fd) < 0 ? -errno : r;
}

/* Notes that an act, which is no undo, gets its first record. Without the file beside the folder,
 * or if that has another series, nothing is noted. index is the folder of the index. Blocks on the
 * disk. Returns 0 or -errno. */
static int act_order_note_logged(int index, const struct act_order *order)
{
	AUTO_CLOSE int indexes = openat(index, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = indexes < 0 ? -errno : open_beside(indexes);
	struct act_order last;
	int r;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	r = read_header(fd, &last);
	return r < 0 || last.series != order->series ? r : write_logged(fd, order->number);
}

int act_order_read(const char *folder, bool is_index, struct act_order_series *series)
{
	AUTO_CLOSE int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int indexes = -1;
	int r = 0;

	*series = (struct act_order_series){.id = 0};
	if (directory < 0)
		return errno == ENOENT ? 0 : -errno;
	if (is_index)
		indexes = openat(directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* that of another user or program cannot be used */
	if (indexes >= 0)
		(void)!read_series(indexes, series);
	if (series->id == 0)
		r = read_series(directory, series);
	return r;
}

void act_order_series_free(struct act_order_series *series)
{
	text_list_free(&series->before);
}

/* ---- the log -------------------------------------------------------------------------- */

struct act_log {
	int fd;
	bool own; /* no other program writes to the file */
	struct bytes waiting; /* lines to be written */
	int folder; /* of the index; -1: none */
	/* The act of the last line, and its place in the order; series 0: that is noted or none. */
	char last[ACT_ID_SIZE];
	struct act_order order;
	/* One act, and the numbers of its files in the log, for act_log_contains(). */
	char act[ACT_ID_SIZE];
	struct number_set files;
};

/* ---- appending ----------------------------------------------------------------------- */

static int cut_incomplete_line(int fd)
{
	struct stat status;
	off_t whole;

	if (fstat(fd, &status) < 0)
		return -errno;
	whole = whole_length(fd, status.st_size);
	if (whole < 0)
		return (int)whole;
	return whole < status.st_size && ftruncate(fd, whole) < 0 ? -errno : 0;
}

/* Has the first record begin on a line of its own. No byte of the file is removed. */
static int end_incomplete_line(struct act_log *log)
{
	struct stat status;
	off_t whole;

	if (fstat(log->fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return 0; /* the user gave a pipe or a device */
	whole = whole_length(log->fd, status.st_size);
	if (whole < 0)
		return (int)whole;
	return whole < status.st_size ? bytes_append_text(&log->waiting, "\n") : 0;
}

static int open_log(struct act_log **log, int directory, const char *name, bool own)
{
	struct act_log *made = calloc(1, sizeof(*made));
	int r;

	*log = NULL;
	if (!made)
		return -ENOMEM;
	made->own = own;
	made->folder = own ? fcntl(directory, F_DUPFD_CLOEXEC, 0) : -1;
	made->fd =
		openat(directory, name, O_RDWR | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC, 0600);
	r = made->fd < 0 ? -errno : own ? cut_incomplete_line(made->fd) : end_incomplete_line(made);
	if (r < 0)
		act_log_close(made);
	else
		*log = made;
	return r;
}

int act_log_open(struct act_log **log, int folder)
{
	return open_log(log, folder, TWINFS_INDEX_LOG, true);
}

int act_log_open_file(struct act_log **log, const char *path)
{
	return open_log(log, AT_FDCWD, path, false);
}

void act_log_close(struct act_log *log)
{
	if (!log)
		return;
	if (log->fd >= 0)
		close(log->fd);
	if (log->folder >= 0)
		close(log->folder);
	bytes_free(&log->waiting);
	number_set_free(&log->files);
	free(log);
}

/* Notes the place of the act in the order. Undos have none that counts. */
static int take_order(struct act_log *log, const char *line)
{
	CLEANUP_DECODED_RECORD struct decoded_record decoded = {.record = {.act = NULL}};
	const struct record *record = &decoded.record;
	uint64_t file;
	int r;

	if (log->folder < 0 || (log->last[0] && record_is_of(line, log->last, &file)))
		return 0;
	r = record_decode(line, strlen(line), &decoded);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	(void)snprintf(log->last, sizeof(log->last), "%s", record->act);
	if (record->command != RECORD_UNDO && record->order.number > log->order.number)
		log->order = record->order;
	return 0;
}

/* Notes beside the index that the act gets a record, before it gets it. If the process is killed
 * between, the act is in the journal. */
static void note_order(struct act_log *log)
{
	int r = log->order.series ? act_order_note_logged(log->folder, &log->order) : 0;

	if (r < 0)
		log_debug("cannot note the last act beside its index: %s", error_text(r));
	log->order = (struct act_order){0};
}

int act_log_append(struct act_log *log, const char *line)
{
	size_t before = log->waiting.length;
	int r = take_order(log, line);

	if (r == 0)
		r = bytes_append_text(&log->waiting, line);
	if (r == 0)
		r = bytes_append_text(&log->waiting, "\n");
	if (r < 0)
		log->waiting.length = before;
	return r;
}

int act_log_add(struct act_log *log, const struct record *record)
{
	CLEANUP_BYTES struct bytes line = {0};
	int r = record_encode(&line, record);

	return r < 0 ? r : bytes_text(&line) ? act_log_append(log, bytes_text(&line)) : -ENOMEM;
}

/* Writes the lines and syncs them. The log of an index gets all lines or none. */
static int write_lines(struct act_log *log)
{
	struct stat status;
	int r = fstat(log->fd, &status) < 0 ? -errno : 0;

	if (r == 0)
		r = write_fully(log->fd, log->waiting.data, log->waiting.length);
	if (!S_ISREG(status.st_mode))
		return r;
	if (r == 0 && fsync(log->fd) < 0)
		r = -errno;
	if (r < 0 && log->own && ftruncate(log->fd, status.st_size) < 0)
		r = -errno;
	return r;
}

int act_log_sync(struct act_log *log)
{
	int r = 0;

	if (log->waiting.length > 0) {
		note_order(log);
		r = write_lines(log);
	}
	if (r == 0)
		log->waiting.length = 0;
	return r;
}

size_t act_log_mark(const struct act_log *log)
{
	return log->waiting.length;
}

void act_log_drop(struct act_log *log, size_t mark)
{
	if (log->waiting.length > mark)
		log->waiting.length = mark;
}

/* ---- reading ------------------------------------------------------------------------- */

/* Opens the stream of a log. Sets *stream to NULL if there is no log. */
static int open_stream(int folder, FILE **stream)
{
	int fd = openat(folder, TWINFS_INDEX_LOG, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	*stream = NULL;
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	*stream = fdopen(fd, "r");
	if (*stream)
		return 0;
	(void)close(fd);
	return -ENOMEM;
}

/* Reads the next line without its end. An incomplete last line does not count, as its act is still
 * in the journal. Returns 1, 0 at the end, or -errno. */
static int next_line(FILE *stream, char **line, size_t *room, size_t *length)
{
	ssize_t got;

	errno = 0;
	got = getline(line, room, stream);
	if (got < 0)
		return ferror(stream) || errno == ENOMEM ? -errno : 0;
	if ((*line)[got - 1] != '\n')
		return 0;
	(*line)[got - 1] = '\0';
	*length = (size_t)got - 1;
	return 1;
}

static int skip_corrupt(struct act_log_pass *pass, uint64_t number)
{
	if (pass->corrupt < ACT_LOG_CORRUPT_NAMED)
		pass->corrupt_lines[pass->corrupt] = number;
	pass->corrupt++;
	return 0;
}

static int read_stream(FILE *stream, struct act_log_pass *pass)
{
	CLEANUP_DECODED_RECORD struct decoded_record decoded = {.record = {.act = NULL}};
	AUTO_FREE char *line = NULL;
	size_t room = 0, length = 0;
	uint64_t file, number = 0;
	int r = 0;

	while (r == 0 && (r = next_line(stream, &line, &room, &length)) > 0) {
		number++;
		if ((pass->act && !record_is_of(line, pass->act, &file)) ||
		    (pass->containing && !strstr(line, pass->containing))) {
			r = 0;
			continue;
		}
		r = record_decode(line, length, &decoded);
		if (r == 0)
			r = pass->record(pass->context, &decoded.record, line);
		else if (r == -EPROTO)
			r = skip_corrupt(pass, number);
	}
	return r;
}

int act_log_read(const char *folder, struct act_log_pass *pass)
{
	AUTO_CLOSE int folder_fd = -1;
	AUTO_FCLOSE FILE *stream = NULL;
	int r = index_folder_open(folder, &folder_fd);

	pass->corrupt = 0;
	if (r == 0)
		r = open_stream(folder_fd, &stream);
	if (r < 0 || !stream)
		return r == -ENOENT || r == -ENOTDIR ? 0 : r;
	return read_stream(stream, pass);
}

int act_log_reread(struct act_log *log, struct act_log_pass *pass)
{
	AUTO_FCLOSE FILE *stream = NULL;
	int r = open_stream(log->folder, &stream);

	pass->corrupt = 0;
	return r < 0 || !stream ? r : read_stream(stream, pass);
}

/* ---- numbers of files ------------------------------------------------------------------------ */

/* Reads the numbers of the files of an act. */
static int read_numbers(struct act_log *log, const char *act)
{
	AUTO_FREE char *line = NULL;
	AUTO_FCLOSE FILE *stream = NULL;
	size_t room = 0, length = 0;
	uint64_t file;
	int r = open_stream(log->folder, &stream);

	if (r < 0)
		return r;
	number_set_free(&log->files);
	(void)snprintf(log->act, sizeof(log->act), "%s", act);
	while (stream && (r = next_line(stream, &line, &room, &length)) > 0) {
		r = record_is_of(line, act, &file) ? number_set_add(&log->files, file) : 0;
		if (r < 0)
			return r;
	}
	return r;
}

int act_log_contains(struct act_log *log, const char *act, uint64_t file)
{
	int r = strcmp(log->act, act) == 0 ? 0 : read_numbers(log, act);

	if (r < 0)
		log->act[0] = '\0';
	return r < 0 ? r : number_set_has(&log->files, file);
}

/* ---- files that were brought back -------------------------------------------------------- */

struct undone_reading {
	struct number_set *undone;
	const char *act;
};

static int note_undone(void *context, const struct record *record, const char *line)
{
	const struct undone_reading *reading = context;
	int r = 0;

	(void)line;
	if (record->undone_file > 0 && record->undone && strcmp(record->undone, reading->act) == 0)
		r = number_set_add(reading->undone, record->undone_file);
	return r < 0 ? r : 0;
}

int undone_read(struct number_set *undone, struct act_log *log, const char *act)
{
	struct undone_reading reading = {undone, act};
	struct act_log_pass records = {.record = note_undone, .context = &reading};

	return act_log_reread(log, &records);
}

int undone_add(struct act_log *log, const struct record *undo, const struct record *record)
{
	const struct record added = {.act = undo->act,
				     .file = undo->file,
				     .command = RECORD_UNDO,
				     .time = clock_now(),
				     .order = undo->order,
				     .source = record->source,
				     .path = record->path,
				     .undone = record->act,
				     .undone_file = record->file,
				     .type = record->type,
				     .size = record->size};

	return act_log_add(log, &added);
}

struct record_adding {
	struct act_log *log;
	const struct record *folder;
	bool was_emptied;
	struct number_set undone;
	struct record undo;
};

/* Returns whether a name of the folder is there. If the folder was being emptied, the name must be
 * of the same file: another one is of the user, or a killed undo left it half-made. */
static bool is_there(const struct record_adding *adding, const struct record *record)
{
	struct stat status;

	return adding->was_emptied
		       ? place_has_inode(AT_FDCWD, record->path, record->inode, record->born_ns)
		       : lstat(record->path, &status) == 0;
}

static int add_name(void *context, const struct record *record, const char *line)
{
	struct record_adding *adding = context;

	(void)line;
	if (record->state == RECORD_RETURNED || number_set_has(&adding->undone, record->file) ||
	    !path_below(record->path, adding->folder->path) || !is_there(adding, record))
		return 0;
	adding->undo.file++;
	return undone_add(adding->log, &adding->undo, record);
}

int undone_add_names(struct act_log *log, const struct record *folder, bool was_emptied)
{
	char id[ACT_ID_SIZE];
	struct record_adding adding = {.log = log,
				       .folder = folder,
				       .was_emptied = was_emptied,
				       .undo = {.act = id}};
	struct act_log_pass records = {.record = add_name, .context = &adding, .act = folder->act};
	int r = undone_read(&adding.undone, log, folder->act);

	record_make_id(id);
	if (r == 0)
		r = act_log_reread(log, &records);
	number_set_free(&adding.undone);
	return r;
}
