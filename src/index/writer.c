/* SPDX-License-Identifier: MIT */
#include "index/writer.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "index/integrity.h"
#include "index/query.h"
#include "index/store/index_files.h"
#include "twinfs/format.h"

/* ---- the open catalog -------------------------------------------------------------- */

/* Number of ids that are reserved on disk at a time. */
#define IDS_RESERVED (UINT64_C(1) << 22)

void catalog_distrust(struct catalog *catalog)
{
	store_mark_untrusted(&catalog->store);
}

void catalog_judge(struct catalog *catalog, int result)
{
	if (result == -EUCLEAN)
		atomic_store(&catalog->store.damaged, true);
	else if (result == -ENOENT)
		atomic_store(&catalog->store.is_untrusted, true); /* the cause was logged before */
	else
		return;
	if (catalog_unseal(catalog) < 0)
		log_debug("cannot remove the seal of the index; closing the index tries again");
}

int catalog_unseal(void *opened)
{
	struct catalog *catalog = opened;
	int r;

	if (catalog->lock_fd < 0 || atomic_load(&catalog->unsealed))
		return 0;
	r = index_unseal(catalog->folder_fd);
	if (r == 0)
		atomic_store(&catalog->unsealed, true);
	return r;
}

const char *catalog_folder(const struct catalog *catalog)
{
	return catalog->folder;
}

uint64_t catalog_ids_end(struct catalog *catalog)
{
	uint64_t end;

	pthread_mutex_lock(&catalog->ids_lock);
	end = catalog->next_id;
	pthread_mutex_unlock(&catalog->ids_lock);
	return end;
}

uint64_t catalog_new_id(struct catalog *catalog)
{
	uint64_t id = 0;
	int r = 0;

	pthread_mutex_lock(&catalog->ids_lock);
	if (catalog->next_id >= catalog->reserved_id) {
		r = index_reserve_ids(catalog->folder_fd, catalog->next_id + IDS_RESERVED, true);
		if (r == 0)
			catalog->reserved_id = catalog->next_id + IDS_RESERVED;
	}
	if (r == 0 && catalog->next_id <= TWINFS_ID_MAX)
		id = catalog->next_id++;
	pthread_mutex_unlock(&catalog->ids_lock);
	if (!id)
		errno = r < 0 ? -r : EOVERFLOW;
	return id;
}

uint64_t catalog_unused_id(struct catalog *catalog)
{
	uint64_t id;

	pthread_mutex_lock(&catalog->ids_lock);
	id = catalog->next_id;
	pthread_mutex_unlock(&catalog->ids_lock);
	return id;
}

/* The secret does not reveal the name seed. With that seed a user could choose names that
 * collide. */
uint64_t catalog_secret(const struct catalog *catalog)
{
	return hash64("secret", strlen("secret"), catalog->name_seed);
}

uint64_t catalog_identity(const struct catalog *catalog)
{
	return hash64("identity", strlen("identity"), catalog->name_seed);
}

int catalog_read_begin(struct catalog *catalog, struct catalog_reader **reader)
{
	int r = store_read_begin(&catalog->store, reader);

	if (r == 0)
		(*reader)->name_seed = catalog->name_seed;
	return r;
}

void catalog_read_end(struct catalog_reader *reader)
{
	store_read_end(reader);
}

void catalog_observe(struct catalog *catalog, commit_delta_fn *observer, void *context)
{
	catalog->observer = observer;
	catalog->observer_context = context;
}

int catalog_totals_now(struct catalog *catalog, struct catalog_totals *totals)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(catalog, &reader);

	return r < 0 ? r : catalog_get_totals(reader, totals);
}

/* ---- changes for the observer ------------------------------------------------------ */

static const size_t sizes[DELTA_KINDS] = {
	[DELTA_NAMES] = sizeof(struct delta_name),
	[DELTA_DIRS] = sizeof(struct delta_dir),
	[DELTA_FILES] = sizeof(struct delta_file),
	[DELTA_REDUNDANCY] = sizeof(struct delta_flip),
	[DELTA_HOLDERS] = sizeof(uint64_t),
	[DELTA_GROUPS] = sizeof(struct delta_group),
	[DELTA_FOLDER_GROUPS] = sizeof(struct delta_folder_group),
	[DELTA_ERRORS] = sizeof(struct delta_error),
};

void commit_delta_free(struct commit_delta *delta)
{
	bytes_free(&delta->text);
	for (size_t i = 0; i < DELTA_KINDS; i++)
		bytes_free(&delta->lists[i]);
}

int commit_delta_add(struct commit_delta *delta, enum delta_kind kind, const void *change)
{
	return bytes_append(&delta->lists[kind], change, sizes[kind]);
}

const void *commit_delta_list(const struct commit_delta *delta, enum delta_kind kind, size_t *count)
{
	*count = delta->lists[kind].length / sizes[kind];
	return delta->lists[kind].data;
}

const void *commit_delta_at(const struct commit_delta *delta, enum delta_kind kind, size_t index)
{
	const struct bytes *list = &delta->lists[kind];
	size_t offset = index * sizes[kind];

	return offset < list->length ? list->data + offset : NULL;
}

/* ---- changes of a transaction ---------------------------------------------------------- */

int delta_add(struct catalog_writer *w, enum delta_kind kind, const void *change)
{
	return w->observed ? commit_delta_add(&w->delta, kind, change) : 0;
}

int delta_add_name(struct catalog_writer *w, uint64_t dir, struct name name, bool directory)
{
	const struct delta_name delta = {.dir = dir,
					 .offset = (uint32_t)w->delta.text.length,
					 .length = name.length,
					 .directory = directory};
	int r = w->observed ? bytes_append(&w->delta.text, name.bytes, name.length) : 0;

	return r < 0 ? r : delta_add(w, DELTA_NAMES, &delta);
}

int delta_finish(struct catalog_writer *w)
{
	struct delta_file *files = (void *)w->delta.lists[DELTA_FILES].data;
	size_t count = w->delta.lists[DELTA_FILES].length / sizeof(*files), left = 0;
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
	w->delta.lists[DELTA_FILES].length = left * sizeof(*files);
	return 0;
}
