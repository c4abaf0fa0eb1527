/* SPDX-License-Identifier: MIT */
#ifndef CLI_ACT_LOGS_H
#define CLI_ACT_LOGS_H

/* The acts in the logs (act/act_log.h) of several indexes. For the main thread. */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "act/record.h"
#include "base/attributes.h"
#include "base/text_list.h"
#include "options/common_options.h"

struct logged_act {
	char id[ACT_ID_SIZE];
	const char *folder; /* of the index, borrowed from act_logs.folders */
	enum record_command command;
	char undone_act[ACT_ID_SIZE]; /* RECORD_UNDO: the act that was undone */
	struct timespec time; /* of its first file */
	size_t order; /* in the log, which orders acts of one second */
	uint64_t files, bytes;
	uint64_t interrupted; /* files of which it is unknown whether the act was done */
	uint64_t undone; /* files that were brought back since */
};

struct act_logs {
	struct text_list folders;
	struct logged_act *acts; /* the earliest first */
	size_t count, capacity;
	bool incomplete; /* a log could not be read completely; the reason was logged */
};

/* Lists the folders of the indexes of a command with one_index_option. Returns 0 or -errno;
 * failures except -ENOMEM are logged. */
MUST_CHECK int act_logs_folders(const struct common_settings *settings, struct text_list *folders);

/* Reads the logs of these indexes. The caller must call act_logs_free() in any case. Returns 0 or
 * -errno; failures except -ENOMEM are logged. */
MUST_CHECK int act_logs_read(struct act_logs *logs, const struct common_settings *settings);
void act_logs_free(struct act_logs *logs);
#define CLEANUP_ACT_LOGS CLEANUP(act_logs_free)

/* Returns the act with this id, or NULL (logged). */
const struct logged_act *act_logs_find(const struct act_logs *logs, const char *id);

#endif
