/* SPDX-License-Identifier: MIT */
#ifndef DOCTOR_DEDUPE_H
#define DOCTOR_DEDUPE_H

#include "doctor/findings.h"
#include "ingest/census.h"
#include "mountpoint/table.h"

/* Adds whether the files of a source can share blocks, and what prevents it. If they cannot, this
 * is no problem and no note. The subject of the findings is the source.
 *
 * fd		root of the source, open for reading
 * mount	the mount that contains it; NULL: not known
 */
void doctor_examine_dedupe(struct findings *findings, int fd, const struct mount_entry *mount,
			   const struct census *census);

#endif
