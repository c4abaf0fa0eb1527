/* SPDX-License-Identifier: MIT */
#ifndef CLI_MOUNT_SETTINGS_H
#define CLI_MOUNT_SETTINGS_H

/* What mount was asked for: by its own command line, by mount(8) through mount.fuse.twinfs, and in
 * both by the items of -o. For the first thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/text_list.h"
#include "cli/common_options.h"
#include "daemon/daemon_settings.h"
#include "twinfs/exit.h"

struct mount_settings {
	struct common_settings common;
	struct daemon_settings daemon;
	bool fake; /* check everything, mount nothing */
	bool helping; /* mount(8), which says nothing where all is well */
	bool sloppy; /* pass over options that nobody knows */
	struct text_list option_lists; /* of -o, as given */
	struct text_list option_items; /* what of them was for us; other settings point into it */
	char *const *sources; /* of argv */
	size_t source_count;
};

extern const struct option_table mount_table; /* twinfs mount */
extern const struct option_table mount_helper_table; /* mount.fuse.twinfs */

/* Parses a command line of either table. 0, or as options_parse(); all is said. */
MUST_CHECK int mount_settings_parse(struct mount_settings *settings,
				    const struct option_table *table, int argc, char *argv[]);

/* Frees what parse made, failed or not. */
void mount_settings_deinit(struct mount_settings *settings);

#endif
