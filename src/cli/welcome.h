/* SPDX-License-Identifier: MIT */
#ifndef CLI_WELCOME_H
#define CLI_WELCOME_H

/* The message on a terminal when a view is mounted: its figures, and hints for its use. */

#include "cli/mount_settings.h"

/* Writes the message to stderr if stderr is a terminal, and neither mount(8) nor --quiet prevents
 * it. Starts a process that reads the figures from the view, so the program must have one thread.
 *
 * mount_point	absolute
 */
void welcome_print(const struct mount_settings *settings, const char *mount_point);

#endif
