/* SPDX-License-Identifier: MIT */
#ifndef VIEW_QUERY_H
#define VIEW_QUERY_H

/* One question to the view: a snapshot of the catalog, and its errors as a caller of a system call
 * may see them. Ends in the thread and scope that it began in. */

#include <errno.h>

#include "base/attributes.h"
#include "catalog/catalog.h"
#include "view/view.h"

struct view_query {
	struct view *view; /* borrowed, as the next one is */
	const struct caller *caller; /* NULL: all may be seen */
	const struct interruption *interruption; /* as in struct view_call */
	struct catalog_reader *reader; /* NULL: the snapshot has ended */
};

/* Of the program itself. */
static inline int query_begin(struct view_query *query, struct view *view)
{
	query->view = view;
	query->caller = NULL;
	query->interruption = NULL;
	return catalog_read_begin(view->catalog, &query->reader);
}

static inline int query_begin_for(struct view_query *query, const struct view_call *call)
{
	query->view = call->view;
	query->caller = call->caller;
	query->interruption = call->interruption;
	return catalog_read_begin(call->view->catalog, &query->reader);
}

/* Lets go of the snapshot, once or twice. */
static inline void query_end(struct view_query *query)
{
	catalog_read_end(TAKE(query->reader));
}
#define CLEANUP_QUERY CLEANUP(query_end)

/* The result of asking for what another record names: that it is not there is damage. */
static inline int expect_record(int result)
{
	return result == -ENOENT || result == -ESTALE ? -EUCLEAN : result;
}

/* No file of the source is meant when a record of ours is damaged, or when all of the source is
 * missing (-ENODEV). */
static inline int query_error(struct view *view, int result)
{
	if (result == -EUCLEAN)
		catalog_distrust(view->catalog);
	return result == -EUCLEAN || result == -ENODEV ? -EIO : result;
}

#endif
