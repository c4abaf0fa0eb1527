/* SPDX-License-Identifier: MIT */
#ifndef FLEET_HOST_NAME_H
#define FLEET_HOST_NAME_H

/* Names of hosts in a fleet. Pure code, any thread. */

#include <stdbool.h>

/* Maximum length of a name in bytes, without the NUL. */
#define HOST_NAME_BYTES_MAX 64

/* Rule of the names, for messages. */
#define HOST_NAME_RULE \
	"1 to 64 letters, digits, dots, underscores and hyphens, with a letter or digit first"

/* Returns whether the text is a name of a host: HOST_NAME_RULE, in ASCII. So a name can be the name
 * of a file. */
bool host_name_is_valid(const char *name);

#endif
