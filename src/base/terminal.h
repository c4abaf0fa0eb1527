/* SPDX-License-Identifier: MIT */

/* Properties of the terminal behind a descriptor. Any thread; does not block. errno is
 * preserved. */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

#include <stdbool.h>

/* Columns of a terminal that does not report its width. */
#define TERMINAL_WIDTH_DEFAULT 80

/* Clears from the cursor to the end of the line (ECMA-48: EL). */
#define TERMINAL_CLEAR_REST "\033[K"

/* Returns whether the terminal named by TERM can redraw a line. Returns false for "dumb", and if
 * TERM is empty or not set. */
bool terminal_redraws(void);

/* Returns whether this process is in the foreground of the terminal fd, or fd is not the terminal
 * of its session. Returns false for a background job of a shell. */
bool terminal_is_foreground(int fd);

/* Returns the columns of the terminal fd (TERMINAL_WIDTH_DEFAULT if it does not report them), or 0
 * if fd is no terminal. */
unsigned int terminal_width(int fd);

#endif
