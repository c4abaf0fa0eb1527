/* SPDX-License-Identifier: MIT */

/* Reclaimable bytes by folder: a treemap of nested boxes (page/page_parts.h), and a table of the
 * largest folders for readers who cannot see the treemap. */

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/sort.h"
#include "page/page_parts.h"

/* Size in pixels that the layout assumes. Boxes stretch with the page. */
#define MAP_WIDTH 960.0
#define MAP_HEIGHT 540.0

/* Smallest size in pixels of a box that has nested boxes. */
#define PARTED_WIDTH 64.0
#define PARTED_HEIGHT 48.0

/* Highest number of rows of the table. */
#define ROWS_MAX 20

/* A folder as it is shown. */
struct cell {
	size_t count; /* direct subfolders */
	size_t end; /* index after the last descendant */
	size_t label; /* offset in the folder's path of the text that the box shows */
	double width, height; /* size of the area inside the box, in pixels */
	struct treemap_box box; /* relative to the area of the enclosing box */
	/* box of the bytes that are in no shown subfolder; relative to the area */
	struct treemap_box rest;
	bool passed; /* the folder has only one subfolder, whose box replaces the folder's box */
	bool shown; /* the folder has a box */
	bool parted; /* the box has nested boxes */
};

/* A box to lay out: a folder, or the rest. */
struct part {
	uint64_t bytes;
	size_t folder; /* REST: no folder */
};

#define REST SIZE_MAX

struct map {
	const struct page_writing *writing;
	const struct page_folder *folders;
	size_t count;
	size_t top; /* the folder whose area is the whole map */
	struct cell *cells;
	/* Scratch space for all folders and a rest. */
	struct part *parts;
	struct treemap_box *boxes;
	uint64_t *sizes;
};

static void map_free(struct map *map)
{
	free(map->cells);
	free(map->parts);
	free(map->boxes);
	free(map->sizes);
}

static int map_init(struct map *map, const struct page_writing *writing)
{
	size_t count = writing->facts->folder_count;

	*map = (struct map){
		.writing = writing,
		.folders = writing->facts->folders,
		.count = count,
		.cells = calloc(count, sizeof(*map->cells)),
		.parts = calloc(count + 1, sizeof(*map->parts)),
		.boxes = calloc(count + 1, sizeof(*map->boxes)),
		.sizes = calloc(count + 1, sizeof(*map->sizes)),
	};
	return map->cells && map->parts && map->boxes && map->sizes ? 0 : -ENOMEM;
}

/* ---- laying out --------------------------------------------------------------------------- */

static bool is_source(const struct page_folder *folder)
{
	return folder->node.depth == 1;
}

/* Sets count, end and passed of all cells. Descendants are after their folder in the list, so the
 * list is read from its end. */
static void find_children(struct map *map)
{
	for (size_t i = map->count; i-- > 0;) {
		const struct page_folder *folder = &map->folders[i];
		struct cell *cell = &map->cells[i];
		struct cell *parent = &map->cells[folder->node.parent];

		if (cell->end == 0)
			cell->end = i + 1;
		cell->passed =
			cell->count == 1 && folder->node.own.files == 0 && !is_source(folder);
		if (i == 0)
			continue;
		parent->count++;
		if (parent->end == 0)
			parent->end = cell->end;
	}
}

/* Returns the folder whose box replaces the box of a passed folder, or the folder itself if it is
 * not passed. */
static size_t find_shown(const struct map *map, size_t folder)
{
	while (map->cells[folder].passed)
		folder++;
	return folder;
}

/* Lists the subfolders and the rest of a folder, the largest first. Leaves out empty parts. Returns
 * the number of parts. */
static size_t list_parts(struct map *map, size_t folder)
{
	const struct part rest = {map->folders[folder].node.own.bytes, REST};
	size_t end = map->cells[folder].end;
	size_t count = 0;
	size_t place;

	for (size_t i = folder + 1; i < end; i = map->cells[i].end) {
		if (map->folders[i].node.whole.bytes > 0)
			map->parts[count++] = (struct part){map->folders[i].node.whole.bytes, i};
	}
	if (rest.bytes == 0)
		return count;
	for (place = count++; place > 0 && map->parts[place - 1].bytes < rest.bytes; place--)
		map->parts[place] = map->parts[place - 1];
	map->parts[place] = rest;
	return count;
}

