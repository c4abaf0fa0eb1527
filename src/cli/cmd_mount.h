/* SPDX-License-Identifier: MIT */
#ifndef CLI_CMD_MOUNT_H
#define CLI_CMD_MOUNT_H

/* The settings of mount: from its own command line, or from mount(8) through mount.fuse.twinfs, and
 * in both cases from the items of -o. For the main thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/text.h"
#include "cli/common_options.h"
#include "index/keep_rules.h"
#include "view/follow/daemon.h"

struct mount_settings {
	struct common_settings common;
	struct daemon_settings daemon;
	struct keep_rules keep; /* no rule: the default */
	bool keep_given;
	bool fake; /* check everything, do not mount */
	bool is_mount_helper; /* called by mount(8), which prints nothing on success */
	bool sloppy; /* ignore unknown options */
	struct text_list option_lists; /* arguments of -o, as given */
	struct text_list option_items; /* unescaped items; other settings point into them */
	struct text_list sources; /* the operands, then those of --source */
	struct text_list more_sources; /* of --source */
};

/* Applies the items of -o, after the command line was parsed, and takes the operands. Returns 0, or
 * a result of options_parse(). Failures other than -ENOMEM are logged. */
MUST_CHECK int mount_settings_complete(struct mount_settings *settings, char *const *operands,
				       size_t count);

#endif
