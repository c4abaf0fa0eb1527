/* SPDX-License-Identifier: MIT */

/* What a descriptor shows its text on. Any thread; nothing blocks. errno is kept. */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

#include <stdbool.h>

/* The columns of a terminal that says nothing of its width. */
#define TERMINAL_WIDTH_DEFAULT 80

/* Clears from the cursor to the end of the line (ECMA-48: EL). */
#define TERMINAL_CLEAR_REST "\033[K"

/* Does the terminal that TERM names know how to write a line anew? "dumb" does not, nor may one
 * that nobody named. */
bool terminal_redraws(void);

/* May this process write to the terminal that fd is as if nobody else did? Not where a shell has it
 * in the background. */
bool terminal_is_ours(int fd);

/* The columns of the terminal that fd is, or 0 where it is none. */
unsigned int terminal_width(int fd);

#endif
