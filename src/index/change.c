/* SPDX-License-Identifier: MIT */
#include "index/change.h"

#include <errno.h>
#include <string.h>

#include "index/file.h"
#include "index/folders.h"
#include "index/group.h"
#include "index/handle.h"
#include "index/keep_rules.h"
#include "index/kept.h"
#include "index/meta.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/store/store.h"
#include "index/store/value.h"
#include "index/writer.h"

uint32_t catalog_next_scan(struct catalog_writer *w)
{
	w->store.changed = true;
	return (uint32_t)++w->totals.scans;
}

uint32_t catalog_begin_scan(struct catalog_writer *w)
{
	uint32_t scan = catalog_next_scan(w);

	if (!w->totals.unended)
		w->totals.unended = scan;
	return scan;
}

void catalog_end_scan(struct catalog_writer *w, bool none_pending)
{
	w->store.changed = true;
	w->totals.unended = 0;
	w->none_pending = none_pending;
}

uint64_t catalog_generation(const struct catalog_writer *w)
{
	return w->totals.generation;
}

int catalog_set_min_size(struct catalog_writer *w, uint64_t min_size)
{
	uint64_t before;
	int r = meta_get_number(&w->store.reader, META_MIN_SIZE, &before);

	if (r < 0 || min_size == before)
		return r;
	r = meta_put_number(w, META_MIN_SIZE, min_size);
	if (r == 0 && min_size > before)
		r = files_forget_small_content(w, min_size);
	return r;
}

int catalog_set_view(struct catalog_writer *w, const char *mount_point)
{
	return meta_put_text(w, META_VIEW, mount_point, strlen(mount_point));
}

int catalog_mark_operands(struct catalog_writer *w)
{
	return meta_put_number(w, META_OPERANDS, 1);
}

int catalog_set_keep_rules(struct catalog_writer *w, const struct keep_rules *rules)
{
	CLEANUP_BYTES struct bytes before = {0}, now = {0};
	int r = meta_get_text(&w->store.reader, META_KEEP, &before);

	if (r == 0 && rules->count > 0)
		r = keep_rules_encode(rules, &now);
	if (r < 0 || bytes_compare(&before, &now) == 0)
		return r;
	groups_choose_again(w, true);
	r = meta_put_text(w, META_KEEP, now.data, now.length);
	keep_rules_free(&w->keep);
	return r < 0 ? r : catalog_get_keep_rules(&w->store.reader, &w->keep);
}

int catalog_add_source(struct catalog_writer *w, uint64_t index, const char *path,
		       const struct attributes *root, uint64_t root_dir)
{
	struct dir_record dir = {.id = root_dir,
				 .source = (uint32_t)index,
				 .attributes = *root,
				 .name = {"", 0}};
	struct key key = key_number(root_dir);
	int r = meta_put_source(w, index, path, root_dir);

	if (r == 0)
		r = store_put(&w->store, TABLE_DIR, &key, encode_dir(&dir));
	if (r == 0)
		w->totals.directories++;
	return r < 0 ? r : folders_note_dir(w, root_dir);
}

void catalog_reconsider_kept(struct catalog_writer *w)
{
	w->reconsiders_kept = true;
}

int catalog_purge_orphans(struct catalog_writer *w, size_t limit, bool *left)
{
	static const struct key first;
	struct record_span orphan;
	uint64_t id;
	int r = 0;

	*left = true;
	for (size_t i = 0; r == 0 && i < limit; i++) {
		r = store_seek(&w->store.reader, TABLE_ORPHAN, &first, 0, &orphan);
		*left = r != -ENOENT;
		if (r < 0)
			return *left ? r : 0;
		if (!key_get_number(orphan.key, &id))
			return -EUCLEAN;
		r = file_delete(w, id);
	}
	return r;
}

void groups_choose_again(struct catalog_writer *w, bool anew)
{
	w->totals.choose_from = 1;
	w->totals.choose_anew |= anew;
	w->store.changed = true;
}

static int choose_again(struct catalog_writer *w, struct kept_choice *choice,
			const struct group_record *group)
{
	uint64_t kept = group->kept;
	bool emptied;
	int r = kept_any_is_emptied(choice, group->id, &emptied);

	if (r == 0 && (emptied || (group->maps && group->retained > 0)))
		r = group_note_places(w, group->id, emptied);
	if (r == 0 && group_is_visible(group))
		r = w->totals.choose_anew ? kept_choose(choice, group->id, &kept)
					  : kept_judge(choice, group->id, &kept);
	return r < 0 || kept == group->kept ? r : group_keep(w, group->id, kept);
}

int catalog_choose_kept(struct catalog_writer *w, size_t limit)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct kept_choice choice = {.reader = &w->store.reader, .rules = &w->keep};
	struct group_record group;
	int r = 0;

	if (!w->totals.choose_from)
		return 0;
	r = catalog_scan_groups(&w->store.reader, w->totals.choose_from - 1, &scan);
	w->store.changed = true;
	while (r == 0 && limit-- > 0 && (r = catalog_next_group(scan, &group)) == 0) {
		w->totals.choose_from = group.id + 1;
		r = choose_again(w, &choice, &group);
		if (r == -ENOENT)
			r = -EUCLEAN;
	}
	kept_choice_deinit(&choice);
	if (r == -ENOENT) {
		w->totals.choose_from = 0;
		w->totals.choose_anew = false;
		r = 0;
	}
	return r;
}

static int update_places_body(struct catalog_writer *w, void *context)
{
	(void)context;
	groups_choose_again(w, false);
	return meta_put_number(w, META_PLACES, PLACES_VERSION);
}

int catalog_update_places(struct catalog *catalog)
{
	struct catalog_reader *reader = NULL;
	uint64_t version = 0;
	int r = store_read_begin(&catalog->store, &reader);

	if (r < 0)
		return r;
	r = meta_get_number(reader, META_PLACES, &version);
	store_read_end(reader);
	if (r < 0 && r != -ENOENT)
		return r;
	return version == PLACES_VERSION ? 0 : catalog_write(catalog, update_places_body, NULL);
}
