/* SPDX-License-Identifier: MIT */
#ifndef ACT_OVERLAY_LAYER_H
#define ACT_OVERLAY_LAYER_H

/* The overlay layer of a file. If a name of a file in a lower layer is removed, the file stays in
 * that layer. Before a file of a lower layer is renamed, overlayfs copies the file to the upper
 * layer. Any thread. */

enum layer {
	LAYER_NONE, /* the file system has no layers */
	LAYER_UPPER, /* only in the upper layer: the file was created in the overlay */
	LAYER_LOWER, /* the file is, or once was, in a lower layer */
	LAYER_UNKNOWN, /* overlayfs of Linux before 6.6, or another file system with layers */
};

/* Returns the layer of an open file. */
enum layer layer_of(int fd);

#endif
