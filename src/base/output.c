/* SPDX-License-Identifier: MIT */
#include "base/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <jansson.h>

#include "base/descriptor.h"
#include "base/log.h"
#include "base/text.h"

/* Large enough that the cost of the system call is negligible. */
#define OUTPUT_BUFFER_BYTES (64UL * 1024)

#define FORMATTED_BYTES_MAX 1024

/* JSON strings contain no lower control character. Line ends between values are not escaped. */
#define FIRST_UNFIT_IN_JSON 0x7f

/* From this code on, an escape needs two \u: UTF-16 surrogates (RFC 8259, 7). */
#define FIRST_BY_SURROGATES 0x10000

void output_init(struct output *output, int fd)
{
	memset(output, 0, sizeof(*output));
	output->fd = fd;
	output->terminal = isatty(fd) == 1;
}

void output_deinit(struct output *output)
{
	bytes_free(&output->waiting);
}

/* Writes the buffer, unless a write has failed before. */
static void drain(struct output *output)
{
	if (output->error == 0 && output->waiting.length > 0)
		output->error =
			write_fully(output->fd, output->waiting.data, output->waiting.length);
	if (output->error == -EPIPE)
		log_mark_reported(); /* the reader closed the pipe on purpose */
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

void output_name(struct output *output, const void *name, size_t length)
{
	CLEANUP_BYTES struct bytes quoted = {0};
	int r;

	if (!output->terminal) {
		output_bytes(output, name, length);
		return;
	}
	r = shell_name_append(&quoted, name, length);
	if (r == 0)
		output_bytes(output, quoted.data, quoted.length);
	else if (output->error == 0)
		output->error = r;
}

static void print_json_escape(struct output *output, uint32_t code)
{
	const uint32_t above = code - FIRST_BY_SURROGATES;

	if (code < FIRST_BY_SURROGATES)
		output_format(output, "\\u%04" PRIx32, code);
	else
		output_format(output, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + (above >> 10),
			      0xdc00 + (above & 0x3ff));
}

void output_json(struct output *output, const char *text, size_t length)
{
	size_t done = 0;

	for (size_t i = 0, taken; output->terminal && i < length; i += taken) {
		uint32_t code = 0;

		taken = utf8_decode(text + i, length - i, &code);
		if (taken > 0 && code >= FIRST_UNFIT_IN_JSON && utf8_is_unfit(code)) {
			output_bytes(output, text + done, i - done);
			print_json_escape(output, code);
			done = i + taken;
		}
		taken = taken > 0 ? taken : 1;
	}
	output_bytes(output, text + done, length - done);
}

static int write_part(const char *text, size_t length, void *output)
{
	output_json(output, text, length);
	return 0;
}

int output_json_object(struct output *output, json_t *object)
{
	int r = object ? json_dump_callback(object, write_part, output, JSON_COMPACT) : -1;

	json_decref(object);
	return r == 0 ? 0 : -ENOMEM;
}

int output_flush(struct output *output)
{
	drain(output);
	return output->error;
}

/* ---- terminals ----------------------------------------------------------------------------- */

unsigned int terminal_width(int fd)
{
	int saved = errno;
	struct winsize size;
	unsigned int width = 0;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0)
		width = size.ws_col > 0 ? size.ws_col : TERMINAL_WIDTH_DEFAULT;
	errno = saved;
	return width;
}

bool terminal_redraws(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment */
	const char *name = getenv("TERM");

	return name && name[0] != '\0' && strcmp(name, "dumb") != 0;
}

bool terminal_is_foreground(int fd)
{
	int saved = errno;
	pid_t foreground = tcgetpgrp(fd);

	errno = saved;
	/* tcgetpgrp() fails if fd is not the terminal of the session of this process, as for a
	 * daemon
	 */
	return foreground < 0 || foreground == getpgrp();
}
