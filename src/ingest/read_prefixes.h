/* SPDX-License-Identifier: MIT */
#ifndef INGEST_READ_PREFIXES_H
#define INGEST_READ_PREFIXES_H

/* Reads the prefixes of candidates and sorts the candidates by content, until all are done. Each
 * reading thread runs this. Takes a struct contents and returns NULL. */
void *read_prefixes_run(void *contents);

#endif
