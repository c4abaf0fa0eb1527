/* SPDX-License-Identifier: MIT */
#ifndef FLEET_OUTPUT_FOLDER_H
#define FLEET_OUTPUT_FOLDER_H

/* The folder of --output=DIR. For one thread. */

#include <stdbool.h>

#include "base/attributes.h"

/* Opens the folder, in which this process can make files. Makes it if it is missing; the new name
 * is then on the disk. Sets *made to whether it was made. Returns a descriptor, which the caller
 * closes, or -errno. Logs nothing. */
MUST_CHECK int output_folder_open(const char *path, bool *made);

/* Returns what the user can do about a failure to write to the folder, or NULL. */
const char *output_folder_remedy(int error);

#endif
