/* SPDX-License-Identifier: MIT */
#ifndef BASE_OVERLAY_LAYER_H
#define BASE_OVERLAY_LAYER_H

/* The overlay layer of a file. If a name of a file in a lower layer is removed, the file stays in
 * that layer. Before a file of a lower layer is renamed, overlayfs copies the file to the upper
 * layer. Any thread. */

#include <stdbool.h>
#include <stdint.h>

enum layer {
	LAYER_NONE, /* the file system has no layers */
	LAYER_UPPER, /* only in the upper layer: the file was created in the overlay */
	LAYER_LOWER, /* the file is, or once was, in a lower layer */
	LAYER_UNKNOWN, /* overlayfs of Linux before 6.6, or another file system with layers */
};

/* Returns the layer of an open file. */
enum layer layer_of(int fd);

/* Returns whether a file that is open for reading has surely been copied to the upper layer, so
 * that a rename keeps its hard links. Never copies it. */
bool layer_is_copied_up(int fd);

/* Files of different layers have different st_dev in an overlay, unless all layers are on one file
 * system. Returns a number that is the same for all regular files of an overlay with one st_dev,
 * and another one for each st_dev; 0 for directories and on other file systems. If the kernel does
 * not show the layer, the number is another one after a remount. */
uint64_t layer_number(int fd);

#endif
