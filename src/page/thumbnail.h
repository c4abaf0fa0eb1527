/* SPDX-License-Identifier: MIT */
#ifndef PAGE_THUMBNAIL_H
#define PAGE_THUMBNAIL_H

/* Makes small pictures of files that contain a picture. A file can be crafted to attack a decoder,
 * so each file is decoded in a process of its own. The decoder process executes this program anew.
 * The process has no open files but the picture, a pipe and /dev/null. It cannot open other files,
 * execute programs or use the network. Its memory and time are limited. A compromised decoder can
 * only return a wrong picture or none. If the kernel does not support this confinement, no pictures
 * are made.
 *
 *	thumbnail_make()  --- the file, as its stdin --->  thumbnail_main()
 *			  <-- JPEG or PNG, its stdout ---  decodes with gdk-pixbuf if installed
 *
 * For the main thread of a command; must not be used in a daemon.
 */

#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "twinfs/exit.h"

struct sources;

struct thumbnails {
	const struct sources *sources; /* borrowed */
	uint64_t spent_ms; /* time spent on all pictures so far */
};

/* The callback "picture" of struct page_settings; context is a struct thumbnails. Blocks for at
 * most 5 seconds, and for about 20 seconds for all pictures together. If the file cannot be read,
 * is no picture, or is not decoded in time, appends nothing and returns 0. */
MUST_CHECK int thumbnail_make(void *context, uint64_t file, struct bytes *picture);

/* If argv[0] is this name, the program is a decoder. */
#define THUMBNAIL_PROGRAM "twinfs-thumbnail"

/* Decodes one picture from stdin to stdout, and exits the process without a message. If twinfs was
 * built without gdk-pixbuf, returns TWINFS_EXIT_FAILED. */
enum twinfs_exit thumbnail_main(void);

#endif
