/* SPDX-License-Identifier: MIT */
#ifndef TESTS_INGEST_EARLY_H
#define TESTS_INGEST_EARLY_H

/* A walk that reads files, and what it read. A failed helper ends the test. */

#include "base/clock.h"
#include "index/audit.h"
#include "scan/reading.h"
#include "scan/tree.h"

/* Waits until the file can be proved at once: a file that changed a moment ago is not read. */
static inline void wait_for_guard(const struct tree *t, const char *path)
{
	struct attributes attributes = {0};
	struct stat st;

	do {
		assert_int_equal(fstatat(t->fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
		attributes.ctime = st.st_ctim;
	} while (!reading_guard_is_over(&attributes));
}

static inline void walk(struct tree *t)
{
	struct ingest ingest = {.catalog = t->index.catalog,
				.sources = &t->sources,
				.settings = &t->settings};

	assert_int_equal(ingest_names(&ingest), 0);
	assert_int_equal(totals_of(&t->index).unlisted, 0);
	audit_index(t->index.catalog);
}

static inline bool is_read(const struct tree *t, const char *path)
{
	return content_of(&t->index, id_of_path(t, path)).prefix != 0;
}

#endif
