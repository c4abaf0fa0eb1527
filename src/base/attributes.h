/* SPDX-License-Identifier: MIT */

/* What the compiler is told about functions and variables. Macros and inline
 * functions only; any thread.
 */
#ifndef BASE_ATTRIBUTES_H
#define BASE_ATTRIBUTES_H

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The result says whether it worked: ignoring it is a mistake. */
#define MUST_CHECK __attribute__((warn_unused_result))

/* Checks a format string (the argument of this number, from 1) against the
 * arguments from number first on; first is 0 for a va_list.
 */
#define PRINTF_LIKE(number, first) __attribute__((format(printf, number, first)))

/* Calls function with the variable's address when the variable goes out of scope. */
#define CLEANUP(function) __attribute__((cleanup(function)))

/* Freed at the end of the scope: AUTO_FREE char *name = NULL; */
#define AUTO_FREE CLEANUP(cleanup_free)

/* Closed at the end of the scope unless negative: AUTO_CLOSE int fd = -1; */
#define AUTO_CLOSE CLEANUP(cleanup_close)

/* Closed at the end of the scope unless NULL. Data is lost silently if the
 * close fails: a file that was written is closed by hand and checked.
 */
#define AUTO_FCLOSE CLEANUP(cleanup_fclose)
#define AUTO_CLOSEDIR CLEANUP(cleanup_closedir)

/* Gives the pointer away: its value, and NULL is left behind for the cleanup. */
#define TAKE(pointer)                                           \
	(__extension__({                                        \
		__typeof__(pointer) taken_pointer_ = (pointer); \
		(pointer) = NULL;                               \
		taken_pointer_;                                 \
	}))

/* The number of elements of an array; not for pointers. */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* The cleanup functions keep errno, as they run between a failure and its report. */

static inline void cleanup_free(void *variable)
{
	void *pointer;

	/* variable is the address of a pointer of any type; memcpy keeps to the aliasing rules */
	memcpy(&pointer, variable, sizeof(pointer));
	free(pointer);
}

static inline void cleanup_close(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	errno = saved;
}

static inline void cleanup_fclose(FILE *const *file)
{
	int saved = errno;

	if (*file)
		(void)fclose(*file);
	errno = saved;
}

static inline void cleanup_closedir(DIR *const *directory)
{
	int saved = errno;

	if (*directory)
		(void)closedir(*directory);
	errno = saved;
}

#endif
