/* SPDX-License-Identifier: MIT */
#include "act/act_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "store/index_files.h"
#include "twinfs/format.h"

/* Bytes that are read at once to find the last line end. */
#define TAIL_BYTES 4096

struct act_log {
	int fd;
	bool own; /* no other program writes to the file */
	struct bytes waiting; /* lines to be written */
	int folder; /* of the index; -1: none */
	/* The act of the last line, and its place in the order; series 0: that is noted or none. */
	char last[ACT_ID_SIZE];
	struct act_order order;
	/* The numbers of the files of one act in the log, for act_log_contains(), ascending. */
	char act[ACT_ID_SIZE];
	uint64_t *files;
	size_t count, capacity;
};

/* ---- appending ----------------------------------------------------------------------- */

/* Returns the length of the log up to its last line end, or -errno. */
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
	free(log->files);
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

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

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
	log->count = 0;
	(void)snprintf(log->act, sizeof(log->act), "%s", act);
	while (stream && (r = next_line(stream, &line, &room, &length)) > 0) {
		if (!record_is_of(line, act, &file))
			continue;
		r = array_reserve(&log->files, &log->capacity, log->count + 1, sizeof(*log->files));
		if (r < 0)
			return r;
		log->files[log->count++] = file;
	}
	if (log->count > 0)
		qsort(log->files, log->count, sizeof(*log->files), compare_numbers);
	return r;
}

int act_log_contains(struct act_log *log, const char *act, uint64_t file)
{
	int r = strcmp(log->act, act) == 0 ? 0 : read_numbers(log, act);

	if (r < 0)
		log->act[0] = '\0';
	return r < 0 ? r
		     : log->count > 0 && bsearch(&file, log->files, log->count, sizeof(file),
						 compare_numbers);
}

/* ---- files that were brought back -------------------------------------------------------- */

struct undone_reading {
	struct undone *undone;
	const char *act;
};

static int note_undone(void *context, const struct record *record, const char *line)
{
	const struct undone_reading *reading = context;
	struct undone *undone = reading->undone;
	int r;

	(void)line;
	if (!record->undone || strcmp(record->undone, reading->act) != 0)
		return 0;
	r = array_reserve(&undone->files, &undone->capacity, undone->count + 1,
			  sizeof(*undone->files));
	if (r == 0)
		undone->files[undone->count++] = record->undone_file;
	return r;
}

int undone_read(struct undone *undone, struct act_log *log, const char *act)
{
	struct undone_reading reading = {undone, act};
	struct act_log_pass records = {.record = note_undone, .context = &reading};
	int r = act_log_reread(log, &records);

	if (r == 0 && undone->count > 0)
		qsort(undone->files, undone->count, sizeof(*undone->files), compare_numbers);
	return r;
}

void undone_free(struct undone *undone)
{
	free(undone->files);
	*undone = (struct undone){0};
}

bool undone_contains(const struct undone *undone, uint64_t file)
{
	return undone->count > 0 &&
	       bsearch(&file, undone->files, undone->count, sizeof(file), compare_numbers);
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
	struct undone undone;
	struct record undo;
};

/* Returns whether a name of the folder is there. If the folder was being emptied, the name must be
 * of the same file: another one is of the user, or a killed undo left it half-made. */
static bool is_there(const struct record_adding *adding, const struct record *record)
{
	struct statx now;

	return statx(AT_FDCWD, record->path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		     STATX_INO | STATX_BTIME, &now) == 0 &&
	       (!adding->was_emptied || place_is_inode(&now, record->inode, record->born_ns));
}

static int add_name(void *context, const struct record *record, const char *line)
{
	struct record_adding *adding = context;

	(void)line;
	if (record->state == RECORD_RETURNED || undone_contains(&adding->undone, record->file) ||
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
	undone_free(&adding.undone);
	return r;
}
