/* SPDX-License-Identifier: MIT */
#include "index/index_open.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "index/index_holder.h"

/* Logs why an index is refused as that of another user (store/index_files.h). */
static void explain_foreign(const char *folder)
{
	struct stat status;

	if (lstat(folder, &status) < 0)
		log_error("cannot use the index %s: %s; choose another with --index",
			  quote_path(folder), error_text(-errno));
	else if (S_ISLNK(status.st_mode))
		log_error("cannot use the index %s: it is a symbolic link; use the folder that it "
			  "leads to with --index",
			  quote_path(folder));
	else if (status.st_uid != geteuid())
		log_error("cannot use the index %s: it belongs to user %u; run twinfs as that user "
			  "('sudo -u \\#%u twinfs ...'), or choose another with --index",
			  quote_path(folder), (unsigned int)status.st_uid,
			  (unsigned int)status.st_uid);
	else
		log_error("cannot use the index %s: a file in it belongs to another user or is a "
			  "symbolic link; remove that file, or choose another with --index",
			  quote_path(folder));
}

void index_explain(const char *folder, int outcome)
{
	switch (outcome) {
	case CATALOG_IN_USE:
		index_holder_explain(folder);
		break;
	case CATALOG_NEWER:
		log_error("cannot use the index %s: a newer twinfs wrote it; use that version, or "
			  "choose another with --index",
			  quote_path(folder));
		break;
	case CATALOG_NO_INDEX:
		log_error("cannot find an index in %s; run 'twinfs scan'", quote_path(folder));
		break;
	case CATALOG_REMOTE:
		log_error("cannot use the index %s: locks are unreliable on a network or FUSE file "
			  "system; choose a local folder with --index",
			  quote_path(folder));
		break;
	case CATALOG_DAMAGED:
		log_error(
			"cannot use the index %s: it is damaged; run 'twinfs scan', which sets it "
			"aside and builds a new one",
			quote_path(folder));
		break;
	case CATALOG_OLDER:
		log_error(
			"cannot use the index %s: an older twinfs wrote it; run 'twinfs scan', or "
			"mount its view again, to build a new one",
			quote_path(folder));
		break;
	case CATALOG_UNSEALED:
		log_error("cannot use the index %s: another process is changing it, or it was not "
			  "closed cleanly; let its owner run 'twinfs scan', then try again",
			  quote_path(folder));
		break;
	case -EXDEV: /* logged by spool_open() */
		break;
	case -EPERM:
		explain_foreign(folder);
		break;
	case -EFBIG:
		log_error("cannot use the index %s: %s; raise the limit with 'ulimit -f "
			  "unlimited', or use another disk with --index",
			  quote_path(folder), error_text(outcome));
		break;
	case -EMFILE:
		log_error("cannot use the index %s: the limit of open files is too low; "
			  "raise the limit with 'ulimit -n 1024', see 'twinfs doctor'",
			  quote_path(folder));
		break;
	default:
		log_error("cannot use the index %s: %s; choose another with --index",
			  quote_path(folder), error_text(outcome));
		break;
	}
}

int index_open_read_only(const char *folder, struct catalog **catalog)
{
	const struct catalog_options options = {.folder = folder, .read_only = true};

	return catalog_open(catalog, &options);
}
