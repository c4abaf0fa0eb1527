/* SPDX-License-Identifier: MIT */

/* Journals of acts. For any journal that a crash left, intents that cannot be undone stay. Intents
 * that were undone are removed. Later intents are found again, so that no file stays under a
 * temporary name. An input has a byte with a bit for each intent that cannot be undone, the inode
 * number of a copy in 8 bytes, then the journal. */

#include <stdbool.h>

#include "act/journal.h"
#include "base/hash.h"
#include "fuzz.h"
#include "fuzz_folder.h"
#include "twinfs/format.h"

#define HANDLED_MAX 64

/* The open intents, in the order in which they were handled. */
struct handled {
	uint64_t digests[HANDLED_MAX]; /* of all fields of an intent */
	size_t count;
	uint64_t leave; /* bit i is set if intent i stays */
};

static uint64_t digest_of(const struct intent *intent)
{
	const char *const texts[] = {intent->source,
				     intent->path,
				     intent->other,
				     intent->to ? intent->to : "",
				     intent->target ? intent->target : "",
				     intent->info ? intent->info : ""};
	const uint64_t numbers[] = {
		(uint64_t)intent->kind,    intent->inode,      intent->kept_inode,
		(uint64_t)intent->born_ns, intent->root.inode, (uint64_t)intent->root.born_ns,
		intent->root.filesystem,   intent->to != NULL, intent->target != NULL,
		intent->info != NULL,      intent->number,
	};
	uint64_t digest = hash64(numbers, sizeof(numbers), 0);

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		digest = hash64(texts[i], strlen(texts[i]) + 1, digest);
	return digest;
}

static bool stays(const struct handled *handled, size_t place)
{
	return ((handled->leave >> (place % 64)) & 1) != 0;
}

static bool handle(void *context, const struct intent *intent)
{
	struct handled *handled = context;
	size_t place = handled->count++;

	REQUIRE(intent->source && intent->path && intent->other);
	REQUIRE(strncmp(intent->other, OTHER_NAME_PREFIX, strlen(OTHER_NAME_PREFIX)) == 0);
	REQUIRE(strchr(intent->other, '/') == NULL);
	if (place < HANDLED_MAX)
		handled->digests[place] = digest_of(intent);
	return !stays(handled, place);
}

static struct journal *open_journal(void)
{
	struct journal *journal;

	REQUIRE(journal_open(&journal, fuzz_folder) == 0);
	return journal;
}

/* Resolves the journal as another process would. Returns the open intents. */
static struct handled resolve_all(uint64_t leave)
{
	struct handled handled = {.leave = leave};
	struct journal *journal = open_journal();

	REQUIRE(journal_resolve(journal, handle, &handled) == 0);
	journal_close(journal);
	return handled;
}

/* Returns whether the intents now are exactly those that stayed before. */
static bool are_those_that_stayed(const struct handled *before, const struct handled *now)
{
	size_t count = 0;

	for (size_t i = 0; i < before->count; i++) {
		if (!stays(before, i))
			continue;
		if (count >= now->count || now->digests[count++] != before->digests[i])
			return false;
	}
	return count == now->count;
}

/* Simulates an act that is killed right after it synced its intent. Returns the digest of the
 * intent, or 0 if all numbers of intents were used. */
static uint64_t intend(uint64_t inode)
{
	struct handled old = {.leave = UINT64_MAX};
	struct journal *journal = open_journal();
	struct intent intent = {.kind = (enum intent_kind)(inode % (INTENT_SYMLINK + 1)),
				.source = "/source",
				.path = "a/\xff",
				.other = OTHER_NAME_PREFIX "0123456789abcdef",
				.to = inode & 2 ? "/to" : NULL,
				.target = inode & 4 ? "../a \xff" : NULL,
				.info = inode & 8 ? "/info/\xff" : NULL,
				.inode = inode,
				.kept_inode = ~inode,
				.born_ns = (int64_t)inode,
				.root = {~inode, -1, inode << 32}};
	int r;

	REQUIRE(journal_resolve(journal, handle, &old) == 0);
	r = journal_intend(journal, &intent);
	REQUIRE(r == 0 || r == -EOVERFLOW);
	REQUIRE(journal_sync(journal) == 0);
	journal_close(journal);
	return r == 0 ? digest_of(&intent) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	uint64_t leave = take_number(&input, 1) * UINT64_C(0x0101010101010101);
	uint64_t inode = take_number(&input, 8);
	struct handled first, second, third;
	uint64_t intended;

	fuzz_folder_make(TWINFS_INDEX_ACTS);
	fuzz_folder_put(input.at, input.left);
	first = resolve_all(leave);
	if (first.count > HANDLED_MAX)
		return 0;
	second = resolve_all(UINT64_MAX);
	REQUIRE(are_those_that_stayed(&first, &second));
	REQUIRE(journal_has_intents(fuzz_folder) || second.count == 0);

	intended = intend(inode);
	third = resolve_all(0);
	REQUIRE(third.count == second.count + (intended != 0));
	REQUIRE(intended == 0 || third.digests[0] == intended);
	REQUIRE(!journal_has_intents(fuzz_folder));
	REQUIRE(resolve_all(0).count == 0);
	return 0;
}
