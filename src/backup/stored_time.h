/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_STORED_TIME_H
#define BACKUP_STORED_TIME_H

#include <stdbool.h>
#include <time.h>

/* Returns whether the found time is the wanted time as a file system stores it. File systems round
 * down: to 100 ns (NTFS), 10 ms (exFAT), one or two seconds (FAT). Pure. */
bool stored_time_equals(struct timespec wanted, struct timespec found);

#endif
