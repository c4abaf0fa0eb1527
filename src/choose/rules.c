/* SPDX-License-Identifier: MIT */
#include "choose/rules.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/sort.h"
#include "index/kept.h"
#include "index/managed.h"
#include "index/operands.h"
#include "index/paths.h"
#include "index/source.h"

/* ---- rules ---------------------------------------------------------------------------------- */

/* One inode of the group. */
struct keep_candidate {
	struct copy *names; /* names of the inode, in the list of copies */
	size_t count;
	struct kept_rank rank; /* that of its preferred name */
	bool in_places; /* its names are in several places */
	bool bundled; /* any of its names is in a bundle or store */
	bool stored; /* any of its names is in a store */
	bool held; /* it has hard links that are not among its names */
	bool led; /* symlinks lead to it */
	const char *stays; /* why the inode stays even if it is not kept; NULL: no reason found */
	const char *lost; /* why the inode is not kept; NULL: it is still eligible */
};

/* The decision about one group. */
struct decision {
	const struct rules *rules;
	const struct keep_rules *keep; /* of the command, or else those of the index */
	const struct keep_rules *of_index;
	const struct sources *sources;
	struct copies *copies;
	struct keep_candidate *list;
	size_t count;
	size_t left; /* number of candidates that are still eligible */
	const char *won; /* why eligible candidates are preferred; NULL: no rule has decided */
};

/* Reasons that a rule gives: for the preferred candidates, and for all other candidates. */
struct rule_words {
	const char *won;
	const char *lost;
};

static void decision_free(struct decision *decision)
{
	free(decision->list);
}

/* ---- copies that must stay ------------------------------------------------------------------ */

/* Returns whether the name is at this path or below it. */
static bool is_at(const struct decision *decision, const struct copy *name, const char *place)
{
	const char *source = decision->sources->list[name->source].path;
	const char *rest = path_below(place, source);

	if (path_below(source, place))
		return true;
	return rest && path_below(copy_path(decision->copies, name), rest);
}

/* Returns whether the name is a folder above this path. */
static bool is_above(const struct decision *decision, const struct copy *name, const char *place)
{
	const char *rest = path_below(place, decision->sources->list[name->source].path);

	if (!decision->copies->folders || !rest)
		return false;
	return copy_is_root(decision->copies, name) ||
	       path_below(rest, copy_path(decision->copies, name));
}

typedef bool meets_fn(const struct decision *decision, const struct copy *name, const char *place);

static bool meets_any(const struct decision *decision, const struct copy *name, char *const *places,
		      meets_fn *meets)
{
	for (; places && *places; places++) {
		if (meets(decision, name, *places))
			return true;
	}
	return false;
}

static const char *why_name_stays(const struct decision *decision, const struct copy *name)
{
	const struct rules *rules = decision->rules;

	if (name->must_stay)
		return name->must_stay;
	if (meets_any(decision, name, rules->protect, is_at))
		return "protected";
	if (meets_any(decision, name, rules->protect, is_above))
		return "contains what is protected";
	if (rules->only && rules->only[0] && !meets_any(decision, name, rules->only, is_at))
		return "outside of --only";
	return NULL;
}

static struct kept_rank rank_of(const struct decision *decision, const struct copy *name)
{
	const char *source = decision->sources->list[name->source].path;
	const char *path = copy_path(decision->copies, name);
	const struct location location = {name->source, name->emptied};
	struct kept_rank rank = {.first_seen = name->first_seen,
				 .links = name->links,
				 .mtime = name->mtime,
				 .birth = name->birth};

	kept_rank_set_name(&rank, &location, source, path, strlen(path));
	if (decision->copies->folders)
		rank.place =
			emptied_first(rank.place, emptied_place_in(source, path, strlen(path)));
	if (copy_is_root(decision->copies, name))
		rank.absolute_length = strlen(source);
	return rank;
}

