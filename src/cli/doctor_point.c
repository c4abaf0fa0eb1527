/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "base/log.h"
#include "cli/doctor.h"
#include "cli/known_index.h"
#include "index/mount_point.h"
#include "scan/status_file.h"

static void add_showing_view(struct doctor *doctor, const char *absolute)
{
	CLEANUP(showing_view_free) struct showing_view showing = {0};

	if (showing_view_find(absolute, &showing) < 0 || !showing.view)
		return;
	findings_add(&doctor->findings, VERDICT_PROBLEM, "mount point",
		     "it is in %s, a source of the view at %s",
		     quote_path(bytes_text(&showing.source)), quote_path(showing.view));
	findings_remedy(&doctor->findings, "choose a mount point outside of that source");
}

/* ---- a mounted view ------------------------------------------------------------------ */

static const char *text_of(const json_t *status, const char *key)
{
	const char *text = json_string_value(json_object_get(status, key));

	return text ? text : "?";
}

static void add_advice(struct doctor *doctor, const json_t *advice)
{
	for (size_t i = 0; i < json_array_size(advice); i++) {
		findings_add(&doctor->findings, VERDICT_NOTE, "speed",
			     "reading the view could be faster");
		findings_remedy(&doctor->findings, "%s",
				json_string_value(json_array_get(advice, i)));
	}
}

static void add_watch_remedy(struct doctor *doctor, const json_t *status)
{
	CLEANUP_BYTES struct bytes text = {0};

	if (status_words_watch_remedy(status, true, &text) < 0 || !bytes_text(&text))
		doctor->findings.error = -ENOMEM;
	else
		findings_remedy(&doctor->findings, "%s", bytes_text(&text));
}

static void add_counts(struct doctor *doctor, const json_t *status)
{
	json_int_t unwatched = json_integer_value(json_object_get(status, "unwatched"));
	json_int_t errors = json_integer_value(json_object_get(status, "errors"));

	if (unwatched > 0) {
		findings_add(&doctor->findings, VERDICT_NOTE, "watches",
			     "%" JSON_INTEGER_FORMAT " directories could not be watched: their "
			     "source is walked each minute",
			     unwatched);
		add_watch_remedy(doctor, status);
	}
	if (errors > 0) {
		findings_add(&doctor->findings, VERDICT_NOTE, "errors",
			     "%" JSON_INTEGER_FORMAT " files or directories could not be read",
			     errors);
		findings_remedy(&doctor->findings, "read .twinfs/errors of the view");
	}
}

static void examine_view(struct doctor *doctor, const char *view)
{
	json_auto_t *status = NULL;
	int r = status_file_read(view, &status);

	if (r < 0) {
		findings_add(&doctor->findings, VERDICT_PROBLEM, "view",
			     "cannot read the status of the view: %s", error_text(r));
		findings_remedy(
			&doctor->findings, "%s",
			r == -EACCES
				? "run twinfs doctor as the user who mounted the view"
				: "unmount the view with 'fusermount3 -uz' and mount it again");
		return;
	}
	if (json_object_get(status, "problem")) {
		findings_add(&doctor->findings, VERDICT_PROBLEM, "view",
			     "the view cannot update its index: %s", text_of(status, "problem"));
		findings_remedy(&doctor->findings, "%s %s", status_words_stuck_remedy(status),
				text_of(status, "index"));
	} else {
		findings_add(&doctor->findings, VERDICT_OK, "view",
			     "the view is mounted, and %s; watch: %s", text_of(status, "state"),
			     text_of(status, "watch"));
	}
	add_counts(doctor, status);
	add_advice(doctor, json_object_get(status, "advice"));
}

/* ---- all ----------------------------------------------------------------------------- */

static void examine_judged(struct doctor *doctor, const struct mount_point_judgement *judgement)
{
	bool is_free = judgement->state == MOUNT_POINT_FREE;
	bool is_unreachable = judgement->state == MOUNT_POINT_UNREACHABLE;

	if (judgement->state == MOUNT_POINT_LIVE) {
		examine_view(doctor, judgement->view);
		return;
	}
	findings_add(&doctor->findings, is_free ? VERDICT_OK : VERDICT_PROBLEM, "mount point",
		     "it %s%s%s", mount_point_cause(judgement->state), is_unreachable ? ": " : "",
		     is_unreachable ? error_text(judgement->error) : "");
	if (is_free)
		add_showing_view(doctor, judgement->absolute);
	else
		findings_remedy(&doctor->findings, "%s", mount_point_remedy(judgement->state));
}

void doctor_examine_mount_point(struct doctor *doctor, const char *given)
{
	CLEANUP(mount_point_judgement_free) struct mount_point_judgement judgement = {0};
	int r = mount_point_judge(given, &judgement);

	if (r < 0) {
		doctor->findings.error = r;
		return;
	}
	findings_about(&doctor->findings, "mount point",
		       judgement.absolute ? judgement.absolute : given);
	examine_judged(doctor, &judgement);
	findings_about(&doctor->findings, "machine", NULL);
}
