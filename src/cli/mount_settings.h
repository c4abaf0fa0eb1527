/* SPDX-License-Identifier: MIT */
#ifndef CLI_MOUNT_SETTINGS_H
#define CLI_MOUNT_SETTINGS_H

/* What mount was asked for: by its own command line, by mount(8) through mount.fuse.twinfs, and in
 * both by the items of -o. For the first thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "cli/common_options.h"
#include "cli/followed.h"
#include "cli/text_list.h"
#include "twinfs/exit.h"

struct mount_settings {
	struct common_settings common;
	bool foreground;
	bool debug; /* libfuse prints every request */
	bool single_threaded;
	bool wait; /* return only when all is compared */
	bool passthrough; /* the kernel reads all files by itself */
	bool trusted_xattrs; /* show extended attributes called trusted.* to root */
	bool io_uring; /* requests come over io_uring */
	bool shared; /* other users may come, each to what he may read at the source */
	bool auto_unmount; /* also where the daemon was killed */
	bool nonempty; /* a directory that is not empty will do */
	bool fake; /* check everything, mount nothing */
	bool helping; /* mount(8), which says nothing where all is well */
	bool sloppy; /* pass over options that nobody knows */
	enum follower_mode watch;
	uint64_t interval_ms; /* between walks of what is polled */
	uint64_t rescan_ms; /* between walks of everything, 0: never */
	struct text_list option_lists; /* of -o, as given */
	struct text_list option_items; /* what of them was for us; other settings point into it */
	struct text_list fuse_options; /* what of them is for FUSE */
	char *const *sources; /* of argv */
	size_t source_count;
	const char *mount_point; /* as given */
};

extern const struct option_table mount_table; /* twinfs mount */
extern const struct option_table mount_helper_table; /* mount.fuse.twinfs */

/* Parses a command line of either table. 0, or as options_parse(); all is said. */
MUST_CHECK int mount_settings_parse(struct mount_settings *settings,
				    const struct option_table *table, int argc, char *argv[]);

/* Frees what parse made, failed or not. */
void mount_settings_deinit(struct mount_settings *settings);

#endif