/* Sets the ranks to those of the names that the rules prefer. */
static void set_ranks(struct decision *decision, const struct keep_rules *rules)
{
	for (size_t i = 0; i < decision->count; i++) {
		struct keep_candidate *candidate = &decision->list[i];

		candidate->rank = rank_of(decision, &candidate->names[0]);
		for (size_t j = 1; j < candidate->count; j++) {
			struct kept_rank rank = rank_of(decision, &candidate->names[j]);

			candidate->in_places |= rank.place != candidate->rank.place;
			if (kept_order(rules, &rank, &candidate->rank, NULL) < 0)
				candidate->rank = rank;
		}
	}
}

/* Returns whether the name is in a bundle or store that stays whole. */
static bool is_bundled(const struct rules *rules, const struct copy *name)
{
	if (name->place.kind && !rules->shares_blocks)
		return true;
	return (name->place.kind || name->place.bundle != 0) && !rules->include_bundles;
}

/* Makes the list of inodes. The names of an inode are adjacent. */
static int gather(struct decision *decision)
{
	struct keep_candidate *candidate = NULL;

	decision->list = calloc(decision->copies->count + 1, sizeof(*decision->list));
	if (!decision->list)
		return -ENOMEM;
	for (size_t i = 0; i < decision->copies->count; i++) {
		struct copy *name = &decision->copies->list[i];

		if (!candidate || candidate->names->file != name->file) {
			candidate = &decision->list[decision->count++];
			candidate->names = name;
		}
		candidate->count++;
		candidate->bundled |= is_bundled(decision->rules, name);
		candidate->stored |= !!name->place.kind;
		name->why = why_name_stays(decision, name);
		if (!candidate->stays)
			candidate->stays = name->why;
	}
	for (size_t i = 0; i < decision->count; i++) {
		size_t first = (size_t)(decision->list[i].names - decision->copies->list);

		decision->list[i].held = copies_are_held_outside(decision->copies, first,
								 first + decision->list[i].count);
		decision->list[i].led = decision->list[i].names->symlinks > 0;
	}
	decision->left = decision->count;
	set_ranks(decision, decision->keep);
	return 0;
}

static void drop(struct decision *decision, struct keep_candidate *candidate,
		 const struct rule_words *words)
{
	candidate->lost = words->lost;
	decision->won = words->won;
	decision->left--;
}

static const struct rule_words words_of_places[EMPTIED_PLACES] = {
	[PLACE_SNAPSHOT] = {"not in a snapshot", "in a snapshot"},
	[PLACE_CACHE] = {"not in a cache", "in a cache"},
	[PLACE_TRASH] = {"not in the trash", "in the trash"},
	[PLACE_MEMORY] = {"not in memory", "in memory"},
};

static void spare_for_place(struct keep_candidate *candidate, const char *why)
{
	candidate->stays = why;
	for (size_t i = 0; i < candidate->count; i++)
		candidate->names[i].stays_for_place = candidate->rank.place;
}

/* Excludes copies in places that something else empties. If all copies are in such places, excludes
 * all but those in the place that lasts longest. The excluded copies in a trash or in a snapshot
 * stay, as their own programs delete them. If the kept copy is in such a place, too, all excluded
 * copies stay, because each of them can be the last one. So does one with names in several of these
 * places. Sharing of blocks removes nothing, so it spares none. */
static void refuse_emptied(struct decision *decision)
{
	enum emptied_place best = PLACE_MEMORY;

	decision->copies->share_in_places = false;
	for (size_t i = 0; i < decision->count; i++) {
		if (decision->list[i].rank.place < best)
			best = decision->list[i].rank.place;
	}
	for (size_t i = 0; i < decision->count; i++) {
		struct keep_candidate *candidate = &decision->list[i];
		enum emptied_place place = candidate->rank.place;

		if (place > best)
			drop(decision, candidate, &words_of_places[place]);
		if (candidate->stays || !place_stays_of(best, place, candidate->in_places))
			continue;
		if (decision->rules->shares_blocks)
			decision->copies->share_in_places = true;
		else
			spare_for_place(candidate, words_of_places[place].lost);
	}
}

