/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_BALANCE_H
#define CHOOSE_BALANCE_H

/* The balance of a plan: how many copies go from each folder, how many stay in it, and where the
 * kept copies are. One thread.
 *
 * A line is for one folder, or for a folder with all its subfolders if few copies go from each of
 * them. This is the search for hierarchical heavy hitters (Cormode et al., VLDB 2003), which is
 * exact here because the folders are sorted. So the number of lines and the memory are bounded. */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "choose/plan.h"

/* Highest number of lines. A line has at least this part of the copies that go, or stay. */
#define BALANCE_LINES_MAX 64

struct balance_tally {
	uint64_t go; /* names that go */
	/* names of kept copies; of balance.going: in the folders from which a copy goes */
	uint64_t stay;
	uint64_t freed_bytes;
	uint64_t folders; /* folders from which a copy goes; of balance.kept: folders with one */
};

struct balance_line {
	size_t folder; /* offset in balance.paths, ends with a NUL */
	struct balance_tally tally;
};

struct balance_list {
	struct balance_line lines[BALANCE_LINES_MAX]; /* the most copies first */
	size_t count;
	struct balance_tally rest; /* of the folders without a line */
};

struct balance {
	struct balance_list going; /* folders by the copies that go */
	struct balance_list kept; /* folders by the kept copies in them */
	struct bytes paths;
};

/* Makes the balance of a plan, and rewinds the plan. The caller calls balance_free() in any case.
 * Returns 0, -EINTR if stop_requested(), or -errno.
 *
 * shown	the path of each source as the user wrote it
 */
MUST_CHECK int balance_make(struct balance *balance, struct act_plan *plan,
			    const char *const *shown);
void balance_free(struct balance *balance);
#define CLEANUP_BALANCE CLEANUP(balance_free)

/* Prints the balance for people, in lines of at most width columns where the names allow it. */
void balance_print(const struct balance *balance, struct output *output, unsigned int width);

#endif
