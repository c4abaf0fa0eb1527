/* SPDX-License-Identifier: MIT */

/* Messages to people: one line each on stderr, or in the system log once a
 * daemon has lost its stderr.
 *
 * error: somebody must act. warning: work was skipped. info: life cycle.
 * debug: the rest. Never a line per file at info. Paths go through
 * quote_path(); other control bytes in a message are shown as '?', so that a
 * message is always one line. Where stderr is the journal, lines carry its
 * level prefix.
 *
 * Any thread: a line is one write(2). errno is kept.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

#include "base/attributes.h"

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

void log_error(const char *format, ...) PRINTF_LIKE(1, 2);
void log_warning(const char *format, ...) PRINTF_LIKE(1, 2);
void log_info(const char *format, ...) PRINTF_LIKE(1, 2);
void log_debug(const char *format, ...) PRINTF_LIKE(1, 2);

/* An error that starts with another name than "twinfs".
 *
 * program	borrowed; stands before the first colon, e.g. "twinfs list"
 */
void log_error_as(const char *program, const char *format, ...) PRINTF_LIKE(2, 3);

/* Whether there was any warning or error, so that nothing fails without a word; and that another
 * process said it, to the same stderr.
 */
bool log_has_said(void);
void log_note_said(void);

/* Sets how much is said: messages above level are dropped. The default is
 * LOG_LEVEL_INFO. Call it before threads start.
 */
void log_set_level(enum log_level level);

/* Connects to syslog(3), so that a process that is confined afterwards can send messages to it. Call
 * it before threads start.
 */
void log_connect_to_syslog(void);

/* Sends all further messages to syslog(3). Call it once, when nobody reads
 * stderr any more.
 */
void log_to_syslog(void);

/* Says that an unfinished line (a progress bar) stands on the terminal that
 * stderr is, or is gone again. While it stands, a message first clears it.
 */
void log_set_bar_shown(bool shown);

#endif
