/* SPDX-License-Identifier: MIT */
#ifndef BASE_MOUNTINFO_H
#define BASE_MOUNTINFO_H

/* Parsing of /proc/self/mountinfo (proc(5)). Any thread. */

#include <stdint.h>

#include "base/attributes.h"

/* Decodes, in place, the \ooo escapes that the kernel writes for bytes that would end a word. Other
 * text is kept. */
void mountinfo_decode(char *word);

/* Returns the number of the mount of a descriptor, or 0 if unknown (before Linux 5.8). Sends no
 * request to the server of a file system. */
uint64_t mountinfo_of(int fd);

/* Sets *line, which the caller frees also after a failure, to the line of a mount in a file like
 * /proc/self/mountinfo. Returns 0, -ENOENT if the file does not list the mount, or another
 * -errno. */
MUST_CHECK int mountinfo_line(const char *file, uint64_t mount, char **line);

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
