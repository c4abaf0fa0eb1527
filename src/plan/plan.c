/* SPDX-License-Identifier: MIT */
#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/size.h"
#include "base/spool.h"

/* The spool has for each group this struct, then the arrays of copies and of planned names, and the
 * paths. Pointers in it are to static texts, and only this process reads the spool. */
struct plan_spooled {
	struct group_record group;
	size_t count, redundant, path_bytes;
	bool kept_must_stay;
	uint64_t files;
};

/* ---- groups ------------------------------------------------------------------------------- */

void planned_group_free(struct planned_group *group)
{
	copies_free(&group->copies);
	free(group->names);
	group->names = NULL;
	group->capacity = 0;
}

struct act_file planned_file(const struct planned_group *group, size_t index)
{
	const struct copy *copy = &group->copies.list[index];
	const struct planned_name *name = &group->names[index];

	return (struct act_file){copy->source, copy_path(&group->copies, copy), &name->attributes,
				 name->hash};
}

enum emptied_place planned_place(const struct planned_group *group, const struct sources *sources,
				 size_t index)
{
	const struct copy *copy = &group->copies.list[index];
	const char *path = copy_path(&group->copies, copy);

	return emptied_first(copy->emptied, emptied_place_of(sources->list[copy->source].path, path,
							     strlen(path)));
}

size_t planned_count_names(const struct planned_group *group, size_t first)
{
	const struct copies *copies = &group->copies;
	size_t end = first + 1;

	while (end < copies->count && copies->list[end].file == copies->list[first].file)
		end++;
	return end - first;
}

/* Returns whether the act is on all names of an inode, or on a folder. */
static bool is_whole(const struct act_plan *plan, const struct planned_group *group, size_t first)
{
	return plan->folders ||
	       group->names[first].attributes.links <= planned_count_names(group, first);
}

bool act_plan_frees(const struct act_plan *plan, const struct planned_group *group, size_t first)
{
	return plan->is_dedupe || is_whole(plan, group, first);
}

void planned_group_drop_spared(struct planned_group *group)
{
	struct copies *copies = &group->copies;
	size_t left = 0;

	copies->redundant = 0;
	for (size_t i = 0; i < copies->count; i++) {
		struct copy *copy = &copies->list[left];
		bool is_first;

		if (copies->list[i].fate == FATE_SPARED)
			continue;
		*copy = copies->list[i];
		group->names[left] = group->names[i];
		is_first = left == 0 || copy[-1].file != copy->file;
		copy->another_name = !is_first;
		copies->redundant += is_first && copy->fate == FATE_REDUNDANT;
		left++;
	}
	copies->count = left;
}

/* ---- the spool ---------------------------------------------------------------------------- */

int act_plan_open(struct act_plan *plan, enum act_kind kind)
{
	*plan = (struct act_plan){.is_dedupe = kind == ACT_DEDUPE};
	return spool_open_stream(&plan->spool);
}

void act_plan_free(struct act_plan *plan)
{
	if (plan->spool)
		(void)fclose(plan->spool);
	plan->spool = NULL;
}

/* Counts an inode to act upon, whose first name has this index. */
static void count_inode(struct act_plan *plan, const struct planned_group *group, size_t first)
{
	const struct planned_name *name = &group->names[first];

	plan->names += planned_count_names(group, first);
	plan->bytes = size_add(plan->bytes, group->group.size);
	plan->split += !is_whole(plan, group, first);
	if (!act_plan_frees(plan, group, first))
		return;
	plan->freed_bytes = size_add(plan->freed_bytes, name->freed_bytes);
	plan->freed_unknown += name->freed_is_unknown;
}

static bool put(struct act_plan *plan, const void *data, size_t size)
{
	return size == 0 || fwrite(data, size, 1, plan->spool) == 1;
}

/* Copies the fields without the padding between them. */
static void copy_group_fields(struct group_record *to, const struct group_record *from)
{
	to->id = from->id;
	to->hash = from->hash;
	to->ordinal = from->ordinal;
	to->size = from->size;
	to->inodes = from->inodes;
	to->kept = from->kept;
	to->changed = from->changed;
	to->maps = from->maps;
	to->retained = from->retained;
}

int act_plan_add(struct act_plan *plan, const struct planned_group *group)
{
	const struct copies *copies = &group->copies;
	struct plan_spooled spooled;

	if (copies->redundant == 0)
		return 0;
	/* clears the padding as well, because the padding is written to the spool */
	memset(&spooled, 0, sizeof(spooled));
	copy_group_fields(&spooled.group, &group->group);
	spooled.count = copies->count;
	spooled.redundant = copies->redundant;
	spooled.path_bytes = copies->paths.length;
	spooled.kept_must_stay = copies->kept_must_stay;
	spooled.files = group->files;
	errno = EIO;
	if (!put(plan, &spooled, sizeof(spooled)) ||
	    !put(plan, copies->list, copies->count * sizeof(*copies->list)) ||
	    !put(plan, group->names, copies->count * sizeof(*group->names)) ||
	    !put(plan, copies->paths.data, copies->paths.length))
		return -errno;
	plan->groups++;
	for (size_t i = 0; i < copies->count; i++) {
		if (copies->list[i].fate == FATE_REDUNDANT && !copies->list[i].another_name)
			count_inode(plan, group, i);
	}
	return 0;
}

int act_plan_rewind(struct act_plan *plan)
{
	if (fflush(plan->spool) != 0 || fseek(plan->spool, 0, SEEK_SET) != 0)
		return -errno;
	return 0;
}

static bool get(struct act_plan *plan, void *data, size_t size)
{
	return size == 0 || fread(data, size, 1, plan->spool) == 1;
}

int act_plan_next(struct act_plan *plan, struct planned_group *group)
{
	struct copies *copies = &group->copies;
	struct plan_spooled spooled;
	int r;

	if (!get(plan, &spooled, sizeof(spooled)))
		return ferror(plan->spool) ? -EIO : -ENOENT;
	copies_clear(copies);
	r = array_reserve(&copies->list, &copies->capacity, spooled.count, sizeof(*copies->list));
	if (r == 0)
		r = array_reserve(&group->names, &group->capacity, spooled.count,
				  sizeof(*group->names));
	if (r == 0)
		r = bytes_reserve(&copies->paths, spooled.path_bytes);
	if (r < 0)
		return r;
	if (!get(plan, copies->list, spooled.count * sizeof(*copies->list)) ||
	    !get(plan, group->names, spooled.count * sizeof(*group->names)) ||
	    !get(plan, copies->paths.data, spooled.path_bytes))
		return -EIO;
	group->group = spooled.group;
	copies->count = spooled.count;
	copies->redundant = spooled.redundant;
	copies->paths.length = spooled.path_bytes;
	copies->kept_must_stay = spooled.kept_must_stay;
	copies->folders = plan->folders;
	group->files = spooled.files;
	return 0;
}
