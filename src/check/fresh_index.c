/* SPDX-License-Identifier: MIT */
#include "check/fresh_index.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/directory.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/stop.h"
#include "index/index_open.h"
#include "source/source.h"

/* Name in the folder of the index. */
#define FOLDER "check"

/* Removes the folder and its files. Succeeds if it does not exist. */
static int remove_folder(const char *folder)
{
	AUTO_CLOSE int fd = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	r = directory_remove_files(fd);
	return r == 0 && rmdir(folder) < 0 ? -errno : r;
}

/* Removes the leftovers of a check that was killed. */
static int remove_leftover(const char *folder)
{
	AUTO_FREE char *mount_point = NULL;
	pid_t pid = 0;
	int r = catalog_owner(folder, &pid, &mount_point);

	if (r == 0 && pid != 0) {
		log_error("cannot check the index: another process is checking it; try again when "
			  "it has finished");
		return -EBUSY;
	}
	if (r == 0 || r == -ENOENT || r == -ENOTDIR)
		r = remove_folder(folder);
	if (r < 0)
		log_error("cannot remove the previous check index %s: %s", quote_path(folder),
			  error_text(r));
	return r;
}

static int fill(struct indexing *indexing, bool contents)
{
	enum progress_when when = indexing->settings->progress;
	int r = indexing_open(indexing);

	if (r == INDEXING_IN_USE) {
		index_explain(indexing->folder, CATALOG_IN_USE);
		return -EBUSY;
	}
	indexing->ingest_settings.names_only = !contents;
	if (r == 0)
		r = indexing_names(indexing, when);
	if (r == 0 && contents && !stop_requested())
		r = indexing_contents(indexing, when);
	return r == 0 && stop_requested() ? -EINTR : r;
}

int fresh_index_make(struct fresh_index *fresh, const struct current_index *index,
		     const struct index_settings *settings, bool contents)
{
	struct indexing *indexing = &fresh->indexing;
	const char *parent = catalog_folder(index->catalog);
	int r;

	*fresh = (struct fresh_index){.indexing = {.settings = settings, .beside = index->catalog}};
	if (asprintf(&indexing->folder, "%s/" FOLDER, parent) < 0) {
		indexing->folder = NULL;
		return -ENOMEM;
	}
	r = remove_leftover(indexing->folder);
	for (size_t i = 0; r == 0 && i < index->sources->count; i++)
		r = text_list_add(&indexing->paths, index->sources->list[i].path,
				  strlen(index->sources->list[i].path));
	if (r < 0)
		return r;
	fresh->made = true;
	return fill(indexing, contents);
}

void fresh_index_remove(struct fresh_index *fresh)
{
	AUTO_FREE char *folder = TAKE(fresh->indexing.folder);
	int r = 0;

	indexing_close(&fresh->indexing);
	if (fresh->made)
		r = remove_folder(folder);
	if (r < 0)
		log_warning("cannot remove %s: %s", quote_path(folder), error_text(r));
	fresh->made = false;
}
