/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_TICKET_WORKER_H
#define VIEW_FOLLOW_TICKET_WORKER_H

/* A thread that works in rounds, and the tickets that wait for a round.
 *
 *	any thread --ticket_worker_request, _wake--> ticket_worker_wait() --> a round of the owner
 *	owner: is_due(), next due time --------------'                              |
 *	                                               ticket_worker_finish() <-----'
 *
 * A ticket is a number that grows with each barrier (.twinfs/sync). A round that begins after a
 * ticket was requested covers all changes made before the request.
 *
 * The owner embeds the struct and may guard its own data with the lock. Unless a comment says
 * otherwise, any thread may call a function, and the function takes the lock itself. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "index/catalog.h"

struct ticket_worker {
	pthread_mutex_t lock; /* guards all fields below but thread and runs */
	pthread_cond_t changed; /* on the monotonic clock */
	uint64_t wanted; /* highest ticket that was requested */
	uint64_t done; /* highest ticket that was answered */
	bool ending;
	pthread_t thread;
	bool runs; /* thread has to be joined */
};

void ticket_worker_init(struct ticket_worker *worker);

/* Frees the lock. The thread must have ended. */
void ticket_worker_deinit(struct ticket_worker *worker);

/* Starts the thread. Returns 0 or -errno. */
MUST_CHECK int ticket_worker_start(struct ticket_worker *worker, void *(*run)(void *context),
				   void *context);

/* Ends the thread after its current round and joins it. Does nothing if no thread runs. */
void ticket_worker_stop(struct ticket_worker *worker);

/* Requests a round for a new ticket, and returns the ticket. */
uint64_t ticket_worker_request_next(struct ticket_worker *worker);

/* Requests a round for this ticket. If the ticket was answered already, it gets another round. */
void ticket_worker_request(struct ticket_worker *worker, uint64_t ticket);

/* Ends the current wait, so that the worker examines what is due. The caller holds the lock. */
void ticket_worker_wake(struct ticket_worker *worker);

/* Returns whether a round is due at now_ns. If none is due, sets *until_ns to the latest time of
 * the next call. Called with the lock held. */
typedef bool ticket_worker_due_fn(void *context, uint64_t now_ns, uint64_t *until_ns);

/* Waits until a round is due or a ticket is requested. Only for the worker's thread.
 *
 * ticket	receives the highest ticket without an answer, 0: none
 *
 * Returns false if the thread has to end. */
MUST_CHECK bool ticket_worker_wait(struct ticket_worker *worker, ticket_worker_due_fn *is_due,
				   void *context, uint64_t *ticket);

/* Notes that the ticket was answered. */
void ticket_worker_finish(struct ticket_worker *worker, uint64_t ticket);

/* Waits for pause_ms. Returns false if the thread has to end. Only for the worker's thread. */
bool ticket_worker_pause(struct ticket_worker *worker, unsigned int pause_ms);

/* ---- duty cycle ---------------------------------------------------------------------- */

/* Duty cycle of a worker thread: the pause between two rounds of work while a program writes many
 * files. A round ends with commits, which wait for the disk and slow other writers down. The first
 * change is processed at once. After that, commits take about a fifth of the time, and rounds at
 * most four fifths. On a fast disk the pauses are short, and slow a writer down no more than long
 * ones. A ticket (.twinfs/sync) ends the pause. */

#define DUTY_CYCLE_PAUSE_MS_MIN 20
#define DUTY_CYCLE_PAUSE_MS_MAX 500
#define DUTY_CYCLE_COMMITS 4 /* the pause is at least this many times as long as the commits */
#define DUTY_CYCLE_ROUNDS 4 /* and at least the round divided by this */

/* The beginning of a round. */
struct duty_cycle {
	const struct catalog *catalog; /* borrowed */
	uint64_t began_ns;
	uint64_t commits_ns; /* of all commits before */
};

static inline struct duty_cycle duty_cycle_begin(const struct catalog *catalog)
{
	return (struct duty_cycle){catalog, clock_monotonic_ns(), catalog_commits_ns(catalog)};
}

/* Returns when the next round may begin after one that ends now, as a time of
 * clock_monotonic_ns(). */
static inline uint64_t duty_cycle_resume_ns(const struct duty_cycle *round)
{
	uint64_t now_ns = clock_monotonic_ns(), round_ns = now_ns - round->began_ns;
	uint64_t commits_ns = catalog_commits_ns(round->catalog) - round->commits_ns;
	uint64_t pause_ns = commits_ns * DUTY_CYCLE_COMMITS;

	if (pause_ns < round_ns / DUTY_CYCLE_ROUNDS)
		pause_ns = round_ns / DUTY_CYCLE_ROUNDS;
	if (pause_ns < DUTY_CYCLE_PAUSE_MS_MIN * MS_NS)
		pause_ns = DUTY_CYCLE_PAUSE_MS_MIN * MS_NS;
	if (pause_ns > DUTY_CYCLE_PAUSE_MS_MAX * MS_NS)
		pause_ns = DUTY_CYCLE_PAUSE_MS_MAX * MS_NS;
	return now_ns + pause_ns;
}

#endif
