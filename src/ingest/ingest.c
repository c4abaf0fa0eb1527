/* SPDX-License-Identifier: MIT */
#include "ingest/ingest.h"

#include "base/stop.h"
#include "catalog/change.h"
#include "ingest/walk.h"

/* Orphans forgotten in one transaction. */
#define PURGE_FILES 65536

struct scan_begin {
	uint64_t min_size;
	uint32_t scan;
};

static int begin_body(struct catalog_writer *w, void *context)
{
	struct scan_begin *begin = context;

	return catalog_begin_scan(w, begin->min_size, &begin->scan);
}

static int purge_body(struct catalog_writer *w, void *context)
{
	return catalog_purge_orphans(w, PURGE_FILES, context);
}

static int purge(struct catalog *catalog)
{
	bool left = true;
	int r = 0;

	while (r == 0 && left)
		r = catalog_write(catalog, purge_body, &left);
	return r;
}

int ingest_names(struct ingest *ingest)
{
	struct scan_begin begin = {.min_size = ingest->settings->min_size};
	struct batch_writer *writer = NULL;
	int r, finished;

	r = catalog_write(ingest->catalog, begin_body, &begin);
	if (r == 0)
		r = batch_writer_new(&writer, ingest->catalog, begin.scan);
	if (r < 0)
		return r;
	r = walk_sources(ingest, writer);
	finished = batch_writer_finish(writer);
	if (r == 0)
		r = finished;
	ingest->result.stopped = stop_requested();
	/* only a walk that saw everything knows that a file without a name is gone */
	if (r == 0 && !ingest->result.stopped)
		r = purge(ingest->catalog);
	return r;
}