static void set_box(struct map *map, size_t folder, const struct treemap_box *box)
{
	const struct page_folder *named = &map->folders[folder];
	struct cell *cell = &map->cells[find_shown(map, folder)];

	cell->shown = true;
	cell->box = *box;
	cell->width = box->width - 2 * PAGE_BOX_BORDER;
	cell->height = box->height - PAGE_BOX_HEAD - PAGE_BOX_BORDER;
	cell->label = is_source(named) ? 0 : (size_t)(named->name - named->path);
}

static void divide(struct map *map, size_t folder)
{
	struct cell *cell = &map->cells[folder];
	size_t count = list_parts(map, folder);

	for (size_t i = 0; i < count; i++)
		map->sizes[i] = map->parts[i].bytes;
	treemap_lay_out(map->sizes, count, (struct treemap_box){0, 0, cell->width, cell->height},
			map->boxes);
	for (size_t i = 0; i < count; i++) {
		if (map->parts[i].folder == REST)
			cell->rest = map->boxes[i];
		else
			set_box(map, map->parts[i].folder, &map->boxes[i]);
	}
	cell->parted = true;
}

static void lay_out(struct map *map)
{
	find_children(map);
	map->top = find_shown(map, 0);
	map->cells[map->top].width = MAP_WIDTH;
	map->cells[map->top].height = MAP_HEIGHT;
	divide(map, map->top);
	for (size_t i = map->top + 1; i < map->count; i++) {
		const struct cell *cell = &map->cells[i];

		if (cell->shown && cell->count > 0 && cell->width >= PARTED_WIDTH &&
		    cell->height >= PARTED_HEIGHT)
			divide(map, i);
	}
}

/* ---- boxes -------------------------------------------------------------------------------- */

/* Writes the link of a folder. The Tab key skips the hundreds of links of boxes, as the table has
 * links to the largest folders. */
static void write_link(const struct map *map, const struct page_folder *folder, bool of_box)
{
	size_t length = strlen(folder->path);
	struct html *html = map->writing->html;

	if (!map->writing->settings->view_root || length > PAGE_LINK_MAX ||
	    !page_has_room(map->writing))
		return;
	html_format(html, " href=\"%sredundant/", map->writing->settings->view_root);
	html_link(html, folder->path, length);
	html_raw(html, length > 0 ? "/\"" : "\"");
	html_raw(html, of_box ? " tabindex=\"-1\"" : "");
}

static const char *link_tag(const struct map *map)
{
	return map->writing->settings->view_root ? "a" : "span";
}

/* Writes position and size of a box, as percentages of the enclosing area. */
static void write_place(struct html *html, const struct treemap_box *box, double width,
			double height)
{
	html_format(html, " style=\"left:%.2f%%;top:%.2f%%;width:%.2f%%;height:%.2f%%\"",
		    100 * box->x / width, 100 * box->y / height, 100 * box->width / width,
		    100 * box->height / height);
}

/* Writes the tooltip of a box. The path is last, because its text can run from right to left. */
static void write_hint(const struct map *map, const struct folder_sum *sum, const char *path)
{
	struct html *html = map->writing->html;
	char size[SIZE_TEXT_MAX];
	char files[NUMBER_TEXT_MAX];

	if (!page_has_room(map->writing))
		return;
	html_format(html, " title=\"%s, %s redundant %s&#10;", size_format(size, sum->bytes),
		    number_format(files, sum->files), plural(sum->files, "copy", "copies"));
	html_attribute(html, path, strlen(path));
	html_raw(html, "\"");
}

