/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/stop.h"
#include "index/change.h"
#include "index/query.h"
#include "index/scan.h"
#include "scan/ingest.h"
#include "scan/reading.h"

/* ---- events of names ------------------------------------------------------------------------ */

static const struct {
	uint32_t event;
	uint32_t effects;
} table[] = {
	{EVENT_NAME, 0},
	{EVENT_WRITTEN, EFFECT_HIDES | EFFECT_NEW_BYTES | EFFECT_CHANGES_FILE | EFFECT_MAY_BE_LINK},
	{EVENT_CLOSED, 0},
	{EVENT_ATTRIBUTES, EFFECT_NEW_BYTES | EFFECT_CHANGES_FILE | EFFECT_MAY_BE_LINK},
	{EVENT_MOVED_IN, EFFECT_HIDES | EFFECT_NEW_BYTES | EFFECT_ARRIVES | EFFECT_MAY_BE_LINK},
	{EVENT_MOVED_HERE, EFFECT_ARRIVES | EFFECT_MAY_BE_LINK},
	{EVENT_CREATED, EFFECT_HIDES | EFFECT_ARRIVES | EFFECT_MAY_BE_LINK},
	{EVENT_REMOVED, EFFECT_CHANGES_FILE},
	{EVENT_REPLACED, EFFECT_MAY_BE_LINK | EFFECT_UNTRUSTS},
	{EVENT_NEW_DIR, EFFECT_UNTRUSTS},
	{EVENT_MOVED_AWAY, 0},
	{EVENT_LISTING, 0},
	{EVENT_TREE, 0},
	/* both events: the written file possibly had another name meanwhile */
	{EVENT_NAME | EVENT_WRITTEN, EFFECT_UNTRUSTS},
	{EVENT_NAME | EVENT_ATTRIBUTES, EFFECT_UNTRUSTS},
};

uint32_t name_event_effects(uint32_t events)
{
	uint32_t effects = 0;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if ((events & table[i].event) == table[i].event)
			effects |= table[i].effects;
	}
	return effects;
}

bool name_events_may_hide_link(uint32_t events, enum rename_trust trust, bool known, bool exists)
{
	/* a trusted rename is found at the name that it has now */
	bool arrived = trust == RENAME_TRUSTED ? events & EVENT_CREATED : events & EVENTS_ARRIVED;
	bool touched = !known && name_event_effects(events) & EFFECT_CHANGES_FILE;

	return events & EVENT_REPLACED || (!exists && (arrived || touched));
}

/* ---- one file ------------------------------------------------------------------------------- */

#define BLOCK_BYTES ((size_t)128 << 10)

/* Maximum number of members of a group that are examined. Examining a thousand members takes a few
 * milliseconds. */
#define MEMBERS_MAX 10000

/* A file with its record in the index and its present attributes. */
struct checked {
	struct file_record file;
	struct attributes now;
	bool ctime_changed;
	struct reading reading;
};

struct file_recheck {
	const struct sources *sources;
	struct group_record group; /* of the file; id 0: none */
	struct checked file;
	struct checked member; /* the member of its group to compare it with; id 0: none */
	uint64_t until_ns; /* monotonic time at which the comparison has to end */
	const struct cancellation *cancellation;
	bool equal; /* the bytes of both are equal and have the hash of the group */
};

/* Reads the record and the attributes of a file. Returns 0, -ESTALE if more than the ctime changed,
 * or another -errno. */
static int examine(const struct sources *sources, struct catalog_reader *reader, uint64_t id,
		   struct checked *checked)
{
	struct attributes known;
	AUTO_CLOSE int fd = -1;
	int r = catalog_get_file(reader, id, &checked->file);

	if (r < 0)
		return r;
	r = fd = source_open_inode(sources, reader, &checked->file);
	if (r >= 0)
		r = source_attributes(sources->catalog, fd, &checked->now);
	if (r < 0)
		return r;
	known = checked->file.attributes;
	checked->ctime_changed = !attributes_same_signature(&known, &checked->now);
	known.ctime = checked->now.ctime;
	return attributes_same_signature(&known, &checked->now) ? 0 : -ESTALE;
}

/* Finds a member to compare the file with. A member with an unchanged signature is preferred to a
 * member of which only the ctime changed. If neither is found, the member's id stays 0. */
static int find_member(struct file_recheck *recheck, struct catalog_reader *reader)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t id;
	int examined, r = catalog_scan_members(reader, recheck->group.id, 0, &scan);

	for (size_t i = 0; r == 0 && i < MEMBERS_MAX; i++) {
		struct checked checked = {0};

		if (cancellation_is_requested(recheck->cancellation))
			return -EINTR;
		r = catalog_next_member(scan, &id);
		if (r < 0 || id == recheck->file.file.id)
			continue;
		examined = examine(recheck->sources, reader, id, &checked);
		if (examined < 0 && examined != -ESTALE && examined != -ENOENT)
			return examined;
		if (examined < 0)
			continue;
		if (!checked.ctime_changed || recheck->member.file.id == 0)
			recheck->member = checked;
		if (!checked.ctime_changed)
			return 0;
	}
	/* If not all members were examined, another one possibly has an unchanged signature. Then
	 * no member is used. */
	if (r == 0)
		recheck->member.file.id = 0;
	return r == -ENOENT ? 0 : r;
}

