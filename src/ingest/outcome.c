/* SPDX-License-Identifier: MIT */
#include "ingest/outcome.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/memory_limit.h"
#include "base/thread.h"
#include "base/timed_wait.h"
#include "catalog/errors.h"
#include "catalog/query.h"

/* A transaction touches pages all over the index, so few large ones are cheaper; but what was
 * compared should be seen soon and not be lost by a crash. So: when this many files have gathered,
 * or after a second and ten times as long as the last commit took. */
#define DUE_FILES (128 << 10)
#define DUE_AFTER_NS UINT64_C(1000000000)
#define DUE_AFTER_COMMITS 10
/* How often the timer asks whether something is due. */
#define TIMER_NS UINT64_C(250000000)
/* Pages that a transaction changes stay in memory until its commit, and for the next one: about so
 * many, 12 MiB, or that part of the memory that there is. In an index of many more files than that many pages hold, some 90 each, nearly each
 * file that was compared has one of its own. Transactions in the order of ids write each page once
 * all the same. */
#define COMMIT_BYTES ((size_t)12 << 20)
#define COMMIT_PART 16
#define FILES_A_PAGE 90

void outcomes_init(struct outcomes *outcomes, struct catalog *catalog,
		   const struct ingest_watch *watch)
{
	*outcomes = (struct outcomes){.catalog = catalog,
				      .watch = watch,
				      .committed_ns = clock_monotonic_ns()};
	pthread_mutex_init(&outcomes->lock, NULL);
	pthread_mutex_init(&outcomes->commit_lock, NULL);
	(void)pthread_mutex_init(&outcomes->timer_lock, NULL);
	timed_wait_init(&outcomes->timer_changed);
}

static void lists_free(struct outcome_lists *lists)
{
	bytes_free(&lists->files);
	bytes_free(&lists->classes);
	bytes_free(&lists->problems);
}

void outcomes_deinit(struct outcomes *outcomes)
{
	/* it was committed and its error told, or the work has failed before */
	if (outcomes->at_work)
		pthread_join(outcomes->thread, NULL);
	lists_free(&outcomes->lists);
	lists_free(&outcomes->taken);
	pthread_mutex_destroy(&outcomes->lock);
	pthread_mutex_destroy(&outcomes->commit_lock);
	(void)pthread_mutex_destroy(&outcomes->timer_lock);
	(void)pthread_cond_destroy(&outcomes->timer_changed);
}

int outcomes_add_class(struct outcomes *outcomes, const struct class_outcome *class,
		       const struct file_outcome *files)
{
	struct class_outcome placed = *class;
	int r;

	pthread_mutex_lock(&outcomes->lock);
	placed.first = outcomes->lists.files.length / sizeof(*files);
	r = bytes_append(&outcomes->lists.files, files, class->count * sizeof(*files));
	if (r == 0)
		r = bytes_append(&outcomes->lists.classes, &placed, sizeof(placed));
	pthread_mutex_unlock(&outcomes->lock);
	return r;
}

int outcomes_add_problem(struct outcomes *outcomes, const struct problem_outcome *problem)
{
	int r;

	pthread_mutex_lock(&outcomes->lock);
	r = bytes_append(&outcomes->lists.problems, problem, sizeof(*problem));
	pthread_mutex_unlock(&outcomes->lock);
	return r;
}

/* ---- committing ---------------------------------------------------------------------- */

/* Contents on their way into the transaction, some at a time: sorting takes a copy of them. */
#define GATHERED_FILES ((size_t)16 << 10)

struct gathered {
	struct catalog_writer *w;
	struct content_change *list;
	size_t count;
};

static int put_gathered(struct gathered *gathered)
{
	int r = catalog_set_contents(gathered->w, gathered->list, gathered->count);

	for (size_t i = 0; r == 0 && i < gathered->count; i++)
		r = catalog_set_error(gathered->w, ERROR_FILE, gathered->list[i].file, 0);
	gathered->count = 0;
	return r;
}

