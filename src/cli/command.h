/* SPDX-License-Identifier: MIT */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

/* The commands of the program. Each is a function in a file of its own (cmd_<name>.c), called once
 * from main() in the first thread.
 *
 * argv[0] is the command's name. They return what the program exits with and have said on stderr
 * why, unless it is TWINFS_EXIT_COMPLETE.
 */

#include "twinfs/exit.h"

enum twinfs_exit cmd_mount(int argc, char *argv[]);
enum twinfs_exit cmd_scan(int argc, char *argv[]);
enum twinfs_exit cmd_list(int argc, char *argv[]);
enum twinfs_exit cmd_report(int argc, char *argv[]);
enum twinfs_exit cmd_copies(int argc, char *argv[]);
enum twinfs_exit cmd_path(int argc, char *argv[]);
enum twinfs_exit cmd_remove(int argc, char *argv[]);
enum twinfs_exit cmd_move(int argc, char *argv[]);
enum twinfs_exit cmd_link(int argc, char *argv[]);
enum twinfs_exit cmd_dedupe(int argc, char *argv[]);
enum twinfs_exit cmd_recover(int argc, char *argv[]);
enum twinfs_exit cmd_status(int argc, char *argv[]);
enum twinfs_exit cmd_doctor(int argc, char *argv[]);
enum twinfs_exit cmd_check(int argc, char *argv[]);
enum twinfs_exit cmd_manifest(int argc, char *argv[]);
enum twinfs_exit cmd_restore(int argc, char *argv[]);

/* Mounts as mount(8) asks a mount.fuse.twinfs to: its own letters, options behind -o. */
enum twinfs_exit cmd_mount_helper(int argc, char *argv[]);

#endif
