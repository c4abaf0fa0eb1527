/* SPDX-License-Identifier: MIT */
#include "scan/results.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "index/change.h"
#include "index/query.h"

/* A commit is due after this number of files, or after a time: a second plus ten times the duration
 * of the last commit. Transactions change pages all over the index, so a few large ones are cheaper
 * than many small ones. But results should be visible soon and survive a crash. */
#define DUE_FILES (128 << 10)
#define DUE_AFTER_NS SECOND_NS
#define DUE_AFTER_COMMITS 10
/* Interval at which the timer checks whether a commit is due. */
#define TIMER_NS (250 * MS_NS)
/* Limit of the pages that a transaction changes: 12 MiB, or a part of the memory. Changed pages
 * stay in memory until the commit, and for the next transaction. A page has the records of about 90
 * files. In a large index nearly each compared file is on its own page. Transactions in the order
 * of ids then write each page only once. */
#define COMMIT_BYTES ((size_t)12 << 20)
#define COMMIT_PART 16
#define FILES_A_PAGE 90

void results_init(struct results *results, struct catalog *catalog,
		  const struct ingest_hooks *hooks)
{
	*results = (struct results){.catalog = catalog,
				    .hooks = hooks,
				    .committed_ns = clock_monotonic_ns()};
	pthread_mutex_init(&results->lock, NULL);
	pthread_mutex_init(&results->commit_lock, NULL);
	pthread_mutex_init(&results->timer_lock, NULL);
	timed_wait_init(&results->timer_changed);
}

static void lists_free(struct result_lists *lists)
{
	bytes_free(&lists->files);
	bytes_free(&lists->classes);
	bytes_free(&lists->problems);
}

void results_deinit(struct results *results)
{
	/* the error of this commit is not needed: the work failed earlier */
	if (results->at_work)
		pthread_join(results->thread, NULL);
	lists_free(&results->lists);
	lists_free(&results->taken);
	pthread_mutex_destroy(&results->lock);
	pthread_mutex_destroy(&results->commit_lock);
	pthread_mutex_destroy(&results->timer_lock);
	pthread_cond_destroy(&results->timer_changed);
}

int results_add_class(struct results *results, const struct class_result *class,
		      const struct file_result *files)
{
	struct class_result placed = *class;
	int r;

	pthread_mutex_lock(&results->lock);
	placed.first = results->lists.files.length / sizeof(*files);
	r = bytes_append(&results->lists.files, files, class->count * sizeof(*files));
	if (r == 0)
		r = bytes_append(&results->lists.classes, &placed, sizeof(placed));
	pthread_mutex_unlock(&results->lock);
	return r;
}

int results_add_problem(struct results *results, const struct problem_result *problem)
{
	int r;

	pthread_mutex_lock(&results->lock);
	r = bytes_append(&results->lists.problems, problem, sizeof(*problem));
	pthread_mutex_unlock(&results->lock);
	return r;
}

/* ---- committing ---------------------------------------------------------------------- */

/* Number of contents that are put into the transaction at a time. Sorting them needs a copy in
 * memory. */
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

static int gather_class(struct gathered *gathered, const struct ingest_hooks *hooks,
			const struct class_result *class, const struct file_result *files)
{
	struct hash128 hash = {0};
	uint64_t group = class->group;
	int r = 0;

	/* The class possibly equals a file that was added to the index during the comparison. Its
	 * files stay unread for the next comparison. */
	if (hooks && !group && hooks->has_new_rival(hooks->context, class->size))
		return 0;
	if (class->count > 1 && !group)
		r = catalog_add_group(gathered->w, class->hash, class->size, &group);
	if (class->whole && !group)
		hash = class->hash;
	for (size_t i = 0; r == 0 && i < class->count; i++) {
		gathered->list[gathered->count++] =
			(struct content_change){.file = files[i].file,
						.digest = files[i].digest,
						.prefix = files[i].prefix,
						.group = group,
						.hash = hash};
		if (gathered->count == GATHERED_FILES)
			r = put_gathered(gathered);
	}
	return r;
}

/* Records an error of a file. The content of the file is unknown until the file can be read again,
 * so the file does not count as a copy. */
static int commit_error(struct catalog_writer *w, uint64_t file, int error)
{
	struct content_record content;
	int r = catalog_get_content(catalog_writer_reader(w), file, &content);

	if (r == 0)
		r = catalog_forget_contents(w, &file, 1);
	if (r == 0 || r == -ENOENT)
		r = catalog_set_error(w, ERROR_FILE, file, error);
	return r;
}

static int commit_problem(struct catalog_writer *w, const struct problem_result *problem)
{
	struct name_change change = {.kind = NAME_UPDATE_FILE,
				     .id = problem->file,
				     .attributes = problem->attributes};

	if (problem->error)
		return commit_error(w, problem->file, problem->error);
	return catalog_apply(w, &change, 1, 0);
}

/* The classes of one transaction: count classes of results->taken. */
struct portion {
	const struct ingest_hooks *hooks;
	bool of_scan;
	const struct class_result *classes;
	size_t count;
	size_t file_count; /* number of files in all these classes */
	const struct file_result *files;
};

static int commit_classes(struct catalog_writer *w, void *context)
{
	const struct portion *portion = context;
	size_t capacity =
		portion->file_count < GATHERED_FILES ? portion->file_count : GATHERED_FILES;
	AUTO_FREE struct content_change *list = calloc(capacity ? capacity : 1, sizeof(*list));
	struct gathered gathered = {.w = w, .list = list};
	int r = list ? 0 : -ENOMEM;

	if (portion->of_scan)
		catalog_reconsider_kept(w);
	for (size_t i = 0; r == 0 && i < portion->count; i++)
		r = gather_class(&gathered, portion->hooks, &portion->classes[i],
				 portion->files + portion->classes[i].first);
	return r < 0 ? r : put_gathered(&gathered);
}

