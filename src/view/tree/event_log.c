/* SPDX-License-Identifier: MIT */
#include "view/tree/event_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void event_log_init(struct event_log *log)
{
	*log = (struct event_log){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void event_log_deinit(struct event_log *log)
{
	bytes_free(&log->content);
	pthread_mutex_destroy(&log->lock);
}

static uint64_t count_lines(const uint8_t *data, size_t length)
{
	const uint8_t *at = data, *end = data + length;
	uint64_t lines = 0;

	while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
		lines++;
		at++;
	}
	return lines;
}

/* Discards whole lines from the beginning: half of the log, so that the rest is not moved for each
 * new line. */
static void discard(struct event_log *log)
{
	struct bytes *content = &log->content;
	const uint8_t *middle = content->data + content->length / 2;
	const uint8_t *newline = memchr(middle, '\n', content->length - content->length / 2);
	size_t length = newline ? (size_t)(newline + 1 - content->data) : content->length;

	log->discarded_lines += count_lines(content->data, length);
	log->discarded_bytes += length;
	content->length -= length;
	memmove(content->data, content->data + length, content->length);
}

int event_log_append(struct event_log *log, const struct bytes *lines, struct timespec now)
{
	const uint8_t *line = lines->data, *end = lines->data + lines->length;
	int r = 0;

	pthread_mutex_lock(&log->lock);
	while (r == 0 && line < end) {
		const uint8_t *newline = memchr(line, '\n', (size_t)(end - line));
		size_t length = newline ? (size_t)(newline + 1 - line) : (size_t)(end - line);

		while (log->content.length && log->content.length + length > EVENT_LOG_BYTES_MAX)
			discard(log);
		r = bytes_append(&log->content, line, length);
		line += length;
		log->changed = now;
	}
	pthread_mutex_unlock(&log->lock);
	return r;
}

uint64_t event_log_size(struct event_log *log, struct timespec *changed)
{
	uint64_t size;

	pthread_mutex_lock(&log->lock);
	size = log->discarded_bytes + log->content.length;
	*changed = log->changed;
	pthread_mutex_unlock(&log->lock);
	return size;
}

/* ---- reading ------------------------------------------------------------------------- */

static size_t read_note(const struct event_reader *reader, void *buffer, size_t size,
			uint64_t offset)
{
	size_t from = (size_t)(offset - reader->note_at);
	size_t length = reader->note_length - from;

	if (length > size)
		length = size;
	memcpy(buffer, reader->note + from, length);
	return length;
}

/* Places the line about missed lines at an offset of the reader's file. The lines that the log
 * still has follow it. The line is shorter than any event, so the reader's file never becomes
 * longer than the log. The count is too high for a reader that seeks into the discarded part. */
static void make_note(const struct event_log *log, struct event_reader *reader, uint64_t offset)
{
	uint64_t position = offset + reader->shift;
	uint64_t before = reader->next <= position ? reader->lines : 0;
	bool in_line = reader->next == position && reader->in_line;
	int length = snprintf(reader->note, sizeof(reader->note),
			      "%s{\"event\":\"missed\",\"count\":%" PRIu64 "}\n",
			      in_line ? "\n" : "", log->discarded_lines - before);

	reader->note_at = offset;
	reader->note_length = (size_t)length;
	reader->shift = log->discarded_bytes - (offset + reader->note_length);
	reader->next = log->discarded_bytes;
	reader->lines = log->discarded_lines;
	reader->in_line = false;
}

/* Reads from a position in the log, up to the end of the last line that fits. */
static size_t read_lines(const struct event_log *log, struct event_reader *reader, void *buffer,
			 size_t size, uint64_t position)
{
	const uint8_t *data = log->content.data;
	size_t from = (size_t)(position - log->discarded_bytes),
	       length = log->content.length - from;
	const uint8_t *newline;

	if (length > size)
		length = size;
	newline = memrchr(data + from, '\n', length);
	if (newline)
		length = (size_t)(newline + 1 - (data + from));
	memcpy(buffer, data + from, length);
	if (reader->next != position) {
		reader->lines = log->discarded_lines + count_lines(data, from);
		reader->in_line = from && data[from - 1] != '\n';
		reader->lines += reader->in_line;
	}
	/* a line counts as soon as its first byte was read */
	reader->lines += count_lines(data + from, length) + !newline - reader->in_line;
	reader->in_line = !newline;
	reader->next = position + length;
	return length;
}

static size_t read_at(const struct event_log *log, struct event_reader *reader, void *buffer,
		      size_t size, uint64_t offset)
{
	uint64_t end = log->discarded_bytes + log->content.length, position;

	if (reader->note_length && offset < reader->note_at) {
		/* before the line about missed lines, file offsets equal log offsets */
		reader->shift = 0;
		reader->note_length = 0;
	}
	if (reader->note_length && offset - reader->note_at < reader->note_length)
		return read_note(reader, buffer, size, offset);
	position = offset + reader->shift;
	if (position < log->discarded_bytes) {
		make_note(log, reader, offset);
		return read_note(reader, buffer, size, offset);
	}
	if (position < end)
		return read_lines(log, reader, buffer, size, position);
	reader->next = position;
	reader->lines = log->discarded_lines + count_lines(log->content.data, log->content.length);
	reader->in_line = false;
	return 0;
}

size_t event_log_read(struct event_log *log, struct event_reader *reader, void *buffer, size_t size,
		      uint64_t offset)
{
	size_t length;

	if (size == 0)
		return 0;
	pthread_mutex_lock(&log->lock);
	length = read_at(log, reader, buffer, size, offset);
	pthread_mutex_unlock(&log->lock);
	return length;
}

bool event_log_has_more(struct event_log *log, const struct event_reader *reader)
{
	bool more;

	pthread_mutex_lock(&log->lock);
	more = reader->next < log->discarded_bytes + log->content.length;
	pthread_mutex_unlock(&log->lock);
	return more;
}
