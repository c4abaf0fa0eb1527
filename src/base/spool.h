/* SPDX-License-Identifier: MIT */
#ifndef BASE_SPOOL_H
#define BASE_SPOOL_H

/* An unnamed file for data that is written out later. One thread at a time. */

#include <stdio.h>

#include "base/attributes.h"

/* Makes a file in $TMPDIR or /tmp. Returns a descriptor that the caller closes; -EXDEV (logged) if
 * no file can be made in that folder; or -ENOMEM. */
MUST_CHECK int spool_open(void);

/* Makes a file like spool_open(), and opens a stream on it for writing and reading, which the
 * caller closes. Returns 0, -EXDEV (logged) or -ENOMEM.
 */
MUST_CHECK int spool_open_stream(FILE **stream);

/* Copies the whole file to another descriptor. A write to that descriptor can block. Returns 0 or
 * -errno. */
MUST_CHECK int spool_copy(int spool, int to);

#endif