static int commit_problems(struct catalog_writer *w, void *context)
{
	const struct bytes *list = context;
	const struct problem_result *problems = (const void *)list->data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->length / sizeof(*problems); i++)
		r = commit_problem(w, &problems[i]);
	return r;
}

static int by_first_file(const void *a, const void *b, void *context)
{
	const struct class_result *x = a, *y = b;
	const struct file_result *files = context;
	uint64_t p = files[x->first].file, q = files[y->first].file;

	return p < q ? -1 : p > q;
}

/* Sets *files to the maximum number of files of one transaction, for count files that are scattered
 * over the index. */
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

/* Commits results->taken and frees it. Returns 0 or -errno. */
static int commit_taken(struct results *results)
{
	struct result_lists *taken = &results->taken;
	struct class_result *classes = (void *)taken->classes.data;
	size_t count = taken->classes.length / sizeof(*classes), limit = 0;
	struct portion portion = {.hooks = results->hooks,
				  .of_scan = results->of_scan,
				  .files = (const void *)taken->files.data};
	int r = measure_portion(results->catalog, taken->files.length / sizeof(*portion.files),
				&limit);

	if (count > 0)
		qsort_r(classes, count, sizeof(*classes), by_first_file, taken->files.data);
	for (size_t i = 0; r == 0 && i < count; i += portion.count) {
		portion.classes = classes + i;
		portion.file_count = portion.count = 0;
		while (i + portion.count < count && portion.file_count < limit)
			portion.file_count += classes[i + portion.count++].count;
		r = catalog_write(results->catalog, commit_classes, &portion);
	}
	if (r == 0 && taken->problems.length > 0)
		r = catalog_write(results->catalog, commit_problems, &taken->problems);
	lists_free(taken);
	return r;
}

static void *commit_behind(void *context)
{
	struct results *results = context;
	uint64_t begun = clock_monotonic_ns();

	results->error = commit_taken(results);
	results->committed_ns = clock_monotonic_ns();
	results->commit_took_ns = results->committed_ns - begun;
	atomic_store(&results->done, true);
	return NULL;
}

/* Waits for the background thread. Returns 0, or the -errno of the last commit. The caller of this
 * function, of take(), commit() and is_due() must hold commit_lock. */
static int join_thread(struct results *results)
{
	if (results->at_work)
		pthread_join(results->thread, NULL);
	results->at_work = false;
	return results->error;
}

static bool take(struct results *results)
{
	pthread_mutex_lock(&results->lock);
	results->taken = results->lists;
	results->lists = (struct result_lists){0};
	pthread_mutex_unlock(&results->lock);
	return results->taken.classes.length || results->taken.problems.length;
}

static int commit(struct results *results, bool behind)
{
	int r = join_thread(results);

	if (r < 0 || !take(results))
		return r;
	atomic_store(&results->done, false);
	if (behind)
		results->at_work = thread_start(&results->thread, commit_behind, results) == 0;
	if (!results->at_work)
		commit_behind(results);
	return results->at_work ? 0 : results->error;
}

static bool is_due(struct results *results)
{
	uint64_t waited;
	size_t files;

	if (results->at_work && !atomic_load(&results->done))
		return false;
	waited = clock_monotonic_ns() - results->committed_ns;
	pthread_mutex_lock(&results->lock);
	files = results->lists.files.length / sizeof(struct file_result);
	pthread_mutex_unlock(&results->lock);
	return files >= DUE_FILES ||
	       waited > DUE_AFTER_NS + DUE_AFTER_COMMITS * results->commit_took_ns;
}

int results_commit_if_due(struct results *results)
{
	int r = 0;

	if (pthread_mutex_trylock(&results->commit_lock) != 0)
		return 0;
	if (is_due(results))
		r = commit(results, true);
	pthread_mutex_unlock(&results->commit_lock);
	return r;
}

static void *commit_by_time(void *context)
{
	struct results *results = context;

	pthread_mutex_lock(&results->timer_lock);
	while (!results->timer_ends) {
		timed_wait(&results->timer_changed, &results->timer_lock,
			   clock_monotonic_ns() + TIMER_NS);
		pthread_mutex_unlock(&results->timer_lock);
		(void)!results_commit_if_due(results); /* results_commit() returns the error */
		pthread_mutex_lock(&results->timer_lock);
	}
	pthread_mutex_unlock(&results->timer_lock);
	return NULL;
}

void results_start_timer(struct results *results)
{
	results->timer_ends = false;
	results->timed = thread_start(&results->timer, commit_by_time, results) == 0;
}

void results_stop_timer(struct results *results)
{
	if (!results->timed)
		return;
	pthread_mutex_lock(&results->timer_lock);
	results->timer_ends = true;
	pthread_cond_signal(&results->timer_changed);
	pthread_mutex_unlock(&results->timer_lock);
	pthread_join(results->timer, NULL);
	results->timed = false;
}

int results_wait(struct results *results)
{
	int r;

	pthread_mutex_lock(&results->commit_lock);
	r = join_thread(results);
	pthread_mutex_unlock(&results->commit_lock);
	return r;
}

int results_commit(struct results *results, bool behind)
{
	int r;

	pthread_mutex_lock(&results->commit_lock);
	r = commit(results, behind);
	pthread_mutex_unlock(&results->commit_lock);
	return r;
}
