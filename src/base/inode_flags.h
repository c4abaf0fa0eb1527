/* SPDX-License-Identifier: MIT */
#ifndef BASE_INODE_FLAGS_H
#define BASE_INODE_FLAGS_H

/* The file attributes of chattr(1) that statx(2) reports for all types of files. Any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

enum inode_flag {
	INODE_APPEND = 1, /* a: only appending is allowed */
	INODE_NODUMP = 2, /* d: dump(8) leaves it out */
	INODE_IMMUTABLE = 4, /* i: nothing can be changed */
};

/* The letters of all flags and a NUL. */
#define INODE_FLAGS_TEXT_MAX 4

/* Sets *flags to the flags of a file, which may be open with O_PATH. Those of files other than
 * regular files and directories are left out, because no program can set them. Returns 0 or
 * -errno. */
MUST_CHECK int inode_flags_read(int fd, uint32_t *flags);

/* Adds flags to a regular file or a directory, which is open for reading. The caller must be root
 * for INODE_APPEND and INODE_IMMUTABLE, and the owner for the other one. Returns 0 or -errno. */
MUST_CHECK int inode_flags_add(int fd, uint32_t flags);

/* Bits of FS_IOC_GETFLAGS. The functions below use all of them that a user can set with chattr(1),
 * also those that statx(2) does not report. Immutable and append-only are not among them. */

/* Sets *bits to those of a regular file or folder, which may be open with O_PATH. Returns whether
 * they are known: the file system has flags, and the user may read the file. */
bool inode_flag_bits_read(int fd, uint32_t *bits);

/* Sets the bits that must be set before a file has content: copy on write, compression. */
void inode_flag_bits_set_early(int fd, uint32_t bits);

/* Sets all bits. fd may be open with O_PATH. Returns whether the file has these bits now. */
bool inode_flag_bits_set(int fd, uint32_t bits);

/* Formats flags as the letters of lsattr(1). Returns text. */
const char *inode_flags_text(uint32_t flags, char text[static INODE_FLAGS_TEXT_MAX]);

/* Parses such letters. Returns false if one is unknown. */
bool inode_flags_parse(const char *text, uint32_t *flags);

#endif
