/* SPDX-License-Identifier: MIT */
#include "cli/welcome.h"

#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/human_text.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/size.h"
#include "base/terminal.h"
#include "index/status_file.h"

/* Column of the explanations. Longer commands shift their explanation to the right. */
#define COLUMN 30

/* Appends one line: a command or path, and its explanation. */
static int append_line(struct bytes *text, const struct bytes *what, const char *meaning)
{
	size_t gap = what->length < COLUMN - 2 ? COLUMN - what->length : 2;
	int r = bytes_append(text, "  ", 2);

	if (r == 0)
		r = bytes_append(text, what->data, what->length);
	return r < 0 ? r : bytes_format(text, "%*s%s\n", (int)gap, "", meaning);
}

/* Appends a line for a command with the mount point as its operand. */
static int append_command(struct bytes *text, const char *command, const char *point,
			  const char *meaning)
{
	CLEANUP_BYTES struct bytes what = {0};
	int r = bytes_format(&what, "%s %s", command, quote_path(point));

	return r < 0 ? r : append_line(text, &what, meaning);
}

static int append_folder(struct bytes *text, const char *point, const char *name,
			 const char *meaning)
{
	CLEANUP_BYTES struct bytes what = {0}, path = {0};
	size_t length = strlen(point);
	int r;

	while (length > 1 && point[length - 1] == '/')
		length--;
	r = bytes_format(&path, "%.*s/%s", (int)length, point, name);
	if (r == 0)
		r = bytes_append_text(&what, quote_bytes((const char *)path.data, path.length));
	return r < 0 ? r : append_line(text, &what, meaning);
}

static void print_figures(const char *point, const json_t *status)
{
	char files[NUMBER_TEXT_MAX], groups[NUMBER_TEXT_MAX], size[SIZE_TEXT_MAX];
	uint64_t count = status_file_number(status, "files");
	uint64_t found = status_file_number(status, "groups");

	(void)number_format(files, count);
	if (strcmp(status_file_text(status, "state"), "current") != 0)
		log_info("%s is mounted; comparing its %s %s in the background", quote_path(point),
			 files, plural(count, "file", "files"));
	else
		log_info("%s is mounted: %s %s; removing the redundant copies of %s %s would free "
			 "up to %s",
			 quote_path(point), files, plural(count, "file", "files"),
			 number_format(groups, found), plural(found, "group", "groups"),
			 size_format(size, status_file_number(status, "reclaimable_bytes")));
}

void welcome_print(const struct mount_settings *settings, const char *mount_point)
{
	const char *point = settings->daemon.mount_point;
	CLEANUP_BYTES struct bytes text = {0};
	json_auto_t *status = NULL;
	int r;

	if (settings->is_mount_helper || settings->common.quiet ||
	    terminal_width(STDERR_FILENO) == 0)
		return;
	if (status_file_read(mount_point, &status) < 0)
		log_info("%s is mounted", quote_path(point));
	else
		print_figures(point, status);
	r = append_command(&text, "twinfs status", point, "prints progress and results");
	if (r == 0)
		r = append_folder(&text, point, "by-size",
				  "groups of equal files, most reclaimable bytes first");
	if (r == 0)
		r = append_folder(&text, point, "uniques",
				  "the tree with each content once, for rsync");
	if (r == 0)
		r = append_command(&text, "twinfs unmount", point, "unmounts it");
	if (r == 0)
		r = write_fully(STDERR_FILENO, text.data, text.length);
	if (r < 0)
		log_debug("cannot print the hints: %s", error_text(r));
}
