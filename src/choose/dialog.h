/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_DIALOG_H
#define CHOOSE_DIALOG_H

/* A dialog on standard error and standard input. For the main thread. */

#include <stddef.h>

#include "base/attributes.h"
#include "base/output.h"

/* Highest number of bytes of an answer, with the NUL. More bytes of its line are discarded. */
#define ANSWER_SIZE 256

/* Returns the columns of the terminal of standard error, or a default if it is no terminal. */
unsigned int dialog_width(void);

/* Prints a text, broken between words so that the lines fit the terminal. */
void dialog_print(const char *text);

/* Prints a text like dialog_print(), with a blank instead of a line end. */
void dialog_prompt(const char *text);

/* Reads a line of standard input, without its end. Blocks. Returns 0, or -ENODATA at the end of the
 * input or after a signal. */
MUST_CHECK int dialog_read(char answer[static ANSWER_SIZE]);

#endif
