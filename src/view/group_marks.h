/* SPDX-License-Identifier: MIT */
#ifndef VIEW_GROUP_MARKS_H
#define VIEW_GROUP_MARKS_H

/* Where listings of groups' folders go on. Nobody opens or closes such a folder here: each call
 * brings the cookie that the last one gave.
 *
 * The names of a group are walked in the order of inode (file id), then directory id, then cookie
 * in the directory. That is a position of three numbers, and it stays right while other names come
 * and go; but a listing's cookie is one number of 63 bits. So a cookie is the number of the listing
 * and the ordinal number of the name in it, and the listing's marks remember which position that
 * stands for: exactly for the names of the last call, where nearly every next call goes on, and for
 * the first name of each earlier call, from where it walks on to what lies between (seekdir(3)). A
 * listing that is not remembered any more is walked from the beginning to the cookie.
 */

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct position {
	uint64_t file; /* all zero: before the first name */
	uint64_t dir;
	uint64_t cookie;
};

/* The name with this ordinal number, from 1 on; 0 with a zero position is the beginning. */
struct mark {
	uint64_t ordinal;
	struct position position;
};

/* Of one listing. One thread at a time. */
struct group_marks {
	uint64_t group;
	uint64_t holder; /* for whom it is listed: others see other names */
	uint64_t listing; /* its number */
	struct mark *calls; /* where calls went on, ascending */
	size_t calls_count, calls_capacity;
	uint64_t last_base; /* the names of the last call are those after this one */
	struct position *last;
	size_t last_count, last_capacity;
};

/* How many listings are remembered: those that began last. */
#define GROUP_LISTINGS_MAX 64

/* Any thread. */
struct group_listings {
	pthread_mutex_t lock;
	uint64_t last; /* number that was given last */
	struct group_marks *kept[GROUP_LISTINGS_MAX]; /* by number, NULL while one is at work */
};

void group_listings_init(struct group_listings *listings);
void group_listings_deinit(struct group_listings *listings);

/* Gives the marks of a holder's listing of a group that goes on behind this cookie (0: that
 * begins). *marks is the caller's, for group_marks_keep. 0 or -ENOMEM. */
MUST_CHECK int group_marks_take(struct group_listings *listings, uint64_t group, uint64_t holder,
				uint64_t cookie, struct group_marks **marks);

/* The ordinal number of the name with this cookie. */
uint64_t group_marks_ordinal(uint64_t cookie);

/* Takes marks back for the next call; accepts NULL. */
void group_marks_keep(struct group_listings *listings, struct group_marks *marks);

/* The cookie of a name; from 1 on and below 2^62. */
uint64_t group_marks_cookie(const struct group_marks *marks, uint64_t ordinal);

/* Remembers where a call begins, and then each name that it gives. 0 or -ENOMEM. */
MUST_CHECK int group_marks_call(struct group_marks *marks, const struct mark *mark);
MUST_CHECK int group_marks_name(struct group_marks *marks, const struct position *position);

/* The remembered place that is nearest before, or at, the name with this number. */
struct mark group_marks_nearest(const struct group_marks *marks, uint64_t ordinal);

#endif
