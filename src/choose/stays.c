/* SPDX-License-Identifier: MIT */
#include "choose/stays.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/numbers.h"
#include "choose/copies.h"
#include "choose/report.h"
#include "index/managed.h"
#include "index/source.h"

/* ---- refusals ------------------------------------------------------------------------------- */

/* Returns whether many copies, such as those on the same file system, have the same cause. */
static bool is_of_many(const struct act_result *result)
{
	switch ((int)result->outcome) {
	case ACT_OTHER_FILE_SYSTEM:
	case ACT_CANNOT_SHARE:
	case ACT_NO_LEASE:
	case ACT_MANAGED:
	case ACT_KEPT_MANAGED:
	case ACT_WRITTEN_IN_PLACE:
	case ACT_NO_LINKS:
	case ACT_NO_TRASH:
	case ACT_NOT_ATTESTED:
	case ACT_PROMISED:
	case ACT_OTHER_HOST:
	case ACT_ATTESTED_ITSELF:
		return true;
	case ACT_FAILED:
		return result->error == ENOSPC || result->error == EDQUOT ||
		       result->error == EROFS || result->error == EMLINK ||
		       result->error == EOVERFLOW;
	default:
		return false;
	}
}

static const char *failure_text(int error)
{
	if (error == EMLINK)
		return "the kept file has as many hard links as its file system allows";
	if (error == EOVERFLOW) /* see file_copy() */
		return "the file system of the destination cannot store the time of the file";
	return error_text(error);
}

/* Logs a cause for count copies, of which the first has this path. */
static void explain(const struct refusals *refusals, const struct act_result *result,
		    const char *path, uint64_t count)
{
	CLEANUP_BYTES struct bytes text = {0};
	char number[NUMBER_TEXT_MAX];
	const char *copies = quote_path(path);

	if (count > 1 && bytes_format(&text, "%s copies, of which the first is %s",
				      number_format(number, count), copies) == 0)
		copies = bytes_text(&text);
	if (!copies)
		return;
	if (result->outcome == ACT_FAILED && result->inside)
		log_warning("cannot %s %s: %s in it: %s", refusals->verb, copies,
			    quote_path(result->inside), failure_text(result->error));
	else if (result->outcome == ACT_FAILED)
		log_warning("cannot %s %s: %s", refusals->verb, copies,
			    failure_text(result->error));
	else if (result->outcome == ACT_LEFTOVER)
		log_warning("cannot rename %s back; the file is now %s in the same folder", copies,
			    quote_path(result->leftover));
	else if (result->inside)
		log_warning("skipped %s: %s in it: %s", copies, quote_path(result->inside),
			    act_outcome_text(result->outcome));
	else
		log_warning("skipped %s: %s", copies, act_outcome_text(result->outcome));
}

/* Returns the counted cause of the result, or NULL. */
static struct refusal *find(struct refusals *refusals, const struct act_result *result)
{
	for (size_t i = 0; i < refusals->counted_count; i++) {
		struct refusal *refusal = &refusals->counted[i];

		if (refusal->outcome == result->outcome &&
		    (result->outcome != ACT_FAILED || refusal->error == result->error))
			return refusal;
	}
	return NULL;
}

void refusals_add(struct refusals *refusals, const struct act_file *copy,
		  const struct act_result *result)
{
	struct refusal *refusal = find(refusals, result);
	CLEANUP_BYTES struct bytes path = {0};

	refusals->count++;
	if (refusal) {
		refusal->count++;
		return;
	}
	if (source_absolute_path(refusals->sources, copy->source, copy->path, &path) < 0 ||
	    !bytes_text(&path))
		return;
	if (!is_of_many(result)) {
		explain(refusals, result, bytes_text(&path), 1);
		return;
	}
	refusals->counted[refusals->counted_count++] =
		(struct refusal){result->outcome, result->error, 1, strdup(bytes_text(&path))};
}

bool refusals_concern_all(const struct refusals *refusals, const struct act_result *result)
{
	const struct sources *sources = refusals->sources;
	struct stat first, other;

	if (result->outcome != ACT_CANNOT_SHARE || sources->cross_mounts)
		return false;
	for (size_t i = 0; i < sources->count; i++) {
		if (fstat(sources->list[i].fd, i == 0 ? &first : &other) < 0 ||
		    (i > 0 && first.st_dev != other.st_dev))
			return false;
	}
	return true;
}

void refusals_add_rest(struct refusals *refusals, const struct act_result *result, uint64_t count)
{
	struct refusal *refusal = find(refusals, result);

	refusals->count += count;
	if (refusal)
		refusal->count += count;
}

void refusals_end(struct refusals *refusals)
{
	for (size_t i = 0; i < refusals->counted_count; i++) {
		struct refusal *refusal = &refusals->counted[i];
		const struct act_result result = {.outcome = refusal->outcome,
						  .error = refusal->error};

		if (refusal->first)
			explain(refusals, &result, refusal->first, refusal->count);
		free(refusal->first);
	}
	refusals->counted_count = 0;
}

/* ---- stays ---------------------------------------------------------------------------------- */

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
	CLEANUP_BYTES struct bytes absolute = {0};
	int r = dir ? source_dir_path(sources, reader, dir, &absolute)
		    : source_absolute_path(sources, stay->source, stay->path, &absolute);

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
