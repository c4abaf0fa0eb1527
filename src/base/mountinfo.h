/* SPDX-License-Identifier: MIT */
#ifndef BASE_MOUNTINFO_H
#define BASE_MOUNTINFO_H

/* The mounts in a file like /proc/self/mountinfo (proc(5)). Any thread. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"

/* A line: "36 35 98:0 /root /point options ... - type source options". The words are in the line.
 * All but options are decoded. */
struct mountinfo {
	uint64_t number, parent; /* of the mount; 0: the word is no number */
	const char *device, *root, *point, *type;
	const char *source, *options; /* "" if the line ends before; options of the file system */
	FILE *file; /* private, as is the line */
	char *line;
	size_t size;
};

/* Splits a line, which it changes. Returns false if the line is of another form. */
MUST_CHECK bool mountinfo_split(struct mountinfo *mount, char *line);

/* Opens the file. Returns 0 or -errno. The caller must call mountinfo_close() in all cases. */
MUST_CHECK int mountinfo_open(struct mountinfo *mount, const char *file);
void mountinfo_close(struct mountinfo *mount);
#define CLEANUP_MOUNTINFO CLEANUP(mountinfo_close)

/* Gets the next mount, and skips lines of another form. Returns 1, 0 at the end, -EIO or
 * -ENOMEM. The words are valid until the next call. */
MUST_CHECK int mountinfo_next(struct mountinfo *mount);

/* Opens the file and finds the mount of this number. Returns 0, -ENOENT if the file does not list
 * the mount, or another -errno. The caller must call mountinfo_close() in all cases. */
MUST_CHECK int mountinfo_find(struct mountinfo *mount, const char *file, uint64_t number);

/* Decodes, in place, the \ooo escapes that the kernel writes for bytes that would end a word. Other
 * text is kept. */
void mountinfo_decode(char *word);

/* Returns the number of the mount of a descriptor, or 0 if unknown (before Linux 5.8). Sends no
 * request to the server of a file system. */
uint64_t mountinfo_of(int fd);

/* Sets *parent to the number of the parent of a mount, from a file like /proc/self/mountinfo.
 * Returns 0, -ENOENT if the file does not list the mount, or -errno if it cannot be read. */
MUST_CHECK int mountinfo_parent(const char *file, uint64_t mount, uint64_t *parent);

/* Sets *inner, which the caller frees, to the path of a file in its file system. For a file below a
 * bind mount, it has the names of the folders that the bind mount hides.
 *
 * path		absolute path of the file; not below the mount point: stands for the mount point
 *
 * Returns 0, -ENOENT if there is no such mount, or another -errno. */
MUST_CHECK int mountinfo_inner_path(uint64_t mount, const char *path, char **inner);

#endif
