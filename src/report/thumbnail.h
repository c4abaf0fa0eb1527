/* SPDX-License-Identifier: MIT */
#ifndef REPORT_THUMBNAIL_H
#define REPORT_THUMBNAIL_H

/* Small pictures of what is in files that hold one. Anybody may have made such a file, to do harm
 * to who decodes it; so each is decoded in a process of its own, which starts anew as this program,
 * has no file open but the picture and a pipe, may open, write, run nothing and talk to nobody, and
 * gets so much memory and time. All that it can do is to give a wrong picture or none. Where the
 * kernel cannot hold it to that there are no pictures.
 *
 *	thumbnail_make()  --- the file, as its stdin --->  thumbnail_main()
 *			  <-- JPEG or PNG, its stdout ---  decodes by gdk-pixbuf, if there is one
 *
 * For the first thread of a command; never in a daemon.
 */

#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "twinfs/exit.h"

struct catalog;
struct sources;

struct thumbnails {
	struct catalog *catalog; /* where files are; borrowed, as the next one is */
	const struct sources *sources;
	uint64_t spent_ms; /* on all pictures so far */
};

/* As the picture of struct page_settings; context is a struct thumbnails. Blocks for 5
 * seconds at most, for all pictures together not much longer than 20. What cannot be read, is no
 * picture, or is not decoded in time has none; that is no error. */
MUST_CHECK int thumbnail_make(void *context, uint64_t file, struct bytes *picture);

/* The kind of picture that an open file begins as, as gdk-pixbuf names it; NULL: none. */
const char *thumbnail_kind(int fd);

/* What the program is called as when it is to decode one. */
#define THUMBNAIL_PROGRAM "twinfs-thumbnail"

/* Does so, from stdin to stdout. What to exit with; says nothing. */
enum twinfs_exit thumbnail_main(void);

#endif
