/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/descriptor.h"
#include "base/output.h"
#include "base/text.h"

/* Buffer size of a line: two quoted paths of maximum length. */
#define LINE_SIZE 10240

/* Marks the end of a truncated message. */
#define CUT_MARK "…"
#define CUT_LENGTH (sizeof(CUT_MARK) - 1)

static atomic_int max_level = LOG_LEVEL_INFO;
static atomic_bool use_syslog;
static atomic_bool bar_shown;
static atomic_bool has_reported; /* a warning or error */

/* Whether stderr is the journal. Determined once: the environment and stderr do not change. */
static pthread_once_t journal_once = PTHREAD_ONCE_INIT;
static bool journal;

static const struct {
	const char *word;
	int syslog_priority;
} levels[] = {
	[LOG_LEVEL_ERROR] = {"", LOG_ERR},
	[LOG_LEVEL_WARNING] = {"warning: ", LOG_WARNING},
	[LOG_LEVEL_INFO] = {"", LOG_INFO},
	[LOG_LEVEL_DEBUG] = {"debug: ", LOG_DEBUG},
};

/* Compares stderr with JOURNAL_STREAM, which has device and inode of the stream to the journal. A
 * child with redirected stderr inherits the variable, too (systemd.exec(5)).
 */
static void find_journal(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment */
	const char *stream = getenv("JOURNAL_STREAM");
	char found[64];
	struct stat status;

	if (!stream || fstat(STDERR_FILENO, &status) != 0)
		return;
	(void)snprintf(found, sizeof(found), "%ju:%ju", (uintmax_t)status.st_dev,
		       (uintmax_t)status.st_ino);
	journal = strcmp(stream, found) == 0;
}

/* Makes text a line: replaces control bytes, marks a truncated text, and appends a newline.
 *
 * length of the whole text, which can exceed size
 * size		of the buffer
 *
 * Returns the length of the line.
 */
static size_t finish_line(char *text, size_t length, size_t size)
{
	if (length > size - 2) {
		length = size - 2;
		memcpy(text + length - CUT_LENGTH, CUT_MARK, CUT_LENGTH);
	}
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			text[i] = '?';
	}
	text[length++] = '\n';
	return length;
}

/* Begins a line for stderr: a priority for the journal or a sequence for the terminal, the program
 * and the level. Returns the length, which is below size. */
static size_t begin_line(char *line, size_t size, enum log_level level, const char *program)
{
	const char *separator = ": ";
	size_t start = 0;

	pthread_once(&journal_once, find_journal);
	if (journal)
		start = (size_t)snprintf(line, size, "<%d>", levels[level].syslog_priority);
	else if (atomic_load(&bar_shown))
		start = (size_t)snprintf(line, size, "\r" TERMINAL_CLEAR_REST);

	/* the journal shows the name of the program itself */
	if (journal && strcmp(program, LOG_PROGRAM) == 0)
		program = separator = "";
	return start + (size_t)snprintf(line + start, size - start, "%s%s%s", program, separator,
					levels[level].word);
}

void log_mark_reported(void)
{
	atomic_store(&has_reported, true);
}

bool log_has_reported(void)
{
	return atomic_load(&has_reported);
}

void log_at(enum log_level level, const char *program, const char *format, ...)
{
	int saved = errno;
	char line[LINE_SIZE];
	size_t start = 0;
	va_list args;
	int length;

	if (level <= LOG_LEVEL_WARNING)
		log_mark_reported();
	if ((int)level > atomic_load(&max_level))
		return;
	if (!atomic_load(&use_syslog))
		start = begin_line(line, sizeof(line), level, program);
	va_start(args, format);
	length = vsnprintf(line + start, sizeof(line) - start, format, args);
	va_end(args);
	if (length < 0)
		return;
	if (atomic_load(&use_syslog)) {
		syslog(levels[level].syslog_priority, "%s", line);
	} else {
		start += finish_line(line + start, (size_t)length, sizeof(line) - start);
		/* a failure cannot be reported anywhere */
		(void)!write_fully(STDERR_FILENO, line, start);
	}
	errno = saved;
}

