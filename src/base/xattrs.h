/* SPDX-License-Identifier: MIT */
#ifndef BASE_XATTRS_H
#define BASE_XATTRS_H

/* The extended attributes of one file, ACLs among them (acl(5) has them as system.posix_acl_*).
 *
 * Other attributes of the system namespace are not taken: they stand for what is elsewhere in an
 * inode. One thread at a time; a struct xattrs that is all zero is empty and valid. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/attributes.h"

struct xattr {
	const char *name;
	const void *value;
	size_t length; /* of the value, bytes */
};

struct xattrs {
	struct xattr *list; /* by name, each name once */
	size_t count;
	size_t capacity;
	struct arena arena; /* what the list points to */
	char *room; /* for system calls, kept from file to file */
};

void xattrs_free(struct xattrs *xattrs);
#define CLEANUP_XATTRS CLEANUP(xattrs_free)

/* Forgets the attributes, not the memory. */
void xattrs_clear(struct xattrs *xattrs);

/* Adds a copy of one, in its place by name. -EEXIST: the name is there; -ENOMEM. */
MUST_CHECK int xattrs_add(struct xattrs *xattrs, const char *name, const void *value,
			  size_t length);

/* Takes those of what fd is open on, also by O_PATH, in place of what was there; none where the
 * file system has no such thing. 0 or -errno. */
MUST_CHECK int xattrs_read(struct xattrs *xattrs, int fd);

/* The same of its ACLs alone. */
MUST_CHECK int xattrs_read_acls(struct xattrs *xattrs, int fd);

/* Gives them to what fd is open on, and takes away ACLs that it got from its folder.
 *
 * refused	counts those that this user may not set, or for which the file system is not made
 *
 * 0 or -errno. */
MUST_CHECK int xattrs_write(const struct xattrs *xattrs, int fd, uint64_t *refused);

/* The mode that a file may have after xattrs_write(): the given one; or, where the access ACL was
 * refused, what is left of it without (base/acl.h). */
mode_t xattrs_safe_mode(const struct xattrs *xattrs, int fd, mode_t mode);

bool xattrs_equal(const struct xattrs *a, const struct xattrs *b);

#endif