static int gather_class(struct gathered *gathered, const struct ingest_watch *watch,
			const struct class_outcome *class, const struct file_outcome *files)
{
	struct hash128 hash = {0};
	uint64_t group = class->group;
	int r = 0;

	/* it may be equal to what came back: left for later */
	if (watch && !group && watch->unsure(watch->context, class->size))
		return 0;
	if (class->count > 1 && !group)
		r = catalog_add_group(gathered->w, class->hash, class->size, &group);
	if (class->whole && !group)
		hash = class->hash;
	for (size_t i = 0; r == 0 && i < class->count; i++) {
		gathered->list[gathered->count++] =
			(struct content_change){.file = files[i].file,
						.digest = files[i].digest,
						.head = files[i].head,
						.group = group,
						.hash = hash};
		if (gathered->count == GATHERED_FILES)
			r = put_gathered(gathered);
	}
	return r;
}

/* What was known of its content cannot be seen any more: it stands for no copy until it can be
 * read again. */
static int commit_error(struct catalog_writer *w, uint64_t file, int error)
{
	struct content_record content;
	int r = catalog_get_content(catalog_writer_reader(w), file, &content);

	if (r == 0)
		r = catalog_touch_files(w, &file, 1);
	if (r == 0 || r == -ENOENT)
		r = catalog_set_error(w, ERROR_FILE, file, error);
	return r;
}

static int commit_problem(struct catalog_writer *w, const struct problem_outcome *problem)
{
	struct name_change change = {.kind = NAME_UPDATE_FILE,
				     .id = problem->file,
				     .attributes = problem->attributes};

	if (problem->error)
		return commit_error(w, problem->file, problem->error);
	return catalog_apply(w, &change, 1, 0);
}

/* Classes for one transaction: count of them, of those that were taken. */
struct portion {
	const struct ingest_watch *watch;
	const struct class_outcome *classes;
	size_t count;
	size_t file_count; /* in them all */
	const struct file_outcome *files;
};

static int commit_classes(struct catalog_writer *w, void *context)
{
	const struct portion *portion = context;
	size_t capacity =
		portion->file_count < GATHERED_FILES ? portion->file_count : GATHERED_FILES;
	struct content_change *list AUTO_FREE = calloc(capacity ? capacity : 1, sizeof(*list));
	struct gathered gathered = {.w = w, .list = list};
	int r = list ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < portion->count; i++)
		r = gather_class(&gathered, portion->watch, &portion->classes[i],
				 portion->files + portion->classes[i].first);
	return r < 0 ? r : put_gathered(&gathered);
}

static int commit_problems(struct catalog_writer *w, void *context)
{
	const struct bytes *list = context;
	const struct problem_outcome *problems = (const void *)list->data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->length / sizeof(*problems); i++)
		r = commit_problem(w, &problems[i]);
	return r;
}

static int by_first_file(const void *a, const void *b, void *context)
{
	const struct class_outcome *x = a, *y = b;
	const struct file_outcome *files = context;
	uint64_t p = files[x->first].file, q = files[y->first].file;

	return p < q ? -1 : p > q;
}

/* *files: about so many belong into one transaction, of count that are spread over the index. */
static int measure_portion(struct catalog *catalog, size_t count, size_t *files)
{
	struct catalog_totals totals;
	int r = catalog_totals_now(catalog, &totals);
	uint64_t pages = r == 0 ? totals.files / FILES_A_PAGE + 1 : 1;
	size_t most = (size_t)memory_at_most(COMMIT_BYTES, COMMIT_PART) / MEMORY_PAGE_BYTES;

	*files = count * most / pages;
	if (*files < most)
		*files = most;
	return r;
}

/* Commits outcomes->taken and frees it. */
static int commit_taken(struct outcomes *outcomes)
{
	struct outcome_lists *taken = &outcomes->taken;
	struct class_outcome *classes = (void *)taken->classes.data;
	size_t count = taken->classes.length / sizeof(*classes), limit = 0;
	struct portion portion = {.watch = outcomes->watch,
				  .files = (const void *)taken->files.data};
	int r = measure_portion(outcomes->catalog, taken->files.length / sizeof(*portion.files),
				&limit);

	if (count > 0)
		qsort_r(classes, count, sizeof(*classes), by_first_file, taken->files.data);
	for (size_t i = 0; r == 0 && i < count; i += portion.count) {
		portion.classes = classes + i;
		portion.file_count = portion.count = 0;
		while (i + portion.count < count && portion.file_count < limit)
			portion.file_count += classes[i + portion.count++].count;
		r = catalog_write(outcomes->catalog, commit_classes, &portion);
	}
	if (r == 0 && taken->problems.length > 0)
		r = catalog_write(outcomes->catalog, commit_problems, &taken->problems);
	lists_free(taken);
	return r;
}

