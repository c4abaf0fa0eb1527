/* SPDX-License-Identifier: MIT */
#include "fleet/attestation_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/directory.h"
#include "base/error.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/quote.h"
#include "base/system_call.h"
#include "fleet/output_folder.h"

/* Room for a line of the file. */
#define LINE_SIZE 512

/* Room for a name. The temporary name is attested-HOST-NUMBER.jsonl.new, with another NUMBER for
 * each process, so that no process gives the file of another one its name. */
#define NAME_SIZE (sizeof("attested--.jsonl.new") + HOST_NAME_BYTES_MAX + NUMBER_DIGITS)
#define NUMBER_DIGITS 16
#define TEMPORARY_SUFFIX ".jsonl.new"

static int explain(const struct attestation_file *file, int error)
{
	const char *remedy = output_folder_remedy(error);

	if (error < 0 && error != -ENOMEM)
		log_error("cannot write the attestation to %s: %s%s%s", quote_path(file->folder),
			  error_text(error), remedy ? "; " : "", remedy ? remedy : "");
	return error;
}

/* ---- the folder ---------------------------------------------------------------------- */

static bool is_left(const char *name, const char *host)
{
	char prefix[NAME_SIZE];
	size_t length = (size_t)snprintf(prefix, sizeof(prefix), "attested-%s-", host);

	return strncmp(name, prefix, length) == 0 &&
	       strspn(name + length, "0123456789abcdef") == NUMBER_DIGITS &&
	       strcmp(name + length + NUMBER_DIGITS, TEMPORARY_SUFFIX) == 0;
}

static int remove_left(void *context, int directory, const struct dirent *entry)
{
	const struct attestation_file *file = context;

	if (!is_left(entry->d_name, file->list->host))
		return 0;
	return unlinkat(directory, entry->d_name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int attestation_file_init(struct attestation_file *file, const char *folder,
			  const struct file_list *list)
{
	bool made;

	*file = (struct attestation_file){.folder = folder, .list = list};
	file->fd = output_folder_open(folder, &made);
	return explain(file,
		       file->fd < 0 ? file->fd : directory_visit(file->fd, remove_left, file));
}

void attestation_file_deinit(struct attestation_file *file)
{
	cleanup_close(&file->fd);
	file->fd = -1;
}

/* ---- the file ------------------------------------------------------------------------ */

static int append_head(struct new_file *new, const struct file_list *list, struct timespec begun)
{
	char line[LINE_SIZE], sha256[SHA256_DIGITS + 1];
	char from[CLOCK_TEXT_MAX], to[CLOCK_TEXT_MAX];
	int length, r = clock_format_utc(from, begun);

	if (r == 0)
		r = clock_format_utc(to, clock_now());
	if (r < 0)
		return r;
	sha256_format(list->sha256, sha256);
	length = snprintf(line, sizeof(line),
			  "{\"format\":\"twinfs-attestation\",\"schema\":1,\"plan\":\"%s\","
			  "\"host\":\"%s\",\"list\":\"%s\",\"begun\":\"%s\",\"created\":\"%s\","
			  "\"rows\":%zu}\n",
			  list->plan, list->host, sha256, from, to, list->count);
	return new_file_append(new, line, (size_t)length);
}

/* The file of a content that is kept is named by its inode number and time of birth. No chmod, link
 * or rename changes these. */
static int append_row(struct new_file *new, const struct listed_file *row,
		      const struct attested *attested)
{
	char line[LINE_SIZE], sha256[SHA256_DIGITS + 1];
	int length;

	sha256_format(row->sha256, sha256);
	if (attested->state == ATTESTED_KEPT)
		length = snprintf(line, sizeof(line),
				  "{\"sha256\":\"%s\",\"size\":%" PRIu64
				  ",\"kept\":true,\"inode\":\"%016" PRIx64
				  "\",\"born\":\"%016" PRIx64 "\"}\n",
				  sha256, row->size, attested->inode, (uint64_t)attested->born_ns);
	else
		length = snprintf(line, sizeof(line),
				  "{\"sha256\":\"%s\",\"size\":%" PRIu64
				  ",\"kept\":false,\"reason\":\"%s\"}\n",
				  sha256, row->size, attested_reason(attested->state));
	return new_file_append(new, line, (size_t)length);
}

int attestation_file_write(const struct attestation_file *file, const struct attested *results,
			   struct timespec begun)
{
	const struct file_list *list = file->list;
	CLEANUP_NEW_FILE struct new_file new = {.fd = -1};
	char name[NAME_SIZE], temporary[NAME_SIZE];
	uint64_t number;
	int r;

	if (random_fill(&number, sizeof(number)) < 0)
		return explain(file, -EIO);
	(void)snprintf(name, sizeof(name), "attested-%s.jsonl", list->host);
	(void)snprintf(temporary, sizeof(temporary), "attested-%s-%016" PRIx64 TEMPORARY_SUFFIX,
		       list->host, number);
	r = new_file_begin(&new, file->fd, temporary);
	if (r == 0)
		r = append_head(&new, list, begun);
	for (size_t i = 0; r == 0 && i < list->count; i++)
		r = append_row(&new, &list->rows[i], &results[i]);
	return explain(file, r == 0 ? new_file_commit(&new, name) : r);
}
