/* SPDX-License-Identifier: MIT */
#include "catalog/delta_builder.h"

#include <errno.h>

#include "catalog/query.h"

int delta_add_name(struct catalog_writer *w, uint64_t dir, struct name name)
{
	struct delta_name delta = {.dir = dir, .length = name.length};
	int r;

	if (!w->builder->observed)
		return 0;
	delta.offset = (uint32_t)w->builder->text.length;
	r = bytes_append(&w->builder->text, name.bytes, name.length);
	return r < 0 ? r : bytes_append(&w->builder->names, &delta, sizeof(delta));
}

int delta_add_dir(struct catalog_writer *w, struct delta_dir delta)
{
	return w->builder->observed ? bytes_append(&w->builder->dirs, &delta, sizeof(delta)) : 0;
}

int delta_add_file(struct catalog_writer *w, uint64_t file, uint64_t size, uint32_t what)
{
	const struct delta_file delta = {.file = file, .size = size, .what = what};

	if (!w->builder->observed || !what)
		return 0;
	return bytes_append(&w->builder->files, &delta, sizeof(delta));
}

int delta_add_member(struct catalog_writer *w, uint64_t group, uint64_t file, bool joined)
{
	const struct member_delta delta = {.group = group, .file = file, .joined = joined};

	return bytes_append(&w->builder->members, &delta, sizeof(delta));
}

int delta_add_group(struct catalog_writer *w, const struct group_record *before,
		    const struct group_record *now)
{
	const struct delta_group delta = {.before = *before, .now = *now};

	return bytes_append(&w->builder->groups, &delta, sizeof(delta));
}

int delta_add_holder(struct catalog_writer *w, uint64_t dir)
{
	return w->builder->observed ? bytes_append(&w->builder->holders, &dir, sizeof(dir)) : 0;
}

int delta_add_folder_group(struct catalog_writer *w, const struct folder_group *before,
			   const struct folder_group *now)
{
	const struct delta_folder_group delta = {.before = *before, .now = *now};

	if (!w->builder->observed)
		return 0;
	return bytes_append(&w->builder->folder_groups, &delta, sizeof(delta));
}

int delta_add_error(struct catalog_writer *w, enum error_kind kind, uint64_t id, int error)
{
	const struct delta_error delta = {.kind = kind, .id = id, .error = error};

	return w->builder->observed ? bytes_append(&w->builder->errors, &delta, sizeof(delta)) : 0;
}

int delta_builder_finish(struct catalog_writer *w)
{
	struct delta_file *files = (void *)w->builder->files.data;
	size_t count = w->builder->files.length / sizeof(*files), left = 0;
	struct file_record file;
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		if (files[i].what & DELTA_FILE_GONE) {
			r = catalog_get_file_name(&w->store.reader, files[i].file, &file);
			if (r < 0 && r != -ENOENT)
				return r;
			if (r == 0 && file.names > 0)
				files[i].what &= ~(uint32_t)DELTA_FILE_GONE;
		}
		if (files[i].what)
			files[left++] = files[i];
	}
	w->builder->files.length = left * sizeof(*files);
	return 0;
}

void delta_builder_send(const struct delta_builder *builder, uint64_t generation,
			commit_delta_fn *observer, void *context)
{
	const struct commit_delta delta = {
		.generation = generation,
		.text = (const char *)builder->text.data,
		.names = (const void *)builder->names.data,
		.name_count = builder->names.length / sizeof(struct delta_name),
		.dirs = (const void *)builder->dirs.data,
		.dir_count = builder->dirs.length / sizeof(struct delta_dir),
		.files = (const void *)builder->files.data,
		.file_count = builder->files.length / sizeof(struct delta_file),
		.groups = (const void *)builder->groups.data,
		.group_count = builder->groups.length / sizeof(struct delta_group),
		.redundancy = (const void *)builder->redundancy.data,
		.redundancy_count = builder->redundancy.length / sizeof(struct delta_flip),
		.holders = (const void *)builder->holders.data,
		.holder_count = builder->holders.length / sizeof(uint64_t),
		.folder_groups = (const void *)builder->folder_groups.data,
		.folder_group_count =
			builder->folder_groups.length / sizeof(struct delta_folder_group),
		.errors = (const void *)builder->errors.data,
		.error_count = builder->errors.length / sizeof(struct delta_error),
	};

	observer(&delta, context);
}

void delta_builder_free(struct delta_builder *builder)
{
	bytes_free(&builder->text);
	bytes_free(&builder->names);
	bytes_free(&builder->dirs);
	bytes_free(&builder->files);
	bytes_free(&builder->members);
	bytes_free(&builder->groups);
	bytes_free(&builder->redundancy);
	bytes_free(&builder->holders);
	bytes_free(&builder->folder_groups);
	bytes_free(&builder->errors);
}