static void *commit_behind(void *context)
{
	struct outcomes *outcomes = context;
	uint64_t begun = clock_monotonic_ns();

	outcomes->error = commit_taken(outcomes);
	outcomes->committed_ns = clock_monotonic_ns();
	outcomes->commit_took_ns = outcomes->committed_ns - begun;
	atomic_store(&outcomes->done, true);
	return NULL;
}

/* Holds commit_lock, as do the next ones. */
static int settle(struct outcomes *outcomes)
{
	if (outcomes->at_work)
		pthread_join(outcomes->thread, NULL);
	outcomes->at_work = false;
	return outcomes->error;
}

static bool take(struct outcomes *outcomes)
{
	pthread_mutex_lock(&outcomes->lock);
	outcomes->taken = outcomes->lists;
	outcomes->lists = (struct outcome_lists){0};
	pthread_mutex_unlock(&outcomes->lock);
	return outcomes->taken.classes.length || outcomes->taken.problems.length;
}

/* behind: by a thread, where there can be one more */
static int commit(struct outcomes *outcomes, bool behind)
{
	int r = settle(outcomes);

	if (r < 0 || !take(outcomes))
		return r;
	atomic_store(&outcomes->done, false);
	if (behind)
		outcomes->at_work =
			pthread_create(&outcomes->thread, NULL, commit_behind, outcomes) == 0;
	if (!outcomes->at_work)
		commit_behind(outcomes);
	return outcomes->at_work ? 0 : outcomes->error;
}

static bool is_due(struct outcomes *outcomes)
{
	uint64_t waited;
	size_t files;

	if (outcomes->at_work && !atomic_load(&outcomes->done))
		return false;
	waited = clock_monotonic_ns() - outcomes->committed_ns;
	pthread_mutex_lock(&outcomes->lock);
	files = outcomes->lists.files.length / sizeof(struct file_outcome);
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
		r = commit(outcomes, true);
	pthread_mutex_unlock(&outcomes->commit_lock);
	return r;
}

static void *commit_by_time(void *context)
{
	struct outcomes *outcomes = context;

	(void)pthread_mutex_lock(&outcomes->timer_lock);
	while (!outcomes->timer_ends) {
		timed_wait(&outcomes->timer_changed, &outcomes->timer_lock,
			   clock_monotonic_ns() + TIMER_NS);
		(void)pthread_mutex_unlock(&outcomes->timer_lock);
		(void)!outcomes_commit_if_due(outcomes); /* the next commit returns its error */
		(void)pthread_mutex_lock(&outcomes->timer_lock);
	}
	(void)pthread_mutex_unlock(&outcomes->timer_lock);
	return NULL;
}

void outcomes_start_timer(struct outcomes *outcomes)
{
	outcomes->timer_ends = false;
	outcomes->timed = thread_start(&outcomes->timer, commit_by_time, outcomes) == 0;
}

void outcomes_stop_timer(struct outcomes *outcomes)
{
	if (!outcomes->timed)
		return;
	(void)pthread_mutex_lock(&outcomes->timer_lock);
	outcomes->timer_ends = true;
	(void)pthread_cond_signal(&outcomes->timer_changed);
	(void)pthread_mutex_unlock(&outcomes->timer_lock);
	(void)pthread_join(outcomes->timer, NULL);
	outcomes->timed = false;
}

int outcomes_commit_behind(struct outcomes *outcomes)
{
	int r;

	pthread_mutex_lock(&outcomes->commit_lock);
	r = commit(outcomes, true);
	pthread_mutex_unlock(&outcomes->commit_lock);
	return r;
}

int outcomes_settle(struct outcomes *outcomes)
{
	int r;

	pthread_mutex_lock(&outcomes->commit_lock);
	r = settle(outcomes);
	pthread_mutex_unlock(&outcomes->commit_lock);
	return r;
}

int outcomes_commit(struct outcomes *outcomes)
{
	int r;

	pthread_mutex_lock(&outcomes->commit_lock);
	r = commit(outcomes, false);
	pthread_mutex_unlock(&outcomes->commit_lock);
	return r;
}
