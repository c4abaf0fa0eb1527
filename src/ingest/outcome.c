/* SPDX-License-Identifier: MIT */
#include "ingest/outcome.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

/* A transaction touches pages all over the index, so few large ones are cheaper; but what was
 * compared should be seen soon and not be lost by a crash. So: when this many files have gathered, or
 * after a second and ten times as long as the last commit took. */
#define DUE_FILES (128 << 10)
#define DUE_AFTER_NS UINT64_C(1000000000)
#define DUE_AFTER_COMMITS 10

void outcomes_init(struct outcomes *outcomes, struct catalog *catalog,
		   const struct ingest_watch *watch)
{
	*outcomes = (struct outcomes){.catalog = catalog,
				      .watch = watch,
				      .committed_ns = clock_monotonic_ns()};
	pthread_mutex_init(&outcomes->lock, NULL);
	pthread_mutex_init(&outcomes->commit_lock, NULL);
}

static void free_lists(struct outcomes *lists)
{
	bytes_free(&lists->files);
	bytes_free(&lists->classes);
	bytes_free(&lists->problems);
}

void outcomes_deinit(struct outcomes *outcomes)
{
	free_lists(outcomes);
	pthread_mutex_destroy(&outcomes->lock);
	pthread_mutex_destroy(&outcomes->commit_lock);
}

int outcomes_add_class(struct outcomes *outcomes, const struct class_outcome *class,
		       const struct file_outcome *files)
{
	struct class_outcome placed = *class;
	int r;

	pthread_mutex_lock(&outcomes->lock);
	placed.first = outcomes->files.length / sizeof(*files);
	r = bytes_append(&outcomes->files, files, class->count * sizeof(*files));
	if (r == 0)
		r = bytes_append(&outcomes->classes, &placed, sizeof(placed));
	pthread_mutex_unlock(&outcomes->lock);
	return r;
}

int outcomes_add_problem(struct outcomes *outcomes, const struct problem_outcome *problem)
{
	int r;

	pthread_mutex_lock(&outcomes->lock);
	r = bytes_append(&outcomes->problems, problem, sizeof(*problem));
	pthread_mutex_unlock(&outcomes->lock);
	return r;
}

/* ---- committing ---------------------------------------------------------------------- */

static int commit_class(struct catalog_writer *w, const struct ingest_watch *watch,
			const struct class_outcome *class, const struct file_outcome *files)
{
	struct content_change change = {.group = class->group};
	int r = 0;

	/* it may be equal to what came back: left for later */
	if (watch && !class->group && watch->unsure(watch->context, class->size))
		return 0;
	if (class->count > 1 && !class->group)
		r = catalog_add_group(w, class->hash, class->size, &change.group);
	for (size_t i = 0; r == 0 && i < class->count; i++) {
		change.file = files[i].file;
		change.digest = files[i].digest;
		change.head = files[i].head;
		r = catalog_set_content(w, &change);
		if (r == CONTENT_STALE)
			r = 0; /* it changed meanwhile and is read again */
		if (r == 0)
			r = catalog_set_error(w, ERROR_FILE, change.file, 0);
	}
	return r;
}

static int commit_problem(struct catalog_writer *w, const struct problem_outcome *problem)
{
	struct name_change change = {.kind = NAME_UPDATE_FILE,
				     .id = problem->file,
				     .attributes = problem->attributes};

	if (problem->error)
		return catalog_set_error(w, ERROR_FILE, problem->file, problem->error);
	return catalog_apply(w, &change, 1, 0);
}

static int commit_body(struct catalog_writer *w, void *context)
{
	const struct outcomes *lists = context;
	const struct class_outcome *classes = (const void *)lists->classes.data;
	const struct file_outcome *files = (const void *)lists->files.data;
	const struct problem_outcome *problems = (const void *)lists->problems.data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < lists->classes.length / sizeof(*classes); i++)
		r = commit_class(w, lists->watch, &classes[i], files + classes[i].first);
	for (size_t i = 0; r == 0 && i < lists->problems.length / sizeof(*problems); i++)
		r = commit_problem(w, &problems[i]);
	return r;
}

/* Holds commit_lock. */
static int commit_gathered(struct outcomes *outcomes)
{
	struct outcomes taken = {.watch = outcomes->watch};
	uint64_t begun = clock_monotonic_ns();
	int r;

	pthread_mutex_lock(&outcomes->lock);
	taken.files = outcomes->files;
	taken.classes = outcomes->classes;
	taken.problems = outcomes->problems;
	outcomes->files = outcomes->classes = outcomes->problems = (struct bytes){0};
	pthread_mutex_unlock(&outcomes->lock);
	r = taken.classes.length || taken.problems.length
		    ? catalog_write(outcomes->catalog, commit_body, &taken)
		    : 0;
	free_lists(&taken);
	outcomes->committed_ns = clock_monotonic_ns();
	outcomes->commit_took_ns = outcomes->committed_ns - begun;
	return r;
}

static bool is_due(struct outcomes *outcomes)
{
	uint64_t waited = clock_monotonic_ns() - outcomes->committed_ns;
	size_t files;

	pthread_mutex_lock(&outcomes->lock);
	files = outcomes->files.length / sizeof(struct file_outcome);
	pthread_mutex_unlock(&outcomes->lock);
	return files >= DUE_FILES ||
	       waited > DUE_AFTER_NS + DUE_AFTER_COMMITS * outcomes->commit_took_ns;
}

int outcomes_commit_if_due(struct outcomes *outcomes)
{
	int r = 0;

	if (pthread_mutex_trylock(&outcomes->commit_lock) != 0)
		return 0;
	if (is_due(outcomes))
		r = commit_gathered(outcomes);
	pthread_mutex_unlock(&outcomes->commit_lock);
	return r;
}

int outcomes_commit(struct outcomes *outcomes)
{
	int r;

	pthread_mutex_lock(&outcomes->commit_lock);
	r = commit_gathered(outcomes);
	pthread_mutex_unlock(&outcomes->commit_lock);
	return r;
}
