/* SPDX-License-Identifier: MIT */
#ifndef INGEST_COMPARE_H
#define INGEST_COMPARE_H

/* Compares the undecided prefixes block by block until all are done. Each comparing thread runs
 * this. Takes a struct contents and returns NULL. */
void *compare_run(void *contents);

#endif
