/* SPDX-License-Identifier: MIT */

/* What a descriptor shows its text on. Any thread; nothing blocks. errno is kept. */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

/* The columns of a terminal that says nothing of its width. */
#define TERMINAL_WIDTH_DEFAULT 80

/* Clears from the cursor to the end of the line (ECMA-48: EL). */
#define TERMINAL_CLEAR_REST "\033[K"

/* The columns of the terminal that fd is, or 0 where it is none. */
unsigned int terminal_width(int fd);

#endif