/* Returns the number of a shade, by the redundant part of a folder's bytes. */
static int shade(uint64_t redundant, uint64_t all)
{
	uint64_t step = all / PAGE_SHADES + (all % PAGE_SHADES != 0);
	uint64_t number = step > 0 ? redundant / step : PAGE_SHADES;

	return number < PAGE_SHADES ? (int)number + 1 : PAGE_SHADES;
}

/* Returns the area that encloses a box: the area of the nearest ancestor with a box. */
static const struct cell *area_of(const struct map *map, size_t folder)
{
	size_t above = folder;

	do
		above = map->folders[above].node.parent;
	while (above != map->top && !map->cells[above].shown);
	return &map->cells[above];
}

static const char *label_of(const struct map *map, size_t folder)
{
	const struct page_folder *shown = &map->folders[folder];

	return is_source(shown) ? shown->name : shown->path + map->cells[folder].label;
}

static void write_label(const struct map *map, size_t folder)
{
	const char *label = label_of(map, folder);
	struct html *html = map->writing->html;

	if (!page_has_room(map->writing))
		return;
	html_raw(html, "<b>");
	html_name(html, label, strlen(label));
	html_format(html, "</b> %s", html_size(map->folders[folder].node.whole.bytes).text);
}

static const char *rest_name(const struct folder_sum *own)
{
	if (own->folded_bytes == 0)
		return "files";
	return own->folded_bytes == own->bytes ? "smaller folders" : "files, smaller folders";
}

static void write_rest(const struct map *map, size_t folder)
{
	const struct page_folder *shown = &map->folders[folder];
	const struct cell *cell = &map->cells[folder];
	struct html *html = map->writing->html;

	if (shown->node.own.bytes == 0)
		return;
	html_format(html, "<div class=\"box rest s%d\"",
		    shade(shown->node.own.bytes, shown->own_bytes));
	write_place(html, &cell->rest, cell->width, cell->height);
	write_hint(map, &shown->node.own, rest_name(&shown->node.own));
	html_format(html, "><b>%s</b> %s</div>\n", rest_name(&shown->node.own),
		    html_size(shown->node.own.bytes).text);
}

/* Writes a box. The element of a parted box stays open for its nested boxes. */
static void write_box(const struct map *map, size_t folder)
{
	const struct page_folder *shown = &map->folders[folder];
	const struct cell *cell = &map->cells[folder];
	const struct cell *area = area_of(map, folder);
	struct html *html = map->writing->html;

	html_format(html, "<%s class=\"box %s%d\"", cell->parted ? "div" : link_tag(map),
		    cell->parted ? "parted d" : "s",
		    cell->parted ? (int)(shown->node.depth % 2)
				 : shade(shown->node.whole.bytes, shown->all_bytes));
	write_place(html, &cell->box, area->width, area->height);
	if (cell->parted)
		html_format(html, "><%s class=\"head\"", link_tag(map));
	write_link(map, shown, true);
	write_hint(map, &shown->node.whole, is_source(shown) ? shown->name : shown->path);
	html_raw(html, ">");
	write_label(map, folder);
	html_format(html, "</%s>", link_tag(map));
	html_raw(html, cell->parted ? "<div class=\"area\">\n" : "\n");
	if (cell->parted)
		write_rest(map, folder);
}

static void write_legend(struct html *html)
{
	html_raw(html, "<p class=\"legend\"><span>Redundant part of a folder:</span>");
	for (int i = 1; i <= PAGE_SHADES; i++)
		html_format(html, " <span><span class=\"key s%d\"></span>%d–%d&nbsp;%%</span>", i,
			    100 * (i - 1) / PAGE_SHADES, 100 * i / PAGE_SHADES);
	html_raw(html, "</p>\n");
}

