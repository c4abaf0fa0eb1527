/* SPDX-License-Identifier: MIT */
#ifndef DOCTOR_PROMISES_H
#define DOCTOR_PROMISES_H

/* What the file system of a source promises (base/filesystem_table.h), and how that is known. */

#include "doctor/findings.h"
#include "ingest/census.h"
#include "mountpoint/table.h"

/* Adds the row of the file system, and whether contents have to be read again because it has no
 * ctime.
 *
 * fd		of the source
 * mount	that contains the source; NULL if unknown
 * census	of the source */
void doctor_examine_promises(struct findings *findings, int fd, const struct mount_entry *mount,
			     const struct census *census);

#endif
