/* SPDX-License-Identifier: MIT */
#ifndef BASE_STORAGE_H
#define BASE_STORAGE_H

/* What stores the files of a file system: its block device, the file of a loop device, the device
 * below device mapper, the upper layer of an overlay, the folder that bindfs shows, and so on, one
 * layer at a time. Any thread. Reads files of /sys and /proc, and opens the files and devices that
 * they name with O_PATH.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Paths that are read. A test can replace them. */
struct storage_places {
	const char *sys; /* "/sys" */
	const char *mountinfo; /* "/proc/self/mountinfo" */
};

extern const struct storage_places storage_places;

/* Maximum number of layers, such as a loop device over a file on an overlay on a loop device. */
#define STORAGE_LAYERS_MAX 8

/* A layer: a file system, or a block device. */
struct storage {
	dev_t device; /* st_dev of the file system, or the block device */
	uint64_t mount; /* number of the mount; 0: a block device, or unknown */
	uint32_t type; /* f_type of statfs(2); 0: a block device, or unknown */
};

/* Sets the layer to the file system of fd, which may be O_PATH. Returns false if it cannot be
 * examined. */
bool storage_of(int fd, struct storage *layer);

/* Reads the first line of a file that /sys has for a block device. The caller frees *line. Returns
 * false if the file cannot be read. */
bool storage_read_line(const struct storage_places *places, dev_t device, const char *name,
		       char **line);

/* Sets the layer to the one below. A btrfs is on the device that was mounted, an overlay without an
 * upper layer on its highest lower one, a RAID on its first device. Returns false if no layer below
 * is found: the layer is a disk, in memory, or served by something unknown. */
bool storage_descend(const struct storage_places *places, struct storage *layer);

#endif
