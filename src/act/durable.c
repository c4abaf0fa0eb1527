/* SPDX-License-Identifier: MIT */
#include "act/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "index/source.h"

/* Coarsest resolution of time stamps on a file system with leases (FAT). If a file changes twice
 * within this time, its ctime can be that of the first change. */
#define COARSEST_TIME_NS (2 * SECOND_NS)

/* ---- the kept file ------------------------------------------------------------------------- */

/* Finds or adds the entry of a file system. A new entry replaces the oldest one if the list is
 * full. */
static struct durable_kept *find_kept(struct durable *durable, dev_t device)
{
	struct durable_kept *found;

	for (size_t i = 0; i < durable->kept_count; i++) {
		if (durable->kept[i].device == device)
			return &durable->kept[i];
	}
	if (durable->kept_count == DURABLE_FILE_SYSTEMS) {
		durable->kept_count--;
		memmove(&durable->kept[0], &durable->kept[1],
			durable->kept_count * sizeof(durable->kept[0]));
	}
	found = &durable->kept[durable->kept_count++];
	*found = (struct durable_kept){.device = device};
	return found;
}

/* Returns 1 if the file did not change since the last syncfs began, 0 if it possibly did, or
 * -errno. An act is planned before its first syncfs, so an unchanged signature is enough in most
 * cases. ctime is checked as well, because a second change in the same clock tick does not move
 * it. */
static int is_synced(const struct durable_kept *kept, const struct held *held,
		     const struct sources *sources, const struct attributes *planned)
{
	struct attributes now;
	int r = source_attributes(sources->catalog, held->fd, &now);

	if (r < 0)
		return r;
	return kept->synced_at.tv_sec > 0 && attributes_same_signature(&now, planned) &&
	       clock_ns(now.ctime) <= clock_ns(kept->synced_at) - COARSEST_TIME_NS;
}

int durable_ensure_kept(struct durable *durable, const struct held *held,
			const struct sources *sources, const struct attributes *planned)
{
	struct durable_kept *kept = find_kept(durable, held->status.st_dev);
	struct timespec now = clock_now();
	int r = is_synced(kept, held, sources, planned);

	if (r != 0)
		return r < 0 ? r : 0;
	if (syncfs(held->fd) < 0)
		return -errno;
	kept->synced_at = now;
	return 0;
}

/* ---- changed names ------------------------------------------------------------------------- */

void durable_note_directory(struct durable *durable, int directory, dev_t device)
{
	int opened;

	for (size_t i = 0; i < durable->changed_count; i++) {
		if (durable->changed[i].device == device)
			return;
	}
	opened = durable->changed_count < DURABLE_FILE_SYSTEMS
			 ? open_beneath(directory, "", O_RDONLY | O_DIRECTORY, true)
			 : -EMFILE;
	if (opened < 0)
		durable->more_changed = true;
	else
		durable->changed[durable->changed_count++] =
			(struct durable_changed){.device = device, .directory = opened};
}

int durable_sync_changed(const struct durable *durable)
{
	if (durable->more_changed)
		sync();
	for (size_t i = 0; i < durable->changed_count; i++) {
		if (syncfs(durable->changed[i].directory) < 0)
			return -errno;
	}
	return 0;
}

void durable_deinit(struct durable *durable)
{
	for (size_t i = 0; i < durable->changed_count; i++)
		close(durable->changed[i].directory);
	*durable = (struct durable){0};
}
