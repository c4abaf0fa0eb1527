/* SPDX-License-Identifier: MIT */
#ifndef BASE_SPOOL_H
#define BASE_SPOOL_H

/* A file without a name that output is put into before it goes on. One thread at a time. */

#include <stdio.h>

#include "base/attributes.h"

/* Makes one in $TMPDIR or /tmp. A descriptor that the caller closes, or -errno. */
MUST_CHECK int spool_open(void);

/* The same as a stream for writing and reading, which the caller closes. 0 or -errno. */
MUST_CHECK int spool_open_stream(FILE **stream);

/* Copies all of it to another descriptor. Blocks on that. 0 or -errno. */
MUST_CHECK int spool_copy(int spool, int to);

#endif
