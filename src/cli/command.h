/* SPDX-License-Identifier: MIT */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

/* The commands of the program. main() runs one of them, once, in the main thread. */

#include <stddef.h>

#include "base/options.h"
#include "twinfs/exit.h"

struct command {
	struct option_table options;
	size_t settings_bytes; /* of its settings, which begin with a struct common_settings */
	/* Sets what is not zero at first in the settings, except those of common_settings_init();
	 * NULL: nothing. */
	void (*init)(void *settings);
	void (*deinit)(void *settings); /* frees what other settings own; NULL: nothing */

	/* What is wrong with a command line without an operand, or with more operands than
	 * operands_max. NULL: nothing. */
	const char *lacks_operand;
	const char *excess_operand;
	size_t operands_max;
	/* Returns what is wrong with a command line with such operands, or NULL. NULL: nothing can
	 * be wrong. */
	const char *(*find_fault)(const void *settings, char *const *operands, size_t count);

	/* Returns the exit status of the program. If the status is not TWINFS_EXIT_COMPLETE, run()
	 * has logged the reason. main() logs short memory if run() logged nothing. */
	enum twinfs_exit (*run)(void *settings, char **operands, size_t count);
};

extern const struct command mount_command;
extern const struct command unmount_command;
extern const struct command scan_command;
extern const struct command list_command;
extern const struct command report_command;
extern const struct command copies_command;
extern const struct command covered_command;
extern const struct command path_command;
extern const struct command remove_command;
extern const struct command move_command;
extern const struct command link_command;
extern const struct command dedupe_command;
extern const struct command log_command;
extern const struct command undo_command;
extern const struct command recover_command;
extern const struct command index_command;
extern const struct command status_command;
extern const struct command doctor_command;
extern const struct command check_command;
extern const struct command manifest_command;
extern const struct command restore_command;
extern const struct command export_command;
extern const struct command digest_command;
extern const struct command attest_command;

/* The program mount.fuse.twinfs, which mount(8) calls. Takes the options of mount(8) and, with -o,
 * those of `mount`. */
extern const struct command mount_helper_command;

/* The program umount.fuse.twinfs, which umount(8) calls. Works like `unmount`. */
extern const struct command unmount_helper_command;

#endif
