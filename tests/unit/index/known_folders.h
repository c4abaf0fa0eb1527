/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CATALOG_KNOWN_FOLDERS_H
#define TESTS_CATALOG_KNOWN_FOLDERS_H

#include "index/fixture.h"

static inline int fixture_folders_body(struct catalog_writer *w, void *context)
{
	(void)context;
	return catalog_know_folders(w);
}

/* Finds the folder groups, which later transactions keep current. */
static inline void know_folders(struct fixture *f)
{
	assert_int_equal(catalog_write(f->catalog, fixture_folders_body, NULL), 0);
	assert_true(totals_of(f).folders_known);
}

#endif
