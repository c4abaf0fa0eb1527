/* SPDX-License-Identifier: MIT */

/* Attributes of functions and variables for the compiler. Macros and inline functions only; any
 * thread.
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

/* Callers must not ignore the result, which reports failures. */
#define MUST_CHECK __attribute__((warn_unused_result))

/* The compiler checks the format string, argument `number` (counted from 1), against the arguments
 * from argument `first` on. For a va_list, first is 0.
 */
#define PRINTF_LIKE(number, first) __attribute__((format(printf, number, first)))

/* Calls function with the address of the variable at the end of its scope. */
#define CLEANUP(function) __attribute__((cleanup(function)))

/* Frees the pointer at the end of its scope: AUTO_FREE char *name = NULL; */
#define AUTO_FREE CLEANUP(cleanup_free)

/* Closes the descriptor at the end of its scope unless it is negative: AUTO_CLOSE int fd = -1; */
#define AUTO_CLOSE CLEANUP(cleanup_close)

/* Closes the stream or directory at the end of its scope unless it is NULL. Errors of the close are
 * lost: a file that was written must be closed explicitly and the result checked.
 */
#define AUTO_FCLOSE CLEANUP(cleanup_fclose)
#define AUTO_CLOSEDIR CLEANUP(cleanup_closedir)

/* Transfers ownership: returns the pointer and leaves NULL for the cleanup. */
#define TAKE(pointer)                                           \
	(__extension__({                                        \
		__typeof__(pointer) taken_pointer_ = (pointer); \
		(pointer) = NULL;                               \
		taken_pointer_;                                 \
	}))

/* The number of elements of an array; not for pointers. */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* The cleanup functions preserve errno: they run between a failure and its report. */

static inline void cleanup_free(void *variable)
{
	void *pointer;

	/* variable is the address of a pointer of any type; memcpy obeys the aliasing rules */
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
