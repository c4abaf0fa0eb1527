/* SPDX-License-Identifier: MIT */
#ifndef PAGE_TREEMAP_H
#define PAGE_TREEMAP_H

/* Divides a rectangle into boxes with areas proportional to given sizes, each box as square as
 * possible: M. Bruls, K. Huizing, J. van Wijk, "Squarified Treemaps", Data Visualization 2000. Pure
 * code, any thread.
 */

#include <stddef.h>
#include <stdint.h>

struct treemap_box {
	double x, y, width, height;
};

/* Lays out one box for each size. Linear in count.
 *
 * sizes	greater than 0, the largest first; boxes[i] is for sizes[i]
 * area		the rectangle to divide; width and height greater than 0
 * boxes	array for count boxes
 */
void treemap_lay_out(const uint64_t *sizes, size_t count, struct treemap_box area,
		     struct treemap_box *boxes);

#endif
