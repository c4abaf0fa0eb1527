/* SPDX-License-Identifier: MIT */

/* Messages for users: one line each on stderr, or in the system log after a daemon has closed its
 * stderr.
 *
 * An error requires action. A warning reports skipped work. The level info reports the life cycle,
 * and debug is for everything else. The level info never has one line per file. Paths are written
 * with quote_path(). On stderr, other control bytes of a message become '?', so that a message is
 * always one line. If stderr is the journal, each line begins with a level prefix of the journal.
 *
 * Any thread: a line is one write(2). errno is preserved.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

/* Logs a message.
 *
 * program	borrowed; the text before the first colon, e.g. "twinfs list"
 */
void log_at(enum log_level level, const char *program, const char *format, ...) PRINTF_LIKE(3, 4);

/* The name at the beginning of a message. */
#define LOG_PROGRAM "twinfs"

#define log_error(...) log_at(LOG_LEVEL_ERROR, LOG_PROGRAM, __VA_ARGS__)
#define log_warning(...) log_at(LOG_LEVEL_WARNING, LOG_PROGRAM, __VA_ARGS__)
#define log_info(...) log_at(LOG_LEVEL_INFO, LOG_PROGRAM, __VA_ARGS__)
#define log_debug(...) log_at(LOG_LEVEL_DEBUG, LOG_PROGRAM, __VA_ARGS__)
#define log_error_as(program, ...) log_at(LOG_LEVEL_ERROR, program, __VA_ARGS__)

/* log_has_reported() returns whether a warning or error was logged, so that no failure stays
 * without a message. log_mark_reported() records that another process logged a message to the same
 * stderr, or that no message is needed.
 */
bool log_has_reported(void);
void log_mark_reported(void);

/* Sets the level: less important messages are discarded. The default is LOG_LEVEL_INFO. Call it
 * before threads start.
 */
void log_set_level(enum log_level level);

/* Connects to syslog(3), so that a process that is confined later can still send messages. Call it
 * before threads start.
 */
void log_connect_to_syslog(void);

/* Sends all further messages to syslog(3). Call it once, when stderr is no longer read. */
void log_to_syslog(void);

/* Records whether an unfinished line (a progress bar) is shown on the terminal of stderr. If so, a
 * message first clears the line.
 */
void log_set_bar_shown(bool shown);

/* Returns the description of an error for people: "Permission denied". The text is static.
 *
 * error	an errno of either sign, so that the result of a failed call can be given
 */
const char *error_text(int error);

/* Returns the name of an error for programs: "EACCES", or "EUNKNOWN" if the C library does not know
 * it. The name is static.
 *
 * error	an errno of either sign
 */
const char *error_name(int error);

/* Returns a path in single quotes. A name can have any bytes, but a message must neither move the
 * cursor nor hide parts of the name. Control bytes, bytes that are not UTF-8, single quotes and
 * backslashes become escapes such as \n, \x1b, \' and \\. Characters that are invisible, break the
 * line or change the direction of text become escapes such as \u202e. A path over about 4,000 bytes
 * is truncated and ends with "…". Does not block, allocate or fail.
 *
 * path	borrowed
 *
 * The result belongs to the calling thread, and is valid until this thread quotes four more paths.
 * So one message can show four paths.
 */
const char *quote_path(const char *path);

/* Quotes length bytes, which need no NUL at their end, like quote_path(). */
const char *quote_bytes(const char *bytes, size_t length);

#endif