/* ---- the keep rules ------------------------------------------------------------------------- */

/* Returns the lowest rank of the operands that have a name of the inode. */
static uint32_t best_operand(const struct decision *decision,
			     const struct keep_candidate *candidate, bool by_number)
{
	uint32_t best = UINT32_MAX;

	for (size_t i = 0; i < candidate->count; i++) {
		const char *path = copy_path(decision->copies, &candidate->names[i]);
		uint32_t rank = operands_rank(decision->sources->operands, path, by_number);

		if (rank < best)
			best = rank;
	}
	return best;
}

static const struct rule_words words_of_rules[] = {
	[KEEP_SOURCE_ORDER] = {"first source", "later source"},
	[KEEP_FIRST_SEEN] = {"known longest", "found later"},
	[KEEP_OLDEST] = {"oldest", "newer"},
	[KEEP_NEWEST] = {"newest", "older"},
	[KEEP_SHORTEST_PATH] = {"shortest path", "longer path"},
	[KEEP_LONGEST_PATH] = {"longest path", "shorter path"},
	[KEEP_PATH] = {"path matches", "path does not match"},
	[KEEP_MOST_LINKED] = {"most hard links", "fewer hard links"},
};

/* Compares two inodes. A negative number: the first one is preferred. */
typedef int compare_fn(const struct decision *decision, size_t rule, const struct keep_candidate *a,
		       const struct keep_candidate *b);

/* Drops all candidates but the preferred ones. */
static void keep_preferred(struct decision *decision, compare_fn *compare, size_t rule,
			   const struct rule_words *words)
{
	const struct keep_candidate *best = NULL;

	for (size_t i = 0; i < decision->count; i++) {
		const struct keep_candidate *candidate = &decision->list[i];

		if (!candidate->lost && (!best || compare(decision, rule, candidate, best) < 0))
			best = candidate;
	}
	for (size_t i = 0; i < decision->count; i++) {
		struct keep_candidate *candidate = &decision->list[i];

		if (!candidate->lost && compare(decision, rule, best, candidate) < 0)
			drop(decision, candidate, words);
	}
}

static int by_rule(const struct decision *decision, size_t rule, const struct keep_candidate *a,
		   const struct keep_candidate *b)
{
	const struct keep_rules *rules = decision->keep;

	if (rules->list[rule].by == KEEP_SOURCE_ORDER && decision->sources->operands)
		return numbers_compare(best_operand(decision, a, true),
				       best_operand(decision, b, true));
	return kept_order_by_rule(rules, rule, &a->rank, &b->rank);
}

static int by_operand(const struct decision *decision, size_t rule, const struct keep_candidate *a,
		      const struct keep_candidate *b)
{
	(void)rule;
	return numbers_compare(best_operand(decision, a, false), best_operand(decision, b, false));
}

/* Prefers what the user named first, as the view prefers the first source. */
static void prefer_first_operands(struct decision *decision)
{
	static const struct rule_words words = {"named first", "named later"};
	const struct operands *operands = decision->sources->operands;

	if (operands && operands->units > 1 && decision->left > 1)
		keep_preferred(decision, by_operand, 0, &words);
}

/* What makes a copy preferred: the first two above all rules, the others if no rule decides. */
enum trait {
	/* The program of a store can change or delete each file in it at any time. */
	TRAIT_OUTSIDE_STORES,
	TRAIT_STAYS, /* it must stay */
	/* A program manages the files in a bundle, and these files are seldom originals. For
	 * example, .svn has a copy of each working file. */
	TRAIT_OUTSIDE_BUNDLES,
	TRAIT_HELD, /* its removal would free nothing */
	TRAIT_LED, /* without it, a symlink would lead nowhere */
};

