/* SPDX-License-Identifier: MIT */
#ifndef INGEST_READ_PREFIXES_H
#define INGEST_READ_PREFIXES_H

/* Reads the prefixes of candidates and adds them to contents->prefixes, until no candidate is left
 * or the order of the disk is enabled. Each reading thread runs this function. Takes a struct
 * contents and returns NULL. */
void *read_prefixes_run(void *contents);

#endif
