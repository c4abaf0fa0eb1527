/* SPDX-License-Identifier: MIT */
#ifndef BASE_BOOT_H
#define BASE_BOOT_H

/* Which start of the system this is. Any thread. */

#include "base/attributes.h"

/* Room for what boot_id() writes, with its NUL. */
#define BOOT_ID_MAX 40

/* A text that is another one after each start of the system; "" where that cannot be told. Returns
 * text. */
const char *boot_id(char text[static BOOT_ID_MAX]);

#endif
