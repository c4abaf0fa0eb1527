/* SPDX-License-Identifier: MIT */
#include "cli/act_plan.h"

#include <errno.h>
#include <string.h>

#include "base/size.h"
#include "base/spool.h"
#include "catalog/query.h"
#include "report/copies.h"
#include "report/selection.h"

/* The spool has for each group the kept copy, then the names that are redundant. */
enum role {
	ROLE_KEPT = 'k',
	ROLE_COPY = 'c',
};

struct spooled {
	enum role role;
	uint32_t source;
	size_t path_length;
	struct hash128 hash;
	struct attributes attributes;
};

struct planning {
	struct act_plan *plan;
	struct catalog_reader *reader;
	struct hash128 hash; /* of the current group */
};

/* Writes one file. Sets *links to the number of names that its inode has on the disk. */
static int put(const struct planning *planning, enum role role, const struct copies *copies,
	       const struct copy *copy, uint32_t *links)
{
	const char *path = copy_path(copies, copy);
	struct spooled spooled;
	struct file_record file;
	int r;

	/* clears the padding as well, because the padding is written to the spool */
	memset(&file, 0, sizeof(file));
	memset(&spooled, 0, sizeof(spooled));
	r = catalog_get_file(planning->reader, copy->file, &file);
	if (r < 0)
		return r;
	spooled.role = role;
	spooled.source = copy->source;
	spooled.path_length = strlen(path);
	spooled.hash = planning->hash;
	spooled.attributes = file.attributes;
	*links = file.attributes.links;
	if (fwrite(&spooled, sizeof(spooled), 1, planning->plan->spool) != 1 ||
	    fwrite(path, spooled.path_length, 1, planning->plan->spool) != 1)
		return -errno;
	return 0;
}

/* Counts the names of one inode, of which the first has the index first. */
static size_t count_names(const struct copies *copies, size_t first)
{
	size_t end = first + 1;

	while (end < copies->count && copies->list[end].another_name)
		end++;
	return end - first;
}

static int put_group(void *context, const struct group_record *group, const struct copies *copies)
{
	struct planning *planning = context;
	struct act_plan *plan = planning->plan;
	uint32_t links = 0;
	bool begun = false;
	int r = 0;

	planning->hash = group->hash;

	for (size_t i = 0; r == 0 && i < copies->count; i++) {
		const struct copy *copy = &copies->list[i];

		if (copy->fate != FATE_REDUNDANT)
			continue;
		if (!begun)
			r = put(planning, ROLE_KEPT, copies, &copies->list[0], &links);
		begun = true;
		if (r == 0)
			r = put(planning, ROLE_COPY, copies, copy, &links);
		plan->names++;
		if (copy->another_name)
			continue;
		plan->bytes = size_add(plan->bytes, group->size);
		plan->split += links > count_names(copies, i);
	}
	return r;
}

static int act_plan_rewind(struct act_plan *plan)
{
	if (fflush(plan->spool) != 0 || fseek(plan->spool, 0, SEEK_SET) != 0)
		return -errno;
	return 0;
}

int act_plan_make(struct act_plan *plan, const struct report *report)
{
	struct planning planning = {.plan = plan, .reader = report->reader};
	const struct visitor visitor = {.group = put_group, .context = &planning};
	int r;

	*plan = (struct act_plan){.names = 0};
	r = spool_open_stream(&plan->spool);
	if (r == 0)
		r = selection_groups(report, &visitor);
	return r < 0 ? r : act_plan_rewind(plan);
}

void act_plan_free(struct act_plan *plan)
{
	if (plan->spool)
		(void)fclose(plan->spool);
	plan->spool = NULL;
}

/* ---- reading the plan --------------------------------------------------------------- */

void planned_free(struct planned *planned)
{
	bytes_free(&planned->kept_path);
	bytes_free(&planned->copy_path);
}

static int read_path(struct act_plan *plan, struct bytes *path, size_t length)
{
	int r;

	path->length = 0;
	r = bytes_reserve(path, length + 1);
	if (r < 0)
		return r;
	if (fread(path->data, length, 1, plan->spool) != 1)
		return -EIO;
	path->length = length;
	return bytes_text(path) ? 0 : -ENOMEM;
}

int act_plan_read(struct act_plan *plan, struct planned *planned)
{
	struct spooled spooled;
	int r;

	while (fread(&spooled, sizeof(spooled), 1, plan->spool) == 1) {
		bool kept = spooled.role == ROLE_KEPT;
		struct bytes *path = kept ? &planned->kept_path : &planned->copy_path;
		struct attributes *attributes =
			kept ? &planned->kept_attributes : &planned->copy_attributes;

		r = read_path(plan, path, spooled.path_length);
		if (r < 0)
			return r;
		*attributes = spooled.attributes;
		*(kept ? &planned->kept : &planned->copy) =
			(struct act_file){spooled.source, (const char *)path->data, attributes,
					  spooled.hash};
		if (!kept)
			return 0;
	}
	return ferror(plan->spool) ? -EIO : -ENOENT;
}
