/* SPDX-License-Identifier: MIT */
#include "report/place_tally.h"

#include "base/log.h"
#include "base/numbers.h"
#include "report/copies.h"
#include "source/source.h"

void place_tally_free(struct place_tally *tally)
{
	for (size_t i = 0; i < EMPTIED_PLACES; i++)
		bytes_free(&tally->examples[i]);
	*tally = (struct place_tally){0};
}

int place_tally_add(struct place_tally *tally, const struct copies *copies,
		    const struct sources *sources)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < copies->count; i++) {
		const struct copy *copy = &copies->list[i];
		enum emptied_place place = copy->stays_for_place;

		if (place == PLACE_LASTS || copy->another_name)
			continue;
		if (tally->copies[place]++ == 0)
			r = source_absolute_path(sources, copy->source, copy_path(copies, copy),
						 &tally->examples[place]);
	}
	return r;
}

void place_tally_explain(const struct place_tally *tally)
{
	char number[NUMBER_TEXT_MAX];

	for (enum emptied_place place = PLACE_SNAPSHOT; place < EMPTIED_PLACES; place++) {
		const struct bytes *example = &tally->examples[place];

		if (tally->copies[place] > 0)
			log_info("skipped %s %s %s, such as %s; %s no reason to remove another "
				 "copy, and %s",
				 number_format(number, tally->copies[place]),
				 plural(tally->copies[place], "copy", "copies"),
				 emptied_place_text(place),
				 quote_bytes((const char *)example->data, example->length),
				 plural(tally->copies[place], "it is", "they are"),
				 plural(tally->copies[place], "stays", "stay"));
	}
}
