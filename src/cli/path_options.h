/* SPDX-License-Identifier: MIT */
#ifndef CLI_PATH_OPTIONS_H
#define CLI_PATH_OPTIONS_H

/* Options of the commands that print paths. For the main thread. */

#include "base/options.h"
#include "cli/paths.h"
#include "options/common_options.h"

struct path_settings {
	struct common_settings common;
	enum path_ending ending;
};

extern const struct option_spec path_options[];

/* The apply function for these options. context is a struct path_settings. */
int path_apply(void *context, int id, const char *value);

#endif
