/* SPDX-License-Identifier: MIT */
#ifndef INGEST_COMPARE_H
#define INGEST_COMPARE_H

/* Compares the undecided prefixes (prefixes.h) block by block until none is left. Each comparing
 * thread runs this function. Takes a struct contents and returns NULL. */
void *compare_run(void *contents);

#endif
