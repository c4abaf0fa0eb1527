/* SPDX-License-Identifier: MIT */
#ifndef PAGE_TALLIES_H
#define PAGE_TALLIES_H

/* Files and bytes by age, and by the extension of their names. Pure code; one thread at a time. */

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"

enum age {
	AGE_FUTURE, /* changed later than now: a clock was wrong, or a program set the time */
	AGE_DAY,
	AGE_WEEK,
	AGE_MONTH, /* 30 days */
	AGE_QUARTER, /* 91 days */
	AGE_YEAR, /* 365.25 days, as are the years below */
	AGE_2_YEARS,
	AGE_5_YEARS,
	AGE_10_YEARS,
	AGE_OLDER,
	AGE_COUNT,
};

struct ages {
	uint64_t files[AGE_COUNT];
	uint64_t bytes[AGE_COUNT];
};

/* Returns the age of a file at the time now. The last change of the file was at the time then. */
enum age age_of(struct timespec then, struct timespec now);

/* Returns the name of an age's upper bound, such as "a week" (static string). */
const char *age_name(enum age age);

void ages_add(struct ages *ages, enum age age, uint64_t bytes);

/* ---- kinds ---------------------------------------------------------------------------------- */

/* Files and redundant copies by the extension of their names. Takes memory for KINDS_MAX
 * extensions. A struct kinds that is all zero is empty and valid. */

/* Highest number of characters of an extension. Longer ones do not name a type. */
#define KIND_NAME_MAX 8

/* Highest number of extensions that are counted apart. The files of all others are counted as files
 * without an extension. */
#define KINDS_MAX 1024

struct kind {
	char name[KIND_NAME_MAX + 1]; /* without its dot, in lower case; "": none */
	uint64_t bytes; /* of all files */
	uint64_t copies; /* redundant copies */
	uint64_t redundant; /* their bytes */
};

struct kinds {
	struct kind *list; /* by name */
	size_t count, capacity;
};

void kinds_free(struct kinds *kinds);

/* Sets name to the extension of a file name, in lower case. It consists of letters and digits, and
 * has at least one letter, as a number is a version. Sets "" if there is none. */
void kind_name(char name[static KIND_NAME_MAX + 1], const char *file, size_t length);

/* Adds a file, or a redundant copy, with this extension. Returns 0 or -ENOMEM. */
MUST_CHECK int kinds_add_file(struct kinds *kinds, const char *name, uint64_t bytes);
MUST_CHECK int kinds_add_copy(struct kinds *kinds, const char *name, uint64_t bytes);

/* Orders the kinds by redundant bytes, the most first. Nothing can be added afterwards. */
void kinds_rank(struct kinds *kinds);

#endif
