/* SPDX-License-Identifier: MIT */
#ifndef INGEST_READ_PREFIXES_H
#define INGEST_READ_PREFIXES_H

/* Reads the first bytes of candidates and sorts them by content, until the work is done. Runs in each of several threads. Takes
 * the struct contents; returns NULL. */
void *read_prefixes_run(void *contents);

#endif
