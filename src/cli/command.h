/* SPDX-License-Identifier: MIT */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

/* The commands of the program. Each is a function in its own file, cmd_<name>.c. main() calls one
 * of them, once, in the main thread.
 *
 * argv[0] is the name of the command, or of the program. A command returns the exit status of the
 * program. If the status is not TWINFS_EXIT_COMPLETE, the command has logged the reason. main()
 * logs short memory if the command logged nothing.
 */

#include "twinfs/exit.h"

enum twinfs_exit cmd_mount(int argc, char *argv[]);
enum twinfs_exit cmd_unmount(int argc, char *argv[]);
enum twinfs_exit cmd_scan(int argc, char *argv[]);
enum twinfs_exit cmd_list(int argc, char *argv[]);
enum twinfs_exit cmd_report(int argc, char *argv[]);
enum twinfs_exit cmd_copies(int argc, char *argv[]);
enum twinfs_exit cmd_covered(int argc, char *argv[]);
enum twinfs_exit cmd_path(int argc, char *argv[]);
enum twinfs_exit cmd_remove(int argc, char *argv[]);
enum twinfs_exit cmd_move(int argc, char *argv[]);
enum twinfs_exit cmd_link(int argc, char *argv[]);
enum twinfs_exit cmd_dedupe(int argc, char *argv[]);
enum twinfs_exit cmd_log(int argc, char *argv[]);
enum twinfs_exit cmd_undo(int argc, char *argv[]);
enum twinfs_exit cmd_recover(int argc, char *argv[]);
enum twinfs_exit cmd_index(int argc, char *argv[]);
enum twinfs_exit cmd_status(int argc, char *argv[]);
enum twinfs_exit cmd_doctor(int argc, char *argv[]);
enum twinfs_exit cmd_check(int argc, char *argv[]);
enum twinfs_exit cmd_manifest(int argc, char *argv[]);
enum twinfs_exit cmd_restore(int argc, char *argv[]);
enum twinfs_exit cmd_export(int argc, char *argv[]);
enum twinfs_exit cmd_digest(int argc, char *argv[]);
enum twinfs_exit cmd_attest(int argc, char *argv[]);

/* The program mount.fuse.twinfs, which mount(8) calls. Takes the options of mount(8) and, with -o,
 * those of `mount`.
 */
enum twinfs_exit cmd_mount_helper(int argc, char *argv[]);

/* The program umount.fuse.twinfs, which umount(8) calls. Works like `unmount`. */
enum twinfs_exit cmd_unmount_helper(int argc, char *argv[]);

#endif
