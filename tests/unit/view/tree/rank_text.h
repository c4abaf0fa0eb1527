/* SPDX-License-Identifier: MIT */
#ifndef TESTS_VIEW_RANK_TEXT_H
#define TESTS_VIEW_RANK_TEXT_H

#define NO_BREAK "\xc2\xa0"

/* A name in by-size/, from string literals. */
#define RANK_TEXT(rank, name, copies, size, unit) \
	rank " " name " (" copies NO_BREAK "copies, frees" NO_BREAK size NO_BREAK unit ")"

#endif
