/* SPDX-License-Identifier: MIT */
#ifndef CLI_ACT_LOGS_H
#define CLI_ACT_LOGS_H

/* The acts in the logs (act/act_log.h) of several indexes. For the main thread. */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "act/act_log.h"
#include "act/recovery.h"
#include "base/attributes.h"
#include "base/output.h"
#include "base/text.h"
#include "cli/common_options.h"

/* Numbers of names, by their types. */
struct name_counts {
	uint64_t files;
	uint64_t folders;
	uint64_t others; /* symlinks, FIFOs, sockets and devices */
};

/* Adds a name of the type of a record. */
void name_counts_add(struct name_counts *counts, uint32_t type);
uint64_t name_counts_sum(const struct name_counts *counts);

/* Appends "3 files, 1 folder, 2 other names"; the files only if no name is of another type. Returns
 * 0 or -ENOMEM. */
MUST_CHECK int name_counts_format(const struct name_counts *counts, struct bytes *text);

struct logged_act {
	char id[ACT_ID_SIZE];
	const char *folder; /* of the index, borrowed from act_logs.folders */
	enum record_command command;
	char undone_act[ACT_ID_SIZE]; /* RECORD_UNDO: the act that was undone */
	struct timespec time; /* of its first file */
	struct act_order order; /* series 0: unknown */
	/* It is before the acts of the current series from this number on; 0: unknown. */
	uint64_t before;
	/* Its place in the list: number in the current series, or that of the act before it in its
	 * log; time, which does not go back in a log; and place in the log. */
	uint64_t number;
	int64_t seconds;
	size_t place;
	struct name_counts names;
	struct name_counts undone; /* names that were brought back since */
	uint64_t bytes;
	uint64_t interrupted; /* names of which it is unknown whether the act was done */
	uint64_t waiting; /* names that wait in the journal for an absent disk */
	bool is_interrupted; /* a kill or a power failure ended it */
};

struct act_logs {
	struct text_list folders;
	struct logged_act *acts; /* the earliest first */
	size_t count, capacity;
	struct act_order_series series;
	struct text_list waiting; /* records of acts that wait for a disk, as JSON */
	const char *unsettled; /* a folder whose interrupted acts are unknown; NULL: none */
	/* A log or journal could not be read completely, or an act waits; the reason was logged. */
	bool incomplete;
};

/* Resolves the interrupted acts of these indexes, then reads their logs. The caller must call
 * act_logs_free() in any case. Returns 0 or -errno; failures except -ENOMEM are logged. */
MUST_CHECK int act_logs_read(struct act_logs *logs, const struct common_settings *settings);
void act_logs_free(struct act_logs *logs);
#define CLEANUP_ACT_LOGS CLEANUP(act_logs_free)

/* Returns the act with this id, or NULL (logged). */
const struct logged_act *act_logs_find(const struct act_logs *logs, const char *id);

/* Outcomes of act_logs_last(). */
enum {
	ACT_LOGS_EMPTY = 1, /* no act is recorded */
	ACT_LOGS_AMBIGUOUS = 2, /* logged, with the command for each act */
	ACT_LOGS_LATER = 3, /* the act is the last one in the logs, but a later one is in none */
};

/* Logs why the last act is unknown, with the command for each act that it can be. */
void act_logs_explain_unknown(const struct act_logs *logs, const char *cause);

/* Sets *act to the last act that is no undo. Returns 0 or an outcome. */
MUST_CHECK int act_logs_last(const struct act_logs *logs, const struct logged_act **act);

/* Undoes the interrupted acts of an index, and logs failures. wish: see act/recovery.h. Returns 0,
 * -EWOULDBLOCK if another process acts, or another -errno. */
MUST_CHECK int act_logs_recover(const char *folder, const struct recovery_wish *wish,
				struct recovery *undone);

#endif
