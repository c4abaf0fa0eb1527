/* SPDX-License-Identifier: MIT */
#ifndef ACT_LAYER_H
#define ACT_LAYER_H

/* In which layer of an overlay a file is. A file of a lower layer stays there when its name is removed,
 * and is copied to the upper layer before it is renamed. Any thread. */

enum layer {
	LAYER_NONE, /* its file system has no layers */
	LAYER_UPPER, /* it was made in the overlay, and is in the upper layer alone */
	LAYER_LOWER, /* it is, or was once, in a lower layer */
	LAYER_UNKNOWN, /* the kernel does not tell: Linux before 6.6, or another file system with layers */
};

/* Examines an open file. */
enum layer layer_of(int fd);

#endif
