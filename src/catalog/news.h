/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_NEWS_H
#define CATALOG_NEWS_H

/* What a commit changed, for those who keep something of what they read: kernel caches, a list of
 * files to compare, programs that follow what happens.
 *
 * News name things by id; what they are now is asked of a snapshot, which may be of a later
 * commit, whose own news follow. All pointers are borrowed and valid during the call.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/catalog.h"

/* A name in a directory came or went, or means another child. */
struct news_name {
	uint64_t dir;
	uint32_t offset, length; /* in catalog_news.text */
};

/* The record of a directory changed (attributes, place) or went. */
struct news_dir {
	uint64_t dir;
	bool gone;
	bool moved; /* it has another path, and so has all below it, of which nothing more is said */
};

enum news_file_what {
	NEWS_FILE_ATTRIBUTES = 1, /* something that stat(2) shows */
	NEWS_FILE_UNREAD = 2, /* it is new, or its content is not known any more: compare it */
	NEWS_FILE_GONE = 4, /* its last name went */
	NEWS_FILE_BACK = 8, /* it has a name again, and its content is still known */
	NEWS_FILE_NAMES = 16, /* it got or lost a name, and had or has others */
	NEWS_FILE_FEWER = 32, /* with NEWS_FILE_NAMES: it lost one */
};

struct news_file {
	uint64_t file;
	uint64_t size;
	uint32_t what; /* enum news_file_what, or-ed; a file may be told more than once */
};

/* A group was touched: before and after the commit, inodes 0 where there was or is none. */
struct news_group {
	struct group_record before, now;
};

/* A file became redundant or unique. Told once, in the order of files. */
struct news_flip {
	uint64_t file;
	size_t group; /* in catalog_news.groups: where it is redundant now, or was */
	bool redundant; /* now; before it was the opposite */
};

/* An error was noted (errno) or is none any more (0). */
struct news_error {
	enum error_kind kind;
	uint64_t id;
	int error;
};

struct catalog_news {
	uint64_t generation; /* of the commit */
	const char *text;
	const struct news_name *names;
	size_t name_count;
	const struct news_dir *dirs;
	size_t dir_count;
	const struct news_file *files;
	size_t file_count;
	const struct news_group *groups;
	size_t group_count;
	const struct news_flip *flips;
	size_t flip_count;
	/* Directories that have redundant copies in them, at any depth, and had none; or have none
	 * any more. One may be told more than once; one that went is not. */
	const uint64_t *holders;
	size_t holder_count;
	const struct news_error *errors;
	size_t error_count;
};

/* Called after each commit that changed something, in the thread that made it and in the order of
 * commits. It must neither write to the catalog nor hold a reader when it returns. */
typedef void catalog_news_fn(const struct catalog_news *news, void *context);

/* Sets who is told, NULL: nobody (then nothing is gathered). Call it while no write runs. */
void catalog_observe(struct catalog *catalog, catalog_news_fn *observer, void *context);

#endif
