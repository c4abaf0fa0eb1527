/* SPDX-License-Identifier: MIT */
#include "act/act_order.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "act/record.h"
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/directory.h"
#include "base/system_call.h"
#include "store/index_files.h"
#include "twinfs/format.h"

/* Length of the first line, which is always overwritten as a whole. */
#define HEADER_LENGTH (sizeof("series 0123456789abcdef last 00000000000000000012\n") - 1)
/* Prefix of the further lines. */
#define BEFORE "before "
/* Prefix and length of a line that is overwritten as a whole. */
#define LOGGED "logged "
#define LOGGED_LENGTH (sizeof(LOGGED "00000000000000000012\n") - 1)
/* Bounds the memory for the last line of a log: a record with many attributes is long. */
#define TAIL_BYTES_MAX (1U << 20)
#define TAIL_BYTES_MIN (1U << 12)

/* ---- the last record of a log -------------------------------------------------------------- */

/* Reads the last complete line of a file, without its end. Returns 0, -ENOENT if there is none or
 * it is too long, or another -errno. */
static int read_last_line(int fd, struct bytes *line)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	for (size_t room = TAIL_BYTES_MIN; room <= TAIL_BYTES_MAX; room *= 4) {
		size_t length = (size_t)status.st_size < room ? (size_t)status.st_size : room;
		off_t at = status.st_size - (off_t)length;
		const char *text, *end, *start;
		int r = bytes_reserve(line, length + 1);
		long got = r < 0 ? r : read_fully_at(fd, line->data, length, at);

		if (got < 0)
			return (int)got;
		text = (const char *)line->data;
		end = memrchr(text, '\n', (size_t)got);
		start = end ? memrchr(text, '\n', (size_t)(end - text)) : NULL;
		if (start || (end && at == 0)) {
			start = start ? start + 1 : text;
			line->length = (size_t)(end - start);
			memmove(line->data, start, line->length);
			return 0;
		}
		if (at == 0)
			break;
	}
	return -ENOENT;
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

int act_order_note_logged(int index, const struct act_order *order)
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
