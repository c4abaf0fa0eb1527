/* SPDX-License-Identifier: MIT */
#include "catalog/gather.h"

#include <errno.h>

#include "catalog/query.h"

int gather_name(struct catalog_writer *w, uint64_t dir, struct name name)
{
	struct news_name news = {.dir = dir, .length = name.length};
	int r;

	if (!w->gather->observed)
		return 0;
	news.offset = (uint32_t)w->gather->text.length;
	r = bytes_append(&w->gather->text, name.bytes, name.length);
	return r < 0 ? r : bytes_append(&w->gather->names, &news, sizeof(news));
}

int gather_dir(struct catalog_writer *w, struct news_dir news)
{
	return w->gather->observed ? bytes_append(&w->gather->dirs, &news, sizeof(news)) : 0;
}

int gather_file(struct catalog_writer *w, uint64_t file, uint64_t size, uint32_t what)
{
	const struct news_file news = {.file = file, .size = size, .what = what};

	if (!w->gather->observed || !what)
		return 0;
	return bytes_append(&w->gather->files, &news, sizeof(news));
}

int gather_member(struct catalog_writer *w, uint64_t group, uint64_t file, bool joined)
{
	const struct member_news news = {.group = group, .file = file, .joined = joined};

	return bytes_append(&w->gather->members, &news, sizeof(news));
}

int gather_group(struct catalog_writer *w, const struct group_record *before,
		 const struct group_record *now)
{
	const struct news_group news = {.before = *before, .now = *now};

	return bytes_append(&w->gather->groups, &news, sizeof(news));
}

int gather_holder(struct catalog_writer *w, uint64_t dir)
{
	return w->gather->observed ? bytes_append(&w->gather->holders, &dir, sizeof(dir)) : 0;
}

int gather_error(struct catalog_writer *w, enum error_kind kind, uint64_t id, int error)
{
	const struct news_error news = {.kind = kind, .id = id, .error = error};

	return w->gather->observed ? bytes_append(&w->gather->errors, &news, sizeof(news)) : 0;
}

int gather_finish(struct catalog_writer *w)
{
	struct news_file *files = (void *)w->gather->files.data;
	size_t count = w->gather->files.length / sizeof(*files), left = 0;
	struct file_record file;
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		if (files[i].what & NEWS_FILE_GONE) {
			r = catalog_get_file(&w->store.reader, files[i].file, &file);
			if (r < 0 && r != -ENOENT)
				return r;
			if (r == 0 && file.names > 0)
				files[i].what &= ~(uint32_t)NEWS_FILE_GONE;
		}
		if (files[i].what)
			files[left++] = files[i];
	}
	w->gather->files.length = left * sizeof(*files);
	return 0;
}

void gather_tell(const struct gather *gather, uint64_t generation, catalog_news_fn *observer,
		 void *context)
{
	const struct catalog_news news = {
		.generation = generation,
		.text = (const char *)gather->text.data,
		.names = (const void *)gather->names.data,
		.name_count = gather->names.length / sizeof(struct news_name),
		.dirs = (const void *)gather->dirs.data,
		.dir_count = gather->dirs.length / sizeof(struct news_dir),
		.files = (const void *)gather->files.data,
		.file_count = gather->files.length / sizeof(struct news_file),
		.groups = (const void *)gather->groups.data,
		.group_count = gather->groups.length / sizeof(struct news_group),
		.flips = (const void *)gather->flips.data,
		.flip_count = gather->flips.length / sizeof(struct news_flip),
		.holders = (const void *)gather->holders.data,
		.holder_count = gather->holders.length / sizeof(uint64_t),
		.errors = (const void *)gather->errors.data,
		.error_count = gather->errors.length / sizeof(struct news_error),
	};

	observer(&news, context);
}

void gather_reset(struct gather *gather)
{
	gather->text.length = gather->names.length = gather->dirs.length = 0;
	gather->files.length = gather->members.length = 0;
	gather->groups.length = gather->flips.length = gather->holders.length = 0;
	gather->errors.length = 0;
}

void gather_free(struct gather *gather)
{
	bytes_free(&gather->text);
	bytes_free(&gather->names);
	bytes_free(&gather->dirs);
	bytes_free(&gather->files);
	bytes_free(&gather->members);
	bytes_free(&gather->groups);
	bytes_free(&gather->flips);
	bytes_free(&gather->holders);
	bytes_free(&gather->errors);
}
