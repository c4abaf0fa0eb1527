/* SPDX-License-Identifier: MIT */
#include "backup/manifest_write.h"

#include <errno.h>

struct manifest_writing {
	const struct manifest_task *task;
	struct bytes line;
	struct hash_state *hash; /* of all lines so far */
};

static int write_line(struct manifest_writing *writing)
{
	hash_state_update(writing->hash, writing->line.data, writing->line.length);
	return writing->task->write(writing->task->context, writing->line.data,
				    writing->line.length);
}

static int write_name(void *context, const struct manifest_name *name)
{
	struct manifest_writing *writing = context;
	int r;

	writing->line.length = 0;
	r = manifest_name_encode(&writing->line, name);
	return r < 0 ? r : write_line(writing);
}

static int write_header(struct manifest_writing *writing, const struct manifest_names *names)
{
	CLEANUP_MANIFEST_NAME struct manifest_name root = {0};
	const struct manifest_task *task = writing->task;
	int r = 0;

	manifest_name_clear(&root);
	if (task->format == MANIFEST_ALL)
		r = manifest_names_root(names, &root);
	if (r == 0)
		r = manifest_header_encode(&writing->line, task->format, task->reader,
					   task->sources, &root);
	return r < 0 ? r : write_line(writing);
}

static int write_all(struct manifest_writing *writing, struct manifest_figures *figures)
{
	const struct manifest_task *task = writing->task;
	const struct manifest_names names = {
		.catalog = task->catalog,
		.reader = task->reader,
		.sources = task->sources,
		.all = task->format == MANIFEST_ALL,
		.known = task->known,
		.unread = task->unread,
		.visit = write_name,
		.context = writing,
	};
	struct manifest_end end;
	int r = write_header(writing, &names);

	if (r == 0)
		r = manifest_names_visit(&names, figures);
	if (r < 0)
		return r;
	end = (struct manifest_end){
		.lines = figures->names,
		.hash = hash_state_digest(writing->hash),
	};
	writing->line.length = 0;
	r = manifest_end_encode(&writing->line, &end);
	return r < 0 ? r : write_line(writing);
}

int manifest_write(const struct manifest_task *task, struct manifest_figures *figures)
{
	struct manifest_writing writing = {.task = task, .hash = hash_state_new()};
	int r = writing.hash ? write_all(&writing, figures) : -ENOMEM;

	bytes_free(&writing.line);
	hash_state_free(writing.hash);
	return r;
}
