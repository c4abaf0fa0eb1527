/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "act/act_log.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/output.h"
#include "cli/act_logs.h"
#include "cli/command.h"
#include "cli/counted.h"
#include "row/json_path.h"
#include "row/json_text.h"

enum log_format {
	LOG_TEXT,
	LOG_JSON,
	LOG_JSONL,
};

struct log_settings {
	struct common_settings common;
	enum log_format format;
};

static const struct option_spec log_options[] = {
	{.heading = "Output"},
	{
		.name = "format",
		.letter = 'F',
		.argument = "text|json|jsonl",
		.help = "output format (default: text, for people); of an ACT, jsonl prints the "
			"lines of the log",
		.at = offsetof(struct log_settings, format),
	},
	{0},
};

/* ---- the list of acts -------------------------------------------------------------------- */

static const char *time_text(char text[static 32], struct timespec time)
{
	struct tm parts;

	if (!localtime_r(&time.tv_sec, &parts) ||
	    strftime(text, 32, "%Y-%m-%d %H:%M:%S", &parts) == 0)
		(void)snprintf(text, 32, "?");
	return text;
}

static void print_count(struct output *output, uint64_t count, const char *what)
{
	if (count > 0)
		output_format(output, "  %s %s", number_text(count).text, what);
}

static void print_act_text(struct output *output, const struct logged_act *act)
{
	char time[32];
	uint64_t undone = name_counts_sum(&act->undone);
	char command[40];

	(void)snprintf(command, sizeof(command), "%s%s%s", record_command_text(act->command),
		       act->undone_act[0] ? " " : "", act->undone_act);
	output_format(output, "%s  %s  %-15s  %10s %-5s  %10s", act->id, time_text(time, act->time),
		      command, number_text(act->names.files).text,
		      plural(act->names.files, "file", "files"), size_text(act->bytes).text);
	print_count(output, act->names.folders, plural(act->names.folders, "folder", "folders"));
	print_count(output, act->names.others,
		    plural(act->names.others, "other name", "other names"));
	if (act->is_interrupted && act->interrupted == 0)
		output_text(output, "  interrupted");
	print_count(output, act->interrupted, "interrupted");
	print_count(output, act->waiting,
		    plural(act->waiting, "waits for its disk", "wait for their disk"));
	if (undone < name_counts_sum(&act->names))
		print_count(output, undone, "undone");
	else if (undone > 0)
		output_text(output, "  undone");
	output_text(output, "\n");
}

static json_t *act_object(const struct logged_act *act)
{
	struct tm parts;
	char time[32] = "";
	json_t *object;

	if (gmtime_r(&act->time.tv_sec, &parts))
		(void)strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%SZ", &parts);
	object =
		json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "act", act->id,
			  "time", time, "command", record_command_word(act->command), "files",
			  json_number(act->names.files), "folders", json_number(act->names.folders),
			  "others", json_number(act->names.others), "bytes",
			  json_number(act->bytes), "interrupted", json_number(act->interrupted),
			  "waiting", json_number(act->waiting), "undone",
			  json_number(act->undone.files), "cut_off", (int)act->is_interrupted);
	if (object &&
	    ((act->undone_act[0] &&
	      json_object_set_new(object, "undone_act", json_string(act->undone_act)) < 0) ||
	     json_set_path(object, "index", act->folder, strlen(act->folder)) < 0)) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static int print_acts(struct output *output, const struct act_logs *logs, enum log_format format)
{
	int r = 0;

	if (format == LOG_JSON)
		output_text(output, "{\"version\":\"" TWINFS_VERSION "\",\"acts\":[");
	for (size_t i = 0; r == 0 && i < logs->count; i++) {
		if (format == LOG_TEXT) {
			print_act_text(output, &logs->acts[i]);
			continue;
		}
		if (format == LOG_JSON)
			output_text(output, i > 0 ? ",\n" : "\n");
		r = output_json_object(output, act_object(&logs->acts[i]));
		if (format == LOG_JSONL)
			output_text(output, "\n");
	}
	if (format == LOG_JSON)
		output_text(output, "]}\n");
	return r;
}

/* ---- the files of an act ----------------------------------------------------------------- */

struct printing_files {
	struct output *output;
	enum log_format format;
	uint64_t count;
};

static void print_detail(struct output *output, const char *label, const char *path)
{
	if (!path)
		return;
	output_format(output, "    %s ", label);
	output_name(output, path, strlen(path));
	output_text(output, "\n");
}