static bool has_trait(const struct keep_candidate *candidate, enum trait trait)
{
	const bool has[] = {
		[TRAIT_OUTSIDE_STORES] = !candidate->stored,
		[TRAIT_STAYS] = candidate->stays,
		[TRAIT_OUTSIDE_BUNDLES] = !candidate->bundled,
		[TRAIT_HELD] = candidate->held,
		[TRAIT_LED] = candidate->led,
	};

	return has[trait];
}

static int by_trait(const struct decision *decision, size_t trait, const struct keep_candidate *a,
		    const struct keep_candidate *b)
{
	(void)decision;
	return (int)has_trait(b, (enum trait)trait) - (int)has_trait(a, (enum trait)trait);
}

static void prefer(struct decision *decision, enum trait trait)
{
	static const struct rule_words words[] = {
		[TRAIT_OUTSIDE_STORES] = {"not in a store", "in a store"},
		[TRAIT_STAYS] = {NULL /* its own reason */, "another copy stays anyway"},
		[TRAIT_OUTSIDE_BUNDLES] = {"not in a bundle", "in a bundle"},
		[TRAIT_HELD] = {"has hard links elsewhere", "has no hard links elsewhere"},
		[TRAIT_LED] = {"a symbolic link leads to it", "no symbolic link leads to it"},
	};

	keep_preferred(decision, by_trait, trait, &words[trait]);
}

/* ---- the choice of the view ----------------------------------------------------------------- */

/* Sets *reason to why the view prefers the kept inode. Returns false if the view's order prefers
 * the other one, so that the kept inode was chosen earlier. */
static bool is_preferred(const struct decision *decision, const struct keep_candidate *kept,
			 const struct keep_candidate *other, struct kept_reason *reason)
{
	return kept_order(decision->of_index, &kept->rank, &other->rank, reason) < 0;
}

/* Returns the inode that the view keeps, if it is eligible. If not, returns the inode that the view
 * would choose. At least one candidate must be eligible. */
static struct keep_candidate *choose(const struct decision *decision, uint64_t kept)
{
	struct keep_candidate *best = NULL;

	for (size_t i = 0; i < decision->count; i++) {
		struct keep_candidate *candidate = &decision->list[i];

		if (candidate->lost)
			continue;
		if (candidate->names->file == kept)
			return candidate;
		if (!best || !is_preferred(decision, best, candidate, NULL))
			best = candidate;
	}
	return best;
}

static const struct rule_words *words_of_reason(const struct decision *decision,
						const struct kept_reason *reason)
{
	static const struct rule_words words[] = {
		[KEPT_BY_SOURCE] = {"first source", "later source"},
		[KEPT_BY_FIRST_SEEN] = {"known longest", "found later"},
		[KEPT_BY_MTIME] = {"oldest", "newer"},
		[KEPT_BY_COPY_MARKS] = {"not named like a copy", "named like a copy"},
		[KEPT_BY_BIRTH] = {"created first", "created later"},
		[KEPT_BY_DEPTH] = {"in the fewest folders", "in more folders"},
		[KEPT_BY_PATH] = {"first path", "later path"},
	};

	if (reason->by == KEPT_BY_RULE)
		return &words_of_rules[decision->of_index->list[reason->rule].by];
	/* refuse_emptied() left candidates in one place only */
	return &words[reason->by];
}

/* Sets the reasons of the view's choice. The reason of the kept inode is the last rule that was
 * needed to exclude another inode. */
static void explain_choice(struct decision *decision, const struct keep_candidate *kept)
{
	static const struct rule_words earlier = {"chosen earlier", "another was chosen earlier"};
	struct kept_reason needed = {0}, reason;
	bool chosen_earlier = false;

	if (decision->left < 2)
		return;
	for (size_t i = 0; i < decision->count; i++) {
		struct keep_candidate *candidate = &decision->list[i];

		if (candidate == kept || candidate->lost)
			continue;
		if (!is_preferred(decision, kept, candidate, &reason)) {
			chosen_earlier = true;
			drop(decision, candidate, &earlier);
			continue;
		}
		if (reason.by != needed.by ? reason.by > needed.by : reason.rule > needed.rule)
			needed = reason;
		drop(decision, candidate, words_of_reason(decision, &reason));
	}
	decision->won = chosen_earlier ? earlier.won : words_of_reason(decision, &needed)->won;
}

