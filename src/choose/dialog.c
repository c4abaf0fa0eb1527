/* SPDX-License-Identifier: MIT */
#include "choose/dialog.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"

unsigned int dialog_width(void)
{
	unsigned int width = terminal_width(STDERR_FILENO);

	return width > 0 ? width : TERMINAL_WIDTH_DEFAULT;
}

/* Prints a text, broken between words. */
static void print_words(const char *text)
{
	size_t width = dialog_width(), used = 0;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (used > 0 && used + 1 + length >= width) {
			(void)fputc('\n', stderr);
			used = 0;
		} else if (used > 0) {
			(void)fputc(' ', stderr);
			used++;
		}
		(void)fprintf(stderr, "%.*s", (int)length, text);
		used += length;
		text += length;
		text += *text == ' ';
	}
}

void dialog_print(const char *text)
{
	print_words(text);
	(void)fputc('\n', stderr);
}

void dialog_prompt(const char *text)
{
	print_words(text);
	(void)fputc(' ', stderr);
	(void)fflush(stderr);
}

int dialog_read(char answer[static ANSWER_SIZE])
{
	size_t length;

	if (!fgets(answer, ANSWER_SIZE, stdin)) {
		(void)fputc('\n', stderr);
		return -ENODATA;
	}
	length = strlen(answer);
	if (length > 0 && answer[length - 1] == '\n') {
		answer[length - 1] = '\0';
		return 0;
	}
	for (int c = getchar(); c != '\n' && c != EOF;)
		c = getchar();
	return 0;
}
