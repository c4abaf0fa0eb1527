/* SPDX-License-Identifier: MIT */
#include "report/output.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/descriptor.h"
#include "base/log.h"

/* Large enough that the system call costs nothing beside making the text. */
#define OUTPUT_BUFFER_BYTES (64UL * 1024)

#define FORMATTED_BYTES_MAX 1024

void output_init(struct output *output, int fd)
{
	memset(output, 0, sizeof(*output));
	output->fd = fd;
}

void output_deinit(struct output *output)
{
	bytes_free(&output->waiting);
}

/* Writes what is waiting, unless a write has failed before. */
static void drain(struct output *output)
{
	if (output->error == 0 && output->waiting.length > 0)
		output->error =
			write_fully(output->fd, output->waiting.data, output->waiting.length);
	if (output->error == -EPIPE)
		log_note_said(); /* who reads has enough and wants to hear nothing of it */
	output->waiting.length = 0;
}

void output_bytes(struct output *output, const void *data, size_t length)
{
	if (output->error == 0)
		output->error = bytes_append(&output->waiting, data, length);
	if (output->error == 0 && output->waiting.length >= OUTPUT_BUFFER_BYTES)
		drain(output);
}

void output_text(struct output *output, const char *text)
{
	output_bytes(output, text, strlen(text));
}

void output_format(struct output *output, const char *format, ...)
{
	char text[FORMATTED_BYTES_MAX];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= sizeof(text))
		output->error = output->error != 0 ? output->error : -EOVERFLOW;
	else
		output_bytes(output, text, (size_t)length);
}

int output_flush(struct output *output)
{
	drain(output);
	return output->error;
}