/* ---- fates ---------------------------------------------------------------------------------- */

/* Marks the sources in which the kept inode has a name. */
static bool *mark_sources(const struct decision *decision, const struct keep_candidate *kept)
{
	bool *marked = calloc(decision->sources->count + 1, sizeof(*marked));

	for (size_t i = 0; marked && i < kept->count; i++)
		marked[kept->names[i].source] = true;
	return marked;
}

/* Spares other inodes that have a name in a source of the kept inode. */
static int spare_same_source(struct decision *decision, const struct keep_candidate *kept)
{
	AUTO_FREE bool *marked = mark_sources(decision, kept);

	if (!marked)
		return -ENOMEM;
	for (size_t i = 0; i < decision->count; i++) {
		struct keep_candidate *candidate = &decision->list[i];

		for (size_t j = 0; candidate != kept && !candidate->stays && j < candidate->count;
		     j++) {
			if (marked[candidate->names[j].source])
				candidate->stays = "in the source of the kept copy";
		}
	}
	return 0;
}

static void set_fate(struct keep_candidate *candidate, enum fate fate, const char *why)
{
	for (size_t i = 0; i < candidate->count; i++) {
		candidate->names[i].fate = fate;
		candidate->names[i].why = why;
	}
}

/* Spares an inode. Names that must stay have a reason already. The other names stay because of
 * these names. */
static void spare(struct keep_candidate *candidate)
{
	bool by_name = false;

	for (size_t i = 0; i < candidate->count; i++)
		by_name = by_name || candidate->names[i].why;
	for (size_t i = 0; i < candidate->count; i++) {
		struct copy *name = &candidate->names[i];

		name->fate = FATE_SPARED;
		if (!name->why)
			name->why = by_name ? "hard link to one that stays" : candidate->stays;
	}
}

static void spare_for_bundle(const struct decision *decision, struct keep_candidate *candidate)
{
	candidate->stays = "in a bundle, which stays whole";
	for (size_t i = 0; i < candidate->count; i++) {
		struct copy *name = &candidate->names[i];

		if (!is_bundled(decision->rules, name))
			continue;
		name->why = name->place.kind ? name->place.kind->why : candidate->stays;
		name->stays_for_bundle = true;
	}
	spare(candidate);
}

/* Spares an inode that a program writes in place, or whose kept inode is one. */
static void spare_from_links(struct keep_candidate *candidate)
{
	candidate->stays = "a program writes it or the kept copy in place";
	for (size_t i = 0; i < candidate->count; i++) {
		candidate->names[i].place = (struct bundle_place){.bundle = 0};
		candidate->names[i].stays_for_bundle = true;
	}
	spare(candidate);
}

static void set_fates(struct decision *decision, struct keep_candidate *kept)
{
	const char *why = decision->won;
	bool unlinked = decision->rules->links && decision->copies->written_in_place;

	if (!why)
		why = kept->stays ? kept->stays : "the only copy";
	decision->copies->kept_must_stay = kept->stays || kept->bundled;
	decision->copies->redundant = 0;
	for (size_t i = 0; i < decision->count; i++) {
		struct keep_candidate *candidate = &decision->list[i];

		/* all others are in stores or in places that something else empties */
		if (candidate != kept && !candidate->stays &&
		    candidate->rank.place != PLACE_LASTS && kept->stored &&
		    !decision->rules->shares_blocks)
			spare_for_place(candidate, words_of_places[candidate->rank.place].lost);
		if (candidate == kept) {
			set_fate(candidate, FATE_KEPT, why);
			candidate->names->stays_for_place = PLACE_LASTS;
		} else if (candidate->stays) {
			spare(candidate);
		} else if (candidate->bundled) {
			spare_for_bundle(decision, candidate);
		} else if (unlinked) {
			spare_from_links(candidate);
		} else if (candidate->held && decision->rules->links) {
			candidate->stays = "has hard links elsewhere, so a link frees nothing";
			candidate->names->stays_for_links = true;
			spare(candidate);
		} else if (candidate->led && !decision->rules->break_symlinks) {
			candidate->stays = "a symbolic link leads to it";
			candidate->names->stays_for_symlinks = true;
			spare(candidate);
		} else {
			set_fate(candidate, FATE_REDUNDANT, candidate->lost);
			decision->copies->redundant++;
		}
	}
}

