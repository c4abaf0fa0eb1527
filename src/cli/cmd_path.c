/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/path_options.h"
#include "cli/paths.h"

static const struct option_table path_table = {
	.command = "twinfs path",
	.usage = {"FILE..."},
	.summary = "Prints the path in its source of each file or directory of a view.",
	.options = {path_options, version_option},
	.apply = path_apply,
};

/* Prints the path of one file; -errno, said. */
static int print_path_of(struct output *output, const struct path_settings *settings,
			 const char *file)
{
	CLEANUP_BYTES struct bytes path = {0};
	AUTO_FREE char *point = NULL;
	int r;

	r = path_find_view(file, &point);
	if (r == 0 && !point) {
		log_error("%s is in no view; give a file below a mount point of twinfs",
			  quote_path(file));
		return -EINVAL;
	}
	if (r == 0)
		r = path_in_source(file, &path);
	if (r == -ENODATA)
		log_error("%s is made by the view itself and in no source", quote_path(file));
	else if (r < 0)
		log_error("cannot ask the view for %s: %s", quote_path(file), error_text(r));
	if (r < 0)
		return r;
	path_print(output, settings->ending, (const char *)path.data, path.length);
	return 0;
}

static enum twinfs_exit print_paths(const struct path_settings *settings, char *const *files,
				    int count)
{
	CLEANUP_OUTPUT struct output output;
	int failed = 0;
	int r;

	output_init(&output, STDOUT_FILENO);
	for (int i = 0; i < count; i++)
		failed += print_path_of(&output, settings, files[i]) < 0;
	r = output_flush(&output);
	if (r < 0 && r != -EPIPE)
		log_error("cannot write the paths: %s", error_text(r));
	if (r < 0 || failed == count)
		return TWINFS_EXIT_FAILED;
	return failed > 0 ? TWINFS_EXIT_INCOMPLETE : TWINFS_EXIT_COMPLETE;
}

enum twinfs_exit cmd_path(int argc, char *argv[])
{
	struct path_settings settings = {.ending = PATH_LINES};
	int operands;
	int r;

	common_settings_init(&settings.common);
	r = options_parse(&path_table, argc, argv, &settings, &operands);
	if (r != 0)
		return options_exit(r);
	if (operands == argc) {
		options_complain(&path_table, "no FILE given");
		return TWINFS_EXIT_USAGE;
	}
	return print_paths(&settings, argv + operands, argc - operands);
}
