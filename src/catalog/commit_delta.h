/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_COMMIT_DELTA_H
#define CATALOG_COMMIT_DELTA_H

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
struct delta_name {
	uint64_t dir;
	uint32_t offset, length; /* in commit_delta.text */
};

/* The record of a directory changed (attributes, place) or went. */
struct delta_dir {
	uint64_t dir;
	bool gone;
	bool moved; /* it has another path, and so has all below it, of which nothing more is said */
};

enum delta_file_what {
	DELTA_FILE_ATTRIBUTES = 1, /* something that stat(2) shows */
	DELTA_FILE_UNREAD = 2, /* it is new, or its content is not known any more: compare it */
	DELTA_FILE_GONE = 4, /* its last name went */
	DELTA_FILE_BACK = 8, /* it has a name again, and its content is still known */
	DELTA_FILE_NAMES = 16, /* it got or lost a name, and had or has others */
	DELTA_FILE_FEWER = 32, /* with DELTA_FILE_NAMES: it lost one */
};

struct delta_file {
	uint64_t file;
	uint64_t size;
	uint32_t what; /* enum delta_file_what, or-ed; a file may be told more than once */
};

/* A group was touched: before and after the commit, inodes 0 where there was or is none. */
struct delta_group {
	struct group_record before, now;
};

/* A file became redundant or unique. Told once, in the order of files. */
struct delta_flip {
	uint64_t file;
	size_t group; /* in commit_delta.groups: where it is redundant now, or was */
	bool redundant; /* now; before it was the opposite */
};

/* An error was noted (errno) or is none any more (0). */
struct delta_error {
	enum error_kind kind;
	uint64_t id;
	int error;
};

struct commit_delta {
	uint64_t generation; /* of the commit */
	const char *text;
	const struct delta_name *names;
	size_t name_count;
	const struct delta_dir *dirs;
	size_t dir_count;
	const struct delta_file *files;
	size_t file_count;
	const struct delta_group *groups;
	size_t group_count;
	const struct delta_flip *redundancy;
	size_t redundancy_count;
	/* Directories that have redundant copies in them, at any depth, and had none; or have none
	 * any more. One may be told more than once; one that went is not. */
	const uint64_t *holders;
	size_t holder_count;
	const struct delta_error *errors;
	size_t error_count;
};

/* Called after each commit that changed something, in the thread that made it and in the order of
 * commits. It must neither write to the catalog nor hold a reader when it returns. */
typedef void commit_delta_fn(const struct commit_delta *delta, void *context);

/* Sets who is told, NULL: nobody (then nothing is gathered). Call it while no write runs. */
void catalog_observe(struct catalog *catalog, commit_delta_fn *observer, void *context);

#endif
