/* SPDX-License-Identifier: MIT */
#include "report/figures.h"

#include <stdarg.h>
#include <string.h>

#include "base/human_text.h"
#include "base/size.h"

/* Below this size the text of size_format() is exact. */
#define EXACT_BELOW_BYTES 1024

#define FIGURE_TEXT_MAX 512

static void print_label(struct output *output, const char *label)
{
	output_format(output, "%-10s  ", label);
}

int figure_print_path(struct output *output, const char *label, const char *path)
{
	CLEANUP_BYTES struct bytes text = {0};
	int r;

	r = shell_name_append(&text, path, strlen(path));
	if (r < 0)
		return r;
	print_label(output, label);
	output_bytes(output, text.data, text.length);
	output_text(output, "\n");
	return 0;
}

void figure_print(struct output *output, const char *label, const char *format, ...)
{
	char text[FIGURE_TEXT_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	print_label(output, label);
	output_text(output, text);
	output_text(output, "\n");
}

const char *figure_size(char text[static FIGURE_SIZE_MAX], uint64_t bytes)
{
	char size[SIZE_TEXT_MAX];
	char exact[NUMBER_TEXT_MAX];

	if (bytes < EXACT_BELOW_BYTES)
		(void)snprintf(text, FIGURE_SIZE_MAX, "%s %s", number_format(exact, bytes),
			       plural(bytes, "byte", "bytes"));
	else
		(void)snprintf(text, FIGURE_SIZE_MAX, "%s (%s bytes)", size_format(size, bytes),
			       number_format(exact, bytes));
	return text;
}

/* Prints the files of the index and the number of groups. */
static void print_files(struct output *output, const struct report_summary *summary)
{
	char first[NUMBER_TEXT_MAX];
	char second[NUMBER_TEXT_MAX];
	char size[FIGURE_SIZE_MAX];

	figure_print(output, "files", "%s in %s %s, %s", number_format(first, summary->files),
		     number_format(second, summary->directories),
		     plural(summary->directories, "directory", "directories"),
		     figure_size(size, summary->bytes));
	if (summary->others > 0)
		figure_print(output, "others", "%s %s, which have no content to compare",
			     number_format(first, summary->others),
			     plural(summary->others, "symbolic link or special file",
				    "symbolic links and special files"));
	figure_print(output, "groups", "%s", number_format(first, summary->groups));
}

/* Prints what the index does not know. */
static void print_gaps(struct output *output, const struct report_summary *summary)
{
	char number[NUMBER_TEXT_MAX];

	figure_print(output, "pending", "%s", number_format(number, summary->pending));
	figure_print(output, "errors", "%s", number_format(number, summary->errors));
}

void figures_print(struct output *output, const struct report_summary *summary)
{
	char number[NUMBER_TEXT_MAX];
	char size[FIGURE_SIZE_MAX];

	print_files(output, summary);
	figure_print(output, "redundant", "%s %s, %s",
		     number_format(number, summary->redundant_files),
		     plural(summary->redundant_files, "file", "files"),
		     figure_size(size, summary->redundant_bytes));
	if (summary->reclaimable_bytes < summary->redundant_bytes)
		figure_print(output, "frees", "%s; the rest is holes, or other files hold it",
			     figure_size(size, summary->reclaimable_bytes));
	print_gaps(output, summary);
}

void figures_print_folders(struct output *output, const struct report_summary *summary)
{
	char folders[NUMBER_TEXT_MAX], files[NUMBER_TEXT_MAX];
	char size[FIGURE_SIZE_MAX];

	print_files(output, summary);
	figure_print(output, "redundant", "%s %s with %s %s; removing %s frees %s",
		     number_format(folders, summary->redundant_folders),
		     plural(summary->redundant_folders, "folder", "folders"),
		     number_format(files, summary->redundant_files),
		     plural(summary->redundant_files, "file", "files"),
		     plural(summary->redundant_folders, "it", "them"),
		     figure_size(size, summary->reclaimable_bytes));
	print_gaps(output, summary);
}
