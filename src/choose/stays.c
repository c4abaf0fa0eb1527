/* SPDX-License-Identifier: MIT */
#include "choose/stays.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/numbers.h"
#include "choose/copies.h"
#include "choose/report.h"
#include "index/managed.h"
#include "index/paths.h"
#include "index/source.h"

void stay_tally_free(struct stay_tally *tally)
{
	for (size_t i = 0; i < tally->bundle_count; i++)
		free(tally->bundles[i].path);
	bytes_free(&tally->links);
	for (size_t i = 0; i < EMPTIED_PLACES; i++)
		bytes_free(&tally->examples[i]);
	*tally = (struct stay_tally){0};
}

/* ---- counting ------------------------------------------------------------------------------- */

/* Sets *path to that of the directory, or of the copy itself if dir is 0. */
static int name_place(struct catalog_reader *reader, const struct sources *sources, uint64_t dir,
		      const struct bundle_stay *stay, char **path)
{
	CLEANUP_BYTES struct bytes relative = {0};
	CLEANUP_BYTES struct bytes absolute = {0};
	uint32_t source = stay->source;
	int r = dir ? catalog_dir_path(reader, dir, &relative, &source)
		    : bytes_append_text(&relative, stay->path);

	if (r == 0 && !bytes_text(&relative))
		r = -ENOMEM;
	if (r == 0)
		r = source_absolute_path(sources, source, bytes_text(&relative), &absolute);
	if (r < 0)
		return r;
	*path = bytes_text(&absolute) ? strdup(bytes_text(&absolute)) : NULL;
	return *path ? 0 : -ENOMEM;
}

int stay_tally_add_bundle(struct stay_tally *tally, struct catalog_reader *reader,
			  const struct sources *sources, const struct bundle_stay *stay)
{
	const struct bundle_place *place = &stay->place;
	struct bundle_count new = {.dir = place->kind ? place->store : place->bundle,
				   .kind = place->kind,
				   .copies = 1};
	int r;

	for (size_t i = 0; i < tally->bundle_count; i++) {
		if (tally->bundles[i].dir == new.dir && tally->bundles[i].kind == new.kind) {
			tally->bundles[i].copies++;
			return 0;
		}
	}
	if (tally->bundle_count == STAYS_BUNDLES_MAX) {
		tally->in_others++;
		return 0;
	}
	r = name_place(reader, sources, new.dir, stay, &new.path);
	if (r == 0)
		tally->bundles[tally->bundle_count++] = new;
	return r;
}

/* Keeps the first paths of symlinks. */
static int add_links(struct stay_tally *tally, const struct copies *copies, const struct copy *copy)
{
	const char *path = (const char *)copies->paths.data + copy->symlink_paths;
	int r = 0;

	for (size_t i = 0; r == 0 && i < copy->symlinks && tally->link_count < STAYS_LINKS_MAX;
	     i++, path += strlen(path) + 1) {
		r = bytes_append(&tally->links, path, strlen(path) + 1);
		tally->link_count++;
	}
	return r;
}

static int add_copy(struct stay_tally *tally, const struct report *report,
		    const struct copies *copies, const struct copy *copy)
{
	const struct bundle_stay stay = {copy->place, copy->source, copy_path(copies, copy)};
	bool is_broken = report->breaks_symlinks && copy->fate == FATE_REDUNDANT;
	enum emptied_place place = copy->stays_for_place;
	int r = 0;

	tally->held += copy->stays_for_links;
	tally->led += copy->stays_for_symlinks;
	tally->broken += is_broken ? copy->symlinks : 0;
	if (is_broken || copy->stays_for_symlinks)
		r = add_links(tally, copies, copy);
	if (r == 0 && place != PLACE_LASTS && !copy->another_name && tally->in_places[place]++ == 0)
		r = source_absolute_path(report->sources, copy->source, stay.path,
					 &tally->examples[place]);
	if (r == 0 && copy->stays_for_bundle)
		r = stay_tally_add_bundle(tally, report->reader, report->sources, &stay);
	return r;
}

int stay_tally_add(struct stay_tally *tally, const struct report *report,
		   const struct copies *copies)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < copies->count; i++)
		r = add_copy(tally, report, copies, &copies->list[i]);
	return r;
}

/* ---- explaining ----------------------------------------------------------------------------- */

static void explain_bundle(const struct bundle_count *count)
{
	char number[NUMBER_TEXT_MAX];
	const char *path = quote_path(count->path);
	const char *copies = plural(count->copies, "copy", "copies");

	number_format(number, count->copies);
	if (!count->kind && count->dir)
		log_info("skipped %s %s in %s, which stays whole; --include-bundles includes %s",
			 number, copies, path, plural(count->copies, "it", "them"));
	else if (count->kind && count->dir)
		log_info("skipped %s %s in %s, %s, which stays whole", number, copies, path,
			 count->kind->name);
	else if (count->kind)
		log_info("skipped %s %s of %s that has other files beside it, which stays whole; "
			 "the first is %s",
			 number, copies, count->kind->name, path);
	else
		log_info("skipped %s %s: a program writes it or the kept copy in place, which "
			 "would change both; the first is %s",
			 number, copies, path);
}

static void explain_links(const struct stay_tally *tally)
{
	const char *path = (const char *)tally->links.data;
	char number[NUMBER_TEXT_MAX];

	if (tally->held > 0)
		log_info("skipped %s %s with hard links elsewhere: linking %s would free nothing",
			 number_format(number, tally->held), plural(tally->held, "copy", "copies"),
			 plural(tally->held, "it", "them"));
	if (tally->led > 0)
		log_info("skipped %s %s that symbolic links lead to; --break-symlinks includes %s",
			 number_format(number, tally->led), plural(tally->led, "copy", "copies"),
			 plural(tally->led, "it", "them"));
	if (tally->broken > 0)
		log_warning("%s symbolic %s to these copies would lead nowhere",
			    number_format(number, tally->broken),
			    plural(tally->broken, "link", "links"));
	for (size_t i = 0; i < tally->link_count; i++, path += strlen(path) + 1)
		log_info("symbolic link: %s", quote_path(path));
}

static void explain_places(const struct stay_tally *tally)
{
	char number[NUMBER_TEXT_MAX];

	for (enum emptied_place place = PLACE_SNAPSHOT; place < EMPTIED_PLACES; place++) {
		const struct bytes *example = &tally->examples[place];

		if (tally->in_places[place] > 0)
			log_info("skipped %s %s %s, such as %s; %s no reason to remove another "
				 "copy, and %s",
				 number_format(number, tally->in_places[place]),
				 plural(tally->in_places[place], "copy", "copies"),
				 emptied_place_text(place),
				 quote_bytes((const char *)example->data, example->length),
				 plural(tally->in_places[place], "it is", "they are"),
				 plural(tally->in_places[place], "stays", "stay"));
	}
}

void stay_tally_explain(const struct stay_tally *tally)
{
	char number[NUMBER_TEXT_MAX];

	for (size_t i = 0; i < tally->bundle_count; i++)
		explain_bundle(&tally->bundles[i]);
	if (tally->in_others > 0)
		log_info("skipped %s more %s in other folders that stay whole",
			 number_format(number, tally->in_others),
			 plural(tally->in_others, "copy", "copies"));
	explain_links(tally);
	explain_places(tally);
}
