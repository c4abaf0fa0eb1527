/* SPDX-License-Identifier: MIT */
#ifndef REPORT_TREEMAP_H
#define REPORT_TREEMAP_H

/* Divides a rectangle into boxes whose areas are as given sizes, each as near to a square as may
 * be: M. Bruls, K. Huizing, J. van Wijk, "Squarified Treemaps", Data Visualization 2000. Pure code,
 * any thread.
 */

#include <stddef.h>
#include <stdint.h>

struct treemap_box {
	double x, y, width, height;
};

/* Lays out one box for each size. Linear in count.
 *
 * sizes	above 0, the largest first; their order is that of the boxes
 * area		what is divided; width and height above 0
 * boxes	room for count of them
 */
void treemap_lay_out(const uint64_t *sizes, size_t count, struct treemap_box area,
		     struct treemap_box *boxes);

#endif
