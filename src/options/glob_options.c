/* SPDX-License-Identifier: MIT */
#include "options/glob_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "base/quote.h"

int glob_option_add(struct text_list *globs, const char *option, const char *glob)
{
	const char *fault = glob_fault(glob);

	if (!fault)
		return text_list_add(globs, glob, strlen(glob));
	log_error("cannot use the glob %s of option '%s': %s", quote_path(glob), option, fault);
	return -EBADMSG;
}

/* Returns what is wrong with a line, or NULL. The rules of rsync and gitignore that begin so would
 * have another meaning as globs. */
static const char *line_fault(const char *line, size_t length)
{
	if (strlen(line) != length)
		return "it contains a NUL";
	if (line[0] == '!')
		return "a line cannot include names again; write \\! for the character";
	if (strncmp(line, "+ ", 2) == 0 || strncmp(line, "- ", 2) == 0)
		return "a line has only the glob; write \\+ or \\- for the character";
	return glob_fault(line);
}

static int add_lines(struct text_list *globs, const char *file, FILE *stream)
{
	AUTO_FREE char *line = NULL;
	size_t capacity = 0, number = 0;
	ssize_t length;
	int r = 0;

	while (r == 0 && (length = getline(&line, &capacity, stream)) >= 0) {
		const char *fault;

		number++;
		if (length > 0 && line[length - 1] == '\n')
			line[--length] = '\0';
		if (length == 0 || line[0] == '#')
			continue;
		fault = line_fault(line, (size_t)length);
		if (fault) {
			log_error("cannot use line %zu of %s: %s", number, quote_path(file), fault);
			return -EBADMSG;
		}
		r = text_list_add(globs, line, (size_t)length);
	}
	return r == 0 && ferror(stream) ? -EIO : r;
}

int glob_option_add_file(struct text_list *globs, const char *file)
{
	FILE *stream = fopen(file, "re");
	int r;

	if (!stream)
		return -errno;
	r = add_lines(globs, file, stream);
	(void)fclose(stream);
	return r;
}
