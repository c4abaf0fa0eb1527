/* SPDX-License-Identifier: MIT */
#include "index/served_options.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/quote.h"
#include "catalog/query.h"
#include "catalog/scan_settings.h"

/* Room for --min-size or --disk with its value. */
#define OPTION_TEXT_BYTES 64

/* Logs that an option of the command differs from that of the process that maintains the index.
 *
 * asked, known	both options as on the command line
 */
static int refuse(const struct served_options *options, const char *asked, const char *known)
{
	AUTO_FREE char *mount_point = NULL;
	pid_t pid = 0;
	int r = catalog_owner(options->folder, &pid, &mount_point);

	if (options->own)
		log_error("cannot use the index %s with %s: the last scan had %s; use the same "
			  "option, or run 'twinfs scan' with the other one first",
			  quote_path(options->folder), asked, known);
	else if (r == 0 && pid != 0 && mount_point[0] != '\0')
		log_error("cannot use the index with %s: the view at %s maintains the index with "
			  "%s; use the options of the view, unmount the view, or choose another "
			  "index with --index",
			  asked, quote_path(mount_point), known);
	else
		log_error("cannot use the index %s with %s: the last scan had %s; use the same "
			  "options, or %s",
			  quote_path(options->folder), asked, known,
			  options->settings->no_scan
				  ? "omit --no-scan"
				  : "try again when no other process uses the index");
	return -EXDEV;
}

static int append_globs(struct bytes *text, const struct bytes *globs)
{
	const char *glob = (const char *)globs->data;
	int r = 0;

	if (globs->length == 0)
		return bytes_append_text(text, "no --exclude");
	for (size_t at = 0; r == 0 && at < globs->length; at += strlen(glob + at) + 1)
		r = bytes_format(text, "%s--exclude=%s", at > 0 ? " " : "", quote_path(glob + at));
	return r;
}

/* Checks --exclude. Further globs are filters, but the index lacks the names that only the last
 * scan left out. */
static int check_excludes(const struct served_options *options, const struct scan_settings *known)
{
	CLEANUP_SCAN_SETTINGS struct scan_settings asked = {0};
	CLEANUP_BYTES struct bytes asked_text = {0};
	CLEANUP_BYTES struct bytes known_text = {0};
	int r;

	if (options->settings->excludes.count == 0)
		return 0;
	r = scan_settings_set_excludes(&asked, options->settings->excludes.items);
	if (r < 0 ||
	    (options->use == INDEX_EXACT ? bytes_compare(&asked.excludes, &known->excludes) == 0
					 : scan_settings_exclude_all(&asked, known)))
		return r;
	r = append_globs(&asked_text, &asked.excludes);
	if (r == 0)
		r = append_globs(&known_text, &known->excludes);
	if (r < 0 || !bytes_text(&asked_text) || !bytes_text(&known_text))
		return -ENOMEM;
	return refuse(options, bytes_text(&asked_text), bytes_text(&known_text));
}

static const char *file_systems_option(bool cross)
{
	return cross ? "--cross-file-systems" : "--one-file-system";
}

/* Checks --cross-file-systems. An act without this option must not change files of other file
 * systems, even if the index has such files. */
static int check_file_systems(const struct served_options *options,
			      const struct scan_settings *known)
{
	const struct index_settings *settings = options->settings;

	if (settings->cross_file_systems == known->cross_mounts ||
	    (options->own && (!known->recorded || settings->cross_file_systems)))
		return 0;
	if (settings->file_systems_given)
		return refuse(options, file_systems_option(settings->cross_file_systems),
			      file_systems_option(known->cross_mounts));
	if (options->use == INDEX_ACT)
		return refuse(options, "--one-file-system (the default)",
			      file_systems_option(known->cross_mounts));
	return 0;
}

static int check_disk(const struct served_options *options, const struct scan_settings *known)
{
	const struct index_settings *settings = options->settings;
	char asked[OPTION_TEXT_BYTES], before[OPTION_TEXT_BYTES];

	if (!settings->disk_given || settings->disk == known->disk)
		return 0;
	(void)snprintf(asked, sizeof(asked), "--disk=%s", index_disk_word(settings->disk));
	(void)snprintf(before, sizeof(before), "--disk=%s", index_disk_word(known->disk));
	return refuse(options, asked, before);
}

static int check_min_size(const struct served_options *options, struct catalog_reader *reader)
{
	const struct index_settings *settings = options->settings;
	char asked[OPTION_TEXT_BYTES], known[OPTION_TEXT_BYTES];
	uint64_t min_size;
	int r = catalog_get_min_size(reader, &min_size);

	if (r < 0)
		return r;
	if (!settings->min_size_given || settings->min_size == min_size ||
	    (settings->min_size > min_size && options->use != INDEX_EXACT))
		return 0;
	(void)snprintf(asked, sizeof(asked), "--min-size=%" PRIu64, settings->min_size);
	(void)snprintf(known, sizeof(known), "--min-size=%" PRIu64, min_size);
	return refuse(options, asked, known);
}

/* Refuses options while another process updates the index: a part of the index is then from an
 * earlier scan, possibly with other options. */
static int check_unfinished(const struct served_options *options)
{
	const struct index_settings *settings = options->settings;

	if (!options->unfinished || !settings->file_systems_given)
		return 0;
	log_error("cannot use the index %s with %s: %s", quote_path(options->folder),
		  file_systems_option(settings->cross_file_systems),
		  settings->no_scan
			  ? "its last scan has not ended; omit --no-scan"
			  : "another process is changing it; try again when it has finished");
	return -EXDEV;
}

int served_options_check(const struct served_options *options, struct catalog_reader *reader)
{
	CLEANUP_SCAN_SETTINGS struct scan_settings known = {0};
	int r = check_unfinished(options);

	if (r == 0)
		r = catalog_get_scan_settings(reader, &known);
	if (options->own)
		return r < 0 ? r : check_file_systems(options, &known);
	if (r == 0)
		r = check_min_size(options, reader);
	if (r == 0)
		r = check_excludes(options, &known);
	if (r == 0)
		r = check_file_systems(options, &known);
	return r < 0 ? r : check_disk(options, &known);
}
