/* SPDX-License-Identifier: MIT */
#include "choose/refusals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/numbers.h"
#include "index/source.h"

/* Returns whether many copies, such as those on the same file system, have the same cause. */
static bool is_of_many(const struct act_result *result)
{
	switch ((int)result->outcome) {
	case ACT_OTHER_FILE_SYSTEM:
	case ACT_CANNOT_SHARE:
	case ACT_NO_LEASE:
	case ACT_MANAGED:
	case ACT_KEPT_MANAGED:
	case ACT_WRITTEN_IN_PLACE:
	case ACT_NO_LINKS:
	case ACT_NO_TRASH:
	case ACT_NOT_ATTESTED:
	case ACT_PROMISED:
	case ACT_OTHER_HOST:
	case ACT_ATTESTED_ITSELF:
		return true;
	case ACT_FAILED:
		return result->error == ENOSPC || result->error == EDQUOT ||
		       result->error == EROFS || result->error == EMLINK ||
		       result->error == EOVERFLOW;
	default:
		return false;
	}
}

static const char *failure_text(int error)
{
	if (error == EMLINK)
		return "the kept file has as many hard links as its file system allows";
	if (error == EOVERFLOW) /* see file_copy() */
		return "the file system of the destination cannot store the time of the file";
	return error_text(error);
}

/* Logs a cause for count copies, of which the first has this path. */
static void explain(const struct refusals *refusals, const struct act_result *result,
		    const char *path, uint64_t count)
{
	CLEANUP_BYTES struct bytes text = {0};
	char number[NUMBER_TEXT_MAX];
	const char *copies = quote_path(path);

	if (count > 1 && bytes_format(&text, "%s copies, of which the first is %s",
				      number_format(number, count), copies) == 0)
		copies = bytes_text(&text);
	if (!copies)
		return;
	if (result->outcome == ACT_FAILED && result->inside)
		log_warning("cannot %s %s: %s in it: %s", refusals->verb, copies,
			    quote_path(result->inside), failure_text(result->error));
	else if (result->outcome == ACT_FAILED)
		log_warning("cannot %s %s: %s", refusals->verb, copies,
			    failure_text(result->error));
	else if (result->outcome == ACT_LEFTOVER)
		log_warning("cannot rename %s back; the file is now %s in the same folder", copies,
			    quote_path(result->leftover));
	else if (result->inside)
		log_warning("skipped %s: %s in it: %s", copies, quote_path(result->inside),
			    act_outcome_text(result->outcome));
	else
		log_warning("skipped %s: %s", copies, act_outcome_text(result->outcome));
}

/* Returns the counted cause of the result, or NULL. */
static struct refusal *find(struct refusals *refusals, const struct act_result *result)
{
	for (size_t i = 0; i < refusals->counted_count; i++) {
		struct refusal *refusal = &refusals->counted[i];

		if (refusal->outcome == result->outcome &&
		    (result->outcome != ACT_FAILED || refusal->error == result->error))
			return refusal;
	}
	return NULL;
}

void refusals_add(struct refusals *refusals, const struct act_file *copy,
		  const struct act_result *result)
{
	struct refusal *refusal = find(refusals, result);
	CLEANUP_BYTES struct bytes path = {0};

	refusals->count++;
	if (refusal) {
		refusal->count++;
		return;
	}
	if (source_absolute_path(refusals->sources, copy->source, copy->path, &path) < 0 ||
	    !bytes_text(&path))
		return;
	if (!is_of_many(result)) {
		explain(refusals, result, bytes_text(&path), 1);
		return;
	}
	refusals->counted[refusals->counted_count++] =
		(struct refusal){result->outcome, result->error, 1, strdup(bytes_text(&path))};
}

bool refusals_concern_all(const struct refusals *refusals, const struct act_result *result)
{
	const struct sources *sources = refusals->sources;
	struct stat first, other;

	if (result->outcome != ACT_CANNOT_SHARE || sources->cross_mounts)
		return false;
	for (size_t i = 0; i < sources->count; i++) {
		if (fstat(sources->list[i].fd, i == 0 ? &first : &other) < 0 ||
		    (i > 0 && first.st_dev != other.st_dev))
			return false;
	}
	return true;
}

void refusals_add_rest(struct refusals *refusals, const struct act_result *result, uint64_t count)
{
	struct refusal *refusal = find(refusals, result);

	refusals->count += count;
	if (refusal)
		refusal->count += count;
}

void refusals_end(struct refusals *refusals)
{
	for (size_t i = 0; i < refusals->counted_count; i++) {
		struct refusal *refusal = &refusals->counted[i];
		const struct act_result result = {.outcome = refusal->outcome,
						  .error = refusal->error};

		if (refusal->first)
			explain(refusals, &result, refusal->first, refusal->count);
		free(refusal->first);
	}
	refusals->counted_count = 0;
}