void log_set_level(enum log_level level)
{
	atomic_store(&max_level, (int)level);
}

void log_connect_to_syslog(void)
{
	openlog(LOG_PROGRAM, LOG_PID | LOG_NDELAY, LOG_DAEMON);
}

void log_to_syslog(void)
{
	log_connect_to_syslog();
	atomic_store(&use_syslog, true);
}

void log_set_bar_shown(bool shown)
{
	atomic_store(&bar_shown, shown);
}

/* ---- errors -------------------------------------------------------------------------------- */

/* strerror() can share one buffer between threads; the functions used below do not. */

static int magnitude(int error)
{
	if (error == INT_MIN)
		return INT_MAX;
	return error < 0 ? -error : error;
}

const char *error_text(int error)
{
	const char *text = strerrordesc_np(magnitude(error));

	return text ? text : "Unknown error";
}

const char *error_name(int error)
{
	const char *name = strerrorname_np(magnitude(error));

	return name ? name : "EUNKNOWN";
}

/* ---- names --------------------------------------------------------------------------------- */

/* Quoted paths of a thread that stay valid, and bytes of each. */
#define RING_SIZE 4
#define QUOTED_SIZE 4352

/* The end of a truncated path. */
#define CUT_PATH CUT_MARK "'"

/* Buffer size for the longest escape of a character, \U000e0001, including the NUL. */
#define SHOWN_SIZE 12

static void escape_code(char shown[static SHOWN_SIZE], uint32_t code)
{
	static const char short_forms[] = "\aa\bb\ff\nn\rr\tt\vv";

	for (size_t i = 0; short_forms[i] != '\0'; i += 2) {
		if (code == (unsigned char)short_forms[i]) {
			(void)snprintf(shown, SHOWN_SIZE, "\\%c", short_forms[i + 1]);
			return;
		}
	}
	if (code < 0x80)
		(void)snprintf(shown, SHOWN_SIZE, "\\x%02x", (unsigned int)code);
	else if (code <= 0xffff)
		(void)snprintf(shown, SHOWN_SIZE, "\\u%04x", (unsigned int)code);
	else
		(void)snprintf(shown, SHOWN_SIZE, "\\U%08x", (unsigned int)code);
}

/* Writes the first character of the bytes to shown, safe for a terminal. Returns the number of
 * bytes of the character.
 */
static size_t show_character(char shown[static SHOWN_SIZE], const char *bytes, size_t available)
{
	uint32_t code;
	size_t length = utf8_decode(bytes, available, &code);

	if (length == 0) {
		(void)snprintf(shown, SHOWN_SIZE, "\\x%02x", (unsigned char)bytes[0]);
		return 1;
	}
	if (utf8_is_unfit(code))
		escape_code(shown, code);
	else if (code == '\'' || code == '\\')
		(void)snprintf(shown, SHOWN_SIZE, "\\%c", (char)code);
	else
		(void)snprintf(shown, SHOWN_SIZE, "%.*s", (int)length, bytes);
	return length;
}

const char *quote_bytes(const char *bytes, size_t length)
{
	static _Thread_local char ring[RING_SIZE][QUOTED_SIZE];
	static _Thread_local unsigned int turn;
	char *quoted = ring[turn++ % RING_SIZE];
	size_t used = 0;

	quoted[used++] = '\'';
	for (size_t i = 0; i < length;) {
		char shown[SHOWN_SIZE];
		size_t shown_length;

		i += show_character(shown, bytes + i, length - i);
		shown_length = strlen(shown);
		if (used + shown_length + sizeof(CUT_PATH) > QUOTED_SIZE) {
			memcpy(quoted + used, CUT_PATH, sizeof(CUT_PATH));
			return quoted;
		}
		memcpy(quoted + used, shown, shown_length);
		used += shown_length;
	}
	memcpy(quoted + used, "'", sizeof("'"));
	return quoted;
}

const char *quote_path(const char *path)
{
	return quote_bytes(path, strlen(path));
}
