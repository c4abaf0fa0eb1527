/* SPDX-License-Identifier: MIT */
#ifndef CLI_WELCOME_H
#define CLI_WELCOME_H

/* What somebody at a terminal reads when his view is mounted: what goes on, and where to look. */

#include "cli/mount_settings.h"

/* Writes it to stderr where that is a terminal; scripts and services are told nothing. Asks the
 * view for its figures, from a process of its own: for a program that has one thread.
 *
 * mount_point	absolute
 */
void welcome_print(const struct mount_settings *settings, const char *mount_point);

#endif
