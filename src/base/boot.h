/* SPDX-License-Identifier: MIT */
#ifndef BASE_BOOT_H
#define BASE_BOOT_H

/* Which start of the system this is. Any thread. */

#include <sys/stat.h>

#include "base/attributes.h"

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U /* since Linux 6.8; the number is never used again */
#endif

/* Room for what boot_id() writes, with its NUL. */
#define BOOT_ID_MAX 40

/* A text that is another one after each start of the system; "" where that cannot be told. Returns
 * text. */
const char *boot_id(char text[static BOOT_ID_MAX]);

#endif