static int find_group(struct file_recheck *recheck, struct catalog_reader *reader)
{
	const struct file_record *file = &recheck->file.file;
	struct content_record content;
	int r = catalog_get_content(reader, file->id, &content);

	if (r == 0 && content.group && file->attributes.size <= RECHECK_BYTES_MAX)
		r = catalog_get_group(reader, content.group, &recheck->group);
	if (r == 0 && recheck->group.id)
		r = find_member(recheck, reader);
	return r == -ENOENT ? 0 : r;
}

/* ---- comparing ----------------------------------------------------------------------- */

static int open_checked(struct checked *checked, struct file_opener *opener,
			struct catalog_reader *reader)
{
	struct file_record as_now = checked->file;

	as_now.attributes = checked->now;
	return reading_open(&checked->reading, opener, reader, &as_now, false);
}

/* Opens both files. Returns 0, an enum reading_outcome or -errno. If the result is not 0, both are
 * closed. */
static int open_both(struct file_recheck *recheck, struct catalog_reader *reader)
{
	struct file_opener opener = FILE_OPENER_INIT(recheck->sources);
	int r = open_checked(&recheck->file, &opener, reader);

	if (r == 0) {
		r = open_checked(&recheck->member, &opener, reader);
		if (r != 0)
			reading_abandon(&recheck->file.reading);
	}
	file_opener_deinit(&opener);
	return r;
}

/* Reads the next block of both files. Returns its length, 0 at the end or at a difference, or
 * -errno. */
static long read_both(const struct file_recheck *recheck, char *block, char *other, off_t offset)
{
	long length, same;

	if (stop_requested())
		return -ECANCELED;
	if (cancellation_is_requested(recheck->cancellation))
		return -EINTR;
	if (clock_monotonic_ns() >= recheck->until_ns)
		return -ETIMEDOUT;
	length = read_fully_at(recheck->file.reading.fd, block, BLOCK_BYTES, offset);
	same = length > 0 ? read_fully_at(recheck->member.reading.fd, other, (unsigned long)length,
					  offset)
			  : length;
	if (same < 0)
		return same;
	return same == length && memcmp(block, other, (size_t)length) == 0 ? length : 0;
}

/* Compares the bytes of both files and sets recheck->equal. The hash of the group is checked, as
 * the member possibly changed, too: its ctime is new, or a store changed none of its times. Returns
 * 0 or -errno. */
static int compare_bytes(struct file_recheck *recheck)
{
	AUTO_FREE char *blocks = malloc(2 * BLOCK_BYTES);
	struct hash_state *hash = hash_state_new();
	uint64_t offset = 0;
	long length = -ENOMEM;

	if (blocks && hash) {
		while ((length = read_both(recheck, blocks, blocks + BLOCK_BYTES, (off_t)offset)) >
		       0) {
			hash_state_update(hash, blocks, (size_t)length);
			offset += (uint64_t)length;
		}
		recheck->equal = offset == recheck->group.size &&
				 hash128_equal(hash_state_digest(hash), recheck->group.hash);
	}
	hash_state_free(hash);
	return (int)length;
}

/* Compares both files. Returns 0, or a value as from reading_close(). */
static int compare(struct file_recheck *recheck)
{
	struct catalog *catalog = recheck->sources->catalog;
	int r = compare_bytes(recheck);
	int file = reading_close(&recheck->file.reading, catalog);
	int member = reading_close(&recheck->member.reading, catalog);

	if (r == 0)
		r = file;
	return r == 0 ? member : r;
}

/* ---- committing ---------------------------------------------------------------------- */

/* Returns true if the index still has the record that was examined. */
static bool is_current(struct catalog_writer *w, const struct checked *checked)
{
	struct file_record file;

	return catalog_get_file(catalog_writer_reader(w), checked->file.id, &file) == 0 &&
	       file_digest(&file) == file_digest(&checked->file);
}

static struct name_change change_of(const struct file_recheck *recheck,
				    const struct checked *checked)
{
	return (struct name_change){.kind = NAME_UPDATE_FILE,
				    .id = checked->file.id,
				    .flags = recheck->equal ? FILE_COMPARED : 0,
				    .attributes = checked->now};
}

static int commit_body(struct catalog_writer *w, void *context)
{
	const struct file_recheck *recheck = context;
	struct name_change changes[2];
	size_t count = 0;

	if (!is_current(w, &recheck->file))
		return -ESTALE;
	changes[count++] = change_of(recheck, &recheck->file);
	if (recheck->member.file.id) {
		if (!is_current(w, &recheck->member))
			return -ESTALE;
		if (recheck->member.ctime_changed)
			changes[count++] = change_of(recheck, &recheck->member);
	}
	return catalog_apply(w, changes, count, 0);
}

static int examine_all(struct file_recheck *recheck, uint64_t file)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(recheck->sources->catalog, &reader);

	if (r == 0)
		r = examine(recheck->sources, reader, file, &recheck->file);
	if (r == 0 && recheck->file.ctime_changed)
		r = find_group(recheck, reader);
	if (r == 0 && recheck->member.file.id)
		r = open_both(recheck, reader);
	return r;
}

int ingest_recheck_file(struct catalog *catalog, const struct sources *sources, uint64_t file,
			uint64_t until_ns, const struct cancellation *cancellation)
{
	struct file_recheck recheck = {.sources = sources,
				       .until_ns = until_ns,
				       .cancellation = cancellation};
	int r = examine_all(&recheck, file);

	if (r == 0 && !recheck.file.ctime_changed)
		return 0;
	if (r == 0 && recheck.member.file.id)
		r = compare(&recheck);
	if (r == 0)
		r = catalog_write_unless(catalog, commit_body, &recheck, cancellation);
	return r > 0 ? -ESTALE : r;
}
