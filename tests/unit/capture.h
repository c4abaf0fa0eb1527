/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_H
#define CAPTURE_H

/* Captures the output of the code under test on stdout or stderr. The test must have one thread. */

#include <assert.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

struct capture {
	int fd; /* the captured descriptor */
	int original;
	int file;
	char text[65536];
};

static inline void capture_begin(struct capture *capture, int fd)
{
	(void)fflush(NULL);
	capture->fd = fd;
	capture->original = dup(fd);
	capture->file = memfd_create("capture", MFD_CLOEXEC);
	assert(capture->original >= 0 && capture->file >= 0);
	fd = dup2(capture->file, fd);
	assert(fd == capture->fd);
}

/* Ends the capture. The text is valid until the next capture_begin() of this capture. */
static inline const char *capture_end(struct capture *capture)
{
	ssize_t length;
	int fd;

	(void)fflush(NULL);
	fd = dup2(capture->original, capture->fd);
	assert(fd == capture->fd);
	length = pread(capture->file, capture->text, sizeof(capture->text) - 1, 0);
	assert(length >= 0);
	capture->text[length] = '\0';
	(void)close(capture->original);
	(void)close(capture->file);
	return capture->text;
}

#endif
