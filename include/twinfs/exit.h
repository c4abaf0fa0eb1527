/* SPDX-License-Identifier: MIT */
#ifndef TWINFS_EXIT_H
#define TWINFS_EXIT_H

/* Exit statuses of the twinfs program. Scripts rely on them. */
enum twinfs_exit {
	TWINFS_EXIT_COMPLETE = 0,
	TWINFS_EXIT_FAILED = 1,
	TWINFS_EXIT_USAGE = 2,
	/* finished, but something could not be read or done (each is named on stderr), or check or
	 * doctor printed findings */
	TWINFS_EXIT_INCOMPLETE = 3,
	TWINFS_EXIT_NOT_COVERED = 4, /* of `covered`: a content is only in the folders */
};

#endif
