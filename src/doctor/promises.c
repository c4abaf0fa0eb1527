/* SPDX-License-Identifier: MIT */
#include "doctor/promises.h"

#include <stdio.h>
#include <string.h>

#include "base/filesystem_kind.h"
#include "base/filesystem_table.h"

/* Room for the words of all promises. */
#define PROMISES_TEXT_MAX 256

static const struct promise_word {
	enum filesystem_promise promise;
	const char *word;
} words[] = {
	{PROMISE_CTIME, "ctime"},
	{PROMISE_STORES, "times of mapped stores"},
	{PROMISE_FINE_TIMES, "fine times"},
	{PROMISE_EVENTS, "all events"},
	{PROMISE_LEASES, "leases"},
	{PROMISE_NOREPLACE, "RENAME_NOREPLACE"},
	{PROMISE_EXCHANGE, "RENAME_EXCHANGE"},
	{PROMISE_FOLDER_SYNC, "fsync of folders"},
	{PROMISE_BIRTH_TIMES, "birth times"},
	{PROMISE_INODES, "lasting inode numbers"},
	{PROMISE_EXTENTS, "shared blocks"},
	{PROMISE_HOLES, "holes"},
	{PROMISE_BLOCKS, "counted blocks"},
	{PROMISE_LINKS, "hard links"},
};

/* Writes the words of a set of promises, or "nothing". Returns text. */
static const char *name_promises(char text[static PROMISES_TEXT_MAX], unsigned int promises)
{
	size_t length = 0;

	(void)snprintf(text, PROMISES_TEXT_MAX, "nothing");
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!(promises & (unsigned int)words[i].promise))
			continue;
		length += (size_t)snprintf(text + length, PROMISES_TEXT_MAX - length, "%s%s",
					   length > 0 ? ", " : "", words[i].word);
		if (length >= PROMISES_TEXT_MAX)
			return text;
	}
	return text;
}

/* Adds the row. observed: promises that the census found kept */
static void add_row(struct findings *findings, const struct filesystem_facts *facts,
		    unsigned int observed)
{
	char kept[PROMISES_TEXT_MAX], lacked[PROMISES_TEXT_MAX], seen[PROMISES_TEXT_MAX],
		unknown[PROMISES_TEXT_MAX];

	findings_add(findings, VERDICT_OK, "promises",
		     "%s%s: keeps %s; lacks %s; observed: %s; unknown, so not relied upon: %s",
		     filesystem_facts_are_known(facts) ? "row " : "in no row of the table",
		     filesystem_facts_are_known(facts) ? facts->name : "",
		     name_promises(kept, facts->keeps), name_promises(lacked, facts->lacks),
		     name_promises(seen, observed),
		     name_promises(unknown, ~(facts->keeps | facts->lacks | observed)));
}

/* Adds which acts leave the copies alone here. */
static void add_acts(struct findings *findings, const struct filesystem_facts *facts)
{
	enum filesystem_support links = filesystem_links(facts), moves = filesystem_moves(facts);
	const char *acts = moves == SUPPORT_YES ? "'link'" : "'link', 'move' and 'remove --trash'";

	if (links == SUPPORT_YES || facts->traits & TRAIT_IMAGE)
		return;
	if (links == SUPPORT_UNKNOWN) {
		findings_add(findings, VERDICT_OK, "acts",
			     "%s need hard links here, and skip the copies if there are none",
			     acts);
		return;
	}
	findings_add(findings, VERDICT_NOTE, "acts", "without hard links, %s skip the copies here",
		     acts);
	findings_remedy(findings, "use 'remove' or 'link --symbolic' here");
}

void doctor_examine_promises(struct findings *findings, int fd, const struct mount_entry *mount,
			     const struct census *census)
{
	const struct filesystem_facts *facts =
		filesystem_facts_of(filesystem_type_at(fd), mount ? mount->type : NULL);
	bool is_known = (facts->keeps | facts->lacks) & PROMISE_CTIME;
	bool is_seen = !is_known && census->own_ctimes > 0;

	add_row(findings, facts, is_seen ? PROMISE_CTIME : 0);
	add_acts(findings, facts);
	if (facts->keeps & PROMISE_CTIME || is_seen)
		return;
	findings_add(findings, VERDICT_NOTE, "ctime",
		     "%s: a write leaves no trace if the mtime is set back, so each scan reads "
		     "the contents again, and each open in the view reads the file",
		     is_known ? "the ctime of a file is its mtime"
			      : "no file has a ctime that differs from its mtime");
	findings_remedy(findings, "if that takes too long, run twinfs where the disk is, or keep "
				  "the files on a file system that stores the ctime");
}