/* Prints which hosts keep the content, and by which SHA-256 a user finds it there. */
static void print_keepers(struct output *output, const struct record *record)
{
	char digits[SHA256_DIGITS + 1];

	if (!record->kept_by)
		return;
	sha256_format(record->sha256, digits);
	print_detail(output, "kept by", record->kept_by);
	print_detail(output, "sha256", digits);
}

static void print_file_text(struct output *output, const struct record *record)
{
	static const char *const ends[] = {
		[RECORD_DONE] = "\n",
		[RECORD_INTERRUPTED] = "  (interrupted)\n",
		[RECORD_RETURNED] = "  (interrupted; it is as it was)\n",
		[RECORD_WAITING] = "  (interrupted; waits for its disk)\n",
	};

	output_name(output, record->path, strlen(record->path));
	output_text(output, ends[record->state]);
	print_detail(output, "kept", record->kept);
	print_keepers(output, record);
	print_detail(output, "to", record->to);
}

static int print_file(void *context, const struct record *record, const char *line)
{
	struct printing_files *printing = context;
	struct output *output = printing->output;

	if (printing->format == LOG_TEXT) {
		print_file_text(output, record);
		return 0;
	}
	if (printing->format == LOG_JSON)
		output_text(output, printing->count++ > 0 ? ",\n" : "\n");
	output_json(output, line, strlen(line));
	if (printing->format == LOG_JSONL)
		output_text(output, "\n");
	return 0;
}

/* Prints the files of an act that wait for a disk. */
static int print_waiting(struct printing_files *printing, const struct act_logs *logs,
			 const struct logged_act *act)
{
	CLEANUP_DECODED_RECORD struct decoded_record decoded = {.record = {.act = NULL}};
	int r = 0;

	for (size_t i = 0; r == 0 && i < logs->waiting.count; i++) {
		const char *line = logs->waiting.items[i];

		r = record_decode(line, strlen(line), &decoded);
		if (r == 0 && strcmp(decoded.record.act, act->id) == 0)
			r = print_file(printing, &decoded.record, line);
	}
	return r;
}

static int print_files(struct output *output, const struct act_logs *logs,
		       const struct logged_act *act, enum log_format format)
{
	struct printing_files printing = {output, format, 0};
	struct act_log_pass pass = {.record = print_file, .context = &printing, .act = act->id};
	int r;

	if (format == LOG_JSON)
		output_text(output, "{\"version\":\"" TWINFS_VERSION "\",\"files\":[");
	r = act_log_read(act->folder, &pass);
	if (r == 0)
		r = print_waiting(&printing, logs, act);
	if (format == LOG_JSON)
		output_text(output, "]}\n");
	return r;
}

/* ---- the command ------------------------------------------------------------------------- */

/* Prints the files of an act, or all acts if it is NULL. */
static enum twinfs_exit print(const struct act_logs *logs, const struct logged_act *act,
			      enum log_format format)
{
	CLEANUP_OUTPUT struct output output;
	int r;

	output_init(&output, STDOUT_FILENO);
	r = act ? print_files(&output, logs, act, format) : print_acts(&output, logs, format);
	if (r == 0)
		r = output_flush(&output);
	if (r == -EPIPE)
		log_mark_reported(); /* the reader closed the pipe on purpose */
	else if (r < 0)
		log_error("cannot print the log: %s", error_text(r));
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	return logs->incomplete ? TWINFS_EXIT_INCOMPLETE : TWINFS_EXIT_COMPLETE;
}

static enum twinfs_exit run(void *context, char **operands, size_t count)
{
	const struct log_settings *settings = context;
	CLEANUP_ACT_LOGS struct act_logs logs = {.count = 0};
	const struct logged_act *act = NULL;

	if (act_logs_read(&logs, &settings->common) < 0)
		return TWINFS_EXIT_FAILED;
	if (count > 0) {
		act = act_logs_find(&logs, operands[0]);
		if (!act)
			return TWINFS_EXIT_FAILED;
	}
	if (logs.count == 0 && settings->format == LOG_TEXT)
		log_info("no act is recorded");
	return print(&logs, act, settings->format);
}

const struct command log_command = {
	.options = {.command = "twinfs log",
		    .usage = {"[ACT]"},
		    .summary = "Lists the acts (remove, move, link, dedupe and undo) that were "
			       "done, the last one at the end, or the files of one act. 'twinfs "
			       "undo ACT' brings these files back.",
		    .options = {log_options, one_index_option, version_option}},
	.settings_bytes = sizeof(struct log_settings),
	.operands_max = 1,
	.excess_operand = "more than one ACT given",
	.run = run,
};
