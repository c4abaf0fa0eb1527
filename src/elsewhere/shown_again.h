/* SPDX-License-Identifier: MIT */
#ifndef ELSEWHERE_SHOWN_AGAIN_H
#define ELSEWHERE_SHOWN_AGAIN_H

/* Finds whether a network or FUSE file system shows a file of this host once more, as sshfs of a
 * folder of this host does. Its inode numbers and times do not show that. But if one of two files
 * is opened and read through that file system, its server opens the other file if both are one, and
 * inotify reports that. Changes nothing. A cache of the server or of the file system can hide it.
 * For the main thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/text_list.h"
#include "report/missing.h"
#include "watch/opening_watch.h"

/* Number of devices that are remembered. */
#define SHOWN_AGAIN_DEVICES 8

struct shown_again {
	bool is_used; /* else each file is one of its own */
	struct opening_watch local; /* added files on file systems of this host */
	struct text_list served; /* paths of the others */
	dev_t served_device; /* of those */
	bool several_devices; /* those are on more than one */
	bool is_untrusted; /* a file could not be watched */
	/* spares a request to a server for each file; device 0: none. A device is at its number
	 * modulo SHOWN_AGAIN_DEVICES. */
	struct {
		dev_t device;
		bool is_served;
	} devices[SHOWN_AGAIN_DEVICES];
};

void shown_again_init(struct shown_again *shown_again);
void shown_again_deinit(struct shown_again *shown_again); /* accepts one that is all zero */

/* Returns the proof that works with it, which borrows it. */
struct missing_proof shown_again_proof(struct shown_again *shown_again);

/* Returns whether another host, or a program of this one, possibly serves the file system at an
 * absolute path. Also true if the path cannot be opened. */
bool shown_again_is_possible(const char *path);

#endif