int rules_apply(const struct rules *rules, const struct sources *sources,
		const struct group_record *group, struct copies *copies)
{
	static const struct keep_rules none;
	const struct keep_rules *of_index = rules->of_index ? rules->of_index : &none;
	CLEANUP(decision_free)
	struct decision decision = {
		.rules = rules,
		.keep = rules->keep && rules->keep->count > 0 ? rules->keep : of_index,
		.of_index = of_index,
		.sources = sources,
		.copies = copies,
	};
	struct keep_candidate *kept;
	int r;

	r = gather(&decision);
	if (r < 0 || decision.count == 0)
		return r;
	refuse_emptied(&decision);
	if (!rules->shares_blocks)
		prefer(&decision, TRAIT_OUTSIDE_STORES);
	prefer(&decision, TRAIT_STAYS);
	for (size_t i = 0; decision.left > 1 && i < decision.keep->count; i++)
		keep_preferred(&decision, by_rule, i, &words_of_rules[decision.keep->list[i].by]);
	prefer(&decision, TRAIT_OUTSIDE_BUNDLES);
	prefer_first_operands(&decision);
	prefer(&decision, TRAIT_HELD);
	prefer(&decision, TRAIT_LED);
	if (decision.keep != decision.of_index)
		set_ranks(&decision, decision.of_index);
	kept = choose(&decision, group->kept);
	explain_choice(&decision, kept);
	if (rules->between_sources)
		r = spare_same_source(&decision, kept);
	if (r < 0)
		return r;
	set_fates(&decision, kept);
	if (copies->list[0].fate != FATE_KEPT)
		copies_sort(copies);
	return 0;
}

/* ---- paths that have no effect -------------------------------------------------------------- */

/* Paths of rules that have no effect. */

/* Sets *does to whether the path has an effect: it is the source, is above the source, or is
 * indexed in the source. */
static int concerns(const char *path, const struct source *source, struct catalog_reader *reader,
		    bool *does)
{
	const char *rest = path_below(path, source->path);
	struct entry_record entry;
	int r;

	*does = path_below(source->path, path);
	if (*does || !rest)
		return 0;
	r = catalog_find_path(reader, source->root, rest, &entry);
	*does = r == 0 && (entry.kind == ENTRY_DIR || entry.kind == ENTRY_FILE);
	return r == -ENOENT ? 0 : r;
}

static int find_unmatched(char *const *paths, struct catalog_reader *reader,
			  const struct sources *sources, const char **unmatched)
{
	for (; paths && *paths; paths++) {
		bool does = false;

		for (size_t i = 0; !does && i < sources->count; i++) {
			int r = concerns(*paths, &sources->list[i], reader, &does);

			if (r < 0)
				return r;
		}
		if (!does) {
			*unmatched = *paths;
			return RULES_UNMATCHED;
		}
	}
	return 0;
}

int rules_find_unmatched(const struct rules *rules, struct catalog_reader *reader,
			 const struct sources *sources, const char **unmatched)
{
	int r = find_unmatched(rules->protect, reader, sources, unmatched);

	return r != 0 ? r : find_unmatched(rules->only, reader, sources, unmatched);
}
