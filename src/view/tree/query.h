/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_QUERY_H
#define VIEW_TREE_QUERY_H

/* One query of the view: a snapshot of the catalog, with errors translated for a system call.
 * Begins and ends in the same thread and scope. */

#include <errno.h>

#include "base/attributes.h"
#include "index/catalog.h"
#include "view/tree/view.h"

struct view_query {
	struct view *view; /* borrowed, as are caller and cancellation */
	const struct caller *caller; /* NULL: everything is visible */
	const struct cancellation *cancellation; /* as in struct view_call */
	struct catalog_reader *reader; /* NULL: the snapshot has ended */
};

static inline int query_begin_for(struct view_query *query, const struct view_call *call)
{
	query->view = call->view;
	query->caller = call->caller;
	query->cancellation = call->cancellation;
	return catalog_read_begin(call->view->catalog, &query->reader);
}

/* Begins a query without a caller. */
static inline int query_begin(struct view_query *query, struct view *view)
{
	return query_begin_for(query, &(struct view_call){.view = view});
}

/* Ends the snapshot. Can be called twice. */
static inline void query_end(struct view_query *query)
{
	catalog_read_end(TAKE(query->reader));
}
#define CLEANUP_QUERY CLEANUP(query_end)

/* Converts the result of a lookup of a record that another record refers to. If the record is
 * missing, returns -EUCLEAN, as the index is damaged. */
static inline int expect_record(int result)
{
	return result == -ENOENT || result == -ESTALE ? -EUCLEAN : result;
}

/* Converts -EUCLEAN (damaged record) and -ENODEV (missing source) to -EIO, as neither concerns a
 * particular file of the source. Reports a damaged record to the catalog. */
static inline int query_error(struct view *view, int result)
{
	if (result == -EUCLEAN)
		catalog_distrust(view->catalog);
	return result == -EUCLEAN || result == -ENODEV ? -EIO : result;
}

#endif