static void write_boxes(const struct map *map)
{
	AUTO_FREE size_t *open = calloc(map->count, sizeof(*open));
	struct html *html = map->writing->html;
	size_t depth = 0;

	if (!open) {
		html_fail(html, -ENOMEM);
		return;
	}
	write_legend(html);
	html_raw(html, "<div class=\"map\" role=\"img\" aria-label=\"A box for each folder, as "
		       "large as its reclaimable bytes; the table below has the largest\">\n");
	write_rest(map, map->top);
	for (size_t i = map->top + 1; i <= map->count; i++) {
		while (depth > 0 && map->cells[open[depth - 1]].end <= i) {
			html_raw(html, "</div></div>\n");
			depth--;
		}
		if (i == map->count || !map->cells[i].shown)
			continue;
		write_box(map, i);
		if (map->cells[i].parted)
			open[depth++] = i;
	}
	html_raw(html, "</div>\n");
}

/* ---- the table ---------------------------------------------------------------------------- */

/* Returns the bytes of the smallest folder in the table. */
static uint64_t find_least(struct map *map)
{
	size_t count = 0;

	for (size_t i = 1; i < map->count; i++) {
		if (!map->cells[i].passed)
			map->sizes[count++] = map->folders[i].node.whole.bytes;
	}
	if (count <= ROWS_MAX)
		return 0;
	qsort(map->sizes, count, sizeof(*map->sizes), numbers_by_value);
	return map->sizes[count - ROWS_MAX];
}

static void write_path(const struct map *map, const struct page_folder *folder)
{
	struct html *html = map->writing->html;
	size_t above = is_source(folder) ? 0 : (size_t)(folder->name - folder->path);

	html_format(html, "<%s", link_tag(map));
	write_link(map, folder, false);
	html_raw(html, ">");
	if (above > 0) {
		html_raw(html, "<span class=\"above\">");
		html_name(html, folder->path, above);
		html_raw(html, "</span>");
	}
	html_name(html, folder->name, strlen(folder->name));
	html_format(html, "</%s>", link_tag(map));
}

static void write_row(const struct map *map, size_t i)
{
	const struct page_folder *folder = &map->folders[i];
	const struct folder_sum *whole = &folder->node.whole;
	struct html *html = map->writing->html;

	html_raw(html, "<tr><th scope=\"row\">");
	write_path(map, folder);
	html_format(html,
		    "</th><td>%s</td><td><span class=\"key s%d\"></span>%s</td><td>%s</td></tr>\n",
		    html_size(whole->bytes).text, shade(whole->bytes, folder->all_bytes),
		    html_share(whole->bytes, folder->all_bytes).text,
		    html_number(whole->files).text);
}

static void write_table(struct map *map)
{
	struct html *html = map->writing->html;
	uint64_t least = find_least(map);
	size_t rows = 0;

	html_raw(html,
		 "<div class=\"wide\"><table class=\"folders\">\n<caption>The folders with the "
		 "most redundant bytes, each with all its subfolders</caption>\n"
		 "<thead><tr><th scope=\"col\">folder</th><th scope=\"col\">redundant</th>"
		 "<th scope=\"col\">of the folder</th><th scope=\"col\">copies</th></tr>"
		 "</thead>\n<tbody>\n");
	for (size_t i = 1; i < map->count && rows < ROWS_MAX; i++) {
		if (map->cells[i].passed || map->folders[i].node.whole.bytes < least)
			continue;
		write_row(map, i);
		rows++;
	}
	html_raw(html, "</tbody>\n</table></div>\n");
}

void page_write_folders(const struct page_writing *writing)
{
	CLEANUP(map_free) struct map map = {0};
	struct html *html = writing->html;

	if (writing->facts->folder_count < 2 || writing->facts->folders[0].node.whole.bytes == 0)
		return;
	if (map_init(&map, writing) < 0) {
		html_fail(html, -ENOMEM);
		return;
	}
	lay_out(&map);
	html_raw(html, "<section id=\"folders\">\n<h2>Folders</h2>\n<figure>\n<figcaption>"
		       "Each box is as large as the redundant copies in the folder. The kept "
		       "copies of the same files can be in other folders.</figcaption>\n");
	if (map.cells[map.top].count > 0) /* without subfolders, the map would be a single box */
		write_boxes(&map);
	html_raw(html, "</figure>\n");
	write_table(&map);
	html_raw(html, "</section>\n");
}

/* ---- treemap -------------------------------------------------------------------------------- */

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
