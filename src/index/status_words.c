/* SPDX-License-Identifier: MIT */
#include "index/status_words.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/quote.h"
#include "index/status_file.h"
#include "row/json_path.h"
#include "row/json_text.h"

/* Returns what a view does whose files are all compared. */
static const char *watching_words(const json_t *status)
{
	if (json_has_text(status, "watch", "none"))
		return "up to date as of the last walk; changes are not watched";
	if (json_has_text(status, "watch", "poll"))
		return "up to date; walking the sources for changes at intervals";
	return "up to date; watching the sources for changes";
}

/* Appends the progress of the first comparison. */
static int append_scanning(const json_t *status, struct bytes *text)
{
	int r = bytes_format(text, "scanning: %" PRIu64 " %% done",
			     status_file_number(status, "percent"));

	if (r < 0 || !json_object_get(status, "seconds_left"))
		return r;
	r = bytes_append_text(text, ", ");
	if (r == 0)
		r = progress_append_left(text, status_file_number(status, "seconds_left"));
	return r < 0 ? r : bytes_append_text(text, " left");
}

/* Appends which source does not answer; the first one, if there are several. */
static int append_silent(const json_t *status, struct bytes *text)
{
	const json_t *source = status_file_source_with(status, "silent_since");
	CLEANUP_BYTES struct bytes path = {0};
	int r = json_get_path(source, "path", &path);

	return r < 0 ? r
		     : bytes_format(text,
				    "source silent: the file system of %s does not answer, "
				    "since %s",
				    quote_bytes((const char *)path.data, path.length),
				    status_file_text(source, "silent_since"));
}

int status_words_state(const json_t *status, struct bytes *text)
{
	if (json_has_text(status, "state", "stuck"))
		return bytes_format(text, "stuck: cannot bring the index up to date: %s",
				    status_file_text(status, "problem"));
	if (json_has_text(status, "state", "source-missing"))
		return bytes_append_text(text, "source missing: its files cannot be read");
	if (json_has_text(status, "state", "source-silent"))
		return append_silent(status, text);
	if (json_has_text(status, "state", "current"))
		return bytes_append_text(text, watching_words(status));
	if (json_object_get(status, "percent"))
		return append_scanning(status, text);
	return bytes_append_text(text, json_has_text(status, "state", "comparing")
					       ? "comparing new and changed files"
					       : "scanning: reading names");
}

const char *status_words_stuck_remedy(const json_t *status)
{
	return json_has_text(status, "problem", error_text(ENOENT))
		       ? "unmount the view and mount it again, as its index was deleted:"
		       : "free space on the disk of the index:";
}

int status_words_watch_remedy(const json_t *status, bool verbose, struct bytes *text)
{
	/* only root can set a limit of the kernel, and only root uses fanotify */
	bool own = geteuid() == 0 || json_has_text(status, "watch", "fanotify");

	if (!own && !verbose)
		return 0;
	return bytes_format(text, "%s%s", own ? "" : "ask the administrator: ",
			    status_file_text(status, "remedy"));
}
