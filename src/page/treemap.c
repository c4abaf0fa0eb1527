/* SPDX-License-Identifier: MIT */
#include "page/treemap.h"

#include <stdbool.h>

/* Adjacent boxes along the shorter side of the free area. */
struct map_row {
	double side; /* length of the row */
	double total; /* sum of the areas of all boxes in the row */
	double smallest, largest; /* areas of the smallest and the largest box */
};

/* Returns the worst aspect ratio of the boxes of a row; at least 1. */
static double worst_ratio(const struct map_row *row)
{
	double square = row->side * row->side;
	double total = row->total * row->total;
	double tall = square * row->largest / total;
	double flat = total / (square * row->smallest);

	return tall > flat ? tall : flat;
}

static struct map_row row_with(struct map_row row, double area)
{
	row.total += area;
	if (row.smallest == 0 || area < row.smallest)
		row.smallest = area;
	if (area > row.largest)
		row.largest = area;
	return row;
}

/* Positions the boxes of a row and removes the row from the free area. Because of rounding, the
 * last rows can get less area than they need, or none. */
static void place_row(const uint64_t *sizes, size_t count, double scale, struct treemap_box *free,
		      struct treemap_box *boxes)
{
	bool horizontal = free->width < free->height;
	double side = horizontal ? free->width : free->height;
	double depth = horizontal ? free->height : free->width;
	double total = 0;
	double at = 0;

	for (size_t i = 0; i < count; i++)
		total += (double)sizes[i];
	if (side > 0 && total * scale / side < depth)
		depth = total * scale / side;
	for (size_t i = 0; i < count; i++) {
		double length = side * ((double)sizes[i] / total);

		if (horizontal)
			boxes[i] = (struct treemap_box){free->x + at, free->y, length, depth};
		else
			boxes[i] = (struct treemap_box){free->x, free->y + at, depth, length};
		at += length;
	}
	if (horizontal) {
		free->y += depth;
		free->height -= depth;
	} else {
		free->x += depth;
		free->width -= depth;
	}
}

/* Returns the number of sizes in the next row. Sizes are added until the worst aspect ratio
 * increases. */
static size_t fill_row(const uint64_t *sizes, size_t count, double scale,
		       const struct treemap_box *free)
{
	struct map_row row = {.side = free->width < free->height ? free->width : free->height};
	size_t taken = 1;

	row = row_with(row, (double)sizes[0] * scale);
	while (taken < count) {
		struct map_row longer = row_with(row, (double)sizes[taken] * scale);

		if (worst_ratio(&longer) > worst_ratio(&row))
			break;
		row = longer;
		taken++;
	}
	return taken;
}

void treemap_lay_out(const uint64_t *sizes, size_t count, struct treemap_box area,
		     struct treemap_box *boxes)
{
	double total = 0;
	double scale;

	for (size_t i = 0; i < count; i++)
		total += (double)sizes[i];
	scale = total > 0 ? area.width * area.height / total : 0;
	while (count > 0) {
		size_t taken = count;

		/* without a free area there is no aspect ratio */
		if (area.width > 0 && area.height > 0)
			taken = fill_row(sizes, count, scale, &area);
		place_row(sizes, taken, scale, &area, boxes);
		sizes += taken;
		boxes += taken;
		count -= taken;
	}
}
