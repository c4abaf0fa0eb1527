/* SPDX-License-Identifier: MIT */
#ifndef INGEST_COMPARE_H
#define INGEST_COMPARE_H

/* Compares the heads that are left undecided block by block, until the work is done. Runs in each of several threads. Takes
 * the struct contents; returns NULL. */
void *compare_run(void *contents);

#endif
