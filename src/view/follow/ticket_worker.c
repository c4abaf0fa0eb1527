/* SPDX-License-Identifier: MIT */
#include "view/follow/ticket_worker.h"

#include "base/clock.h"
#include "base/stop.h"
#include "base/thread.h"

void ticket_worker_init(struct ticket_worker *worker)
{
	*worker = (struct ticket_worker){0};
	pthread_mutex_init(&worker->lock, NULL);
	timed_wait_init(&worker->changed);
}

void ticket_worker_deinit(struct ticket_worker *worker)
{
	pthread_cond_destroy(&worker->changed);
	pthread_mutex_destroy(&worker->lock);
}

int ticket_worker_start(struct ticket_worker *worker, void *(*run)(void *context), void *context)
{
	int r = thread_start(&worker->thread, run, context);

	worker->runs = r == 0;
	return r;
}

void ticket_worker_stop(struct ticket_worker *worker)
{
	if (!worker->runs)
		return;
	pthread_mutex_lock(&worker->lock);
	worker->ending = true;
	ticket_worker_wake(worker);
	pthread_mutex_unlock(&worker->lock);
	pthread_join(worker->thread, NULL);
	worker->runs = false;
}

uint64_t ticket_worker_request_next(struct ticket_worker *worker)
{
	uint64_t ticket;

	pthread_mutex_lock(&worker->lock);
	ticket = ++worker->wanted;
	ticket_worker_wake(worker);
	pthread_mutex_unlock(&worker->lock);
	return ticket;
}

void ticket_worker_request(struct ticket_worker *worker, uint64_t ticket)
{
	pthread_mutex_lock(&worker->lock);
	if (ticket > worker->wanted)
		worker->wanted = ticket;
	if (ticket <= worker->done)
		worker->done = ticket - 1;
	ticket_worker_wake(worker);
	pthread_mutex_unlock(&worker->lock);
}

void ticket_worker_wake(struct ticket_worker *worker)
{
	pthread_cond_signal(&worker->changed);
}

bool ticket_worker_wait(struct ticket_worker *worker, ticket_worker_due_fn *is_due, void *context,
			uint64_t *ticket)
{
	uint64_t until_ns = 0;
	bool ending;

	pthread_mutex_lock(&worker->lock);
	while (!worker->ending && worker->wanted <= worker->done &&
	       !is_due(context, clock_monotonic_ns(), &until_ns))
		timed_wait(&worker->changed, &worker->lock, until_ns);
	*ticket = worker->wanted > worker->done ? worker->wanted : 0;
	ending = worker->ending;
	pthread_mutex_unlock(&worker->lock);
	return !ending && !stop_requested();
}

void ticket_worker_finish(struct ticket_worker *worker, uint64_t ticket)
{
	pthread_mutex_lock(&worker->lock);
	worker->done = ticket;
	pthread_mutex_unlock(&worker->lock);
}

bool ticket_worker_pause(struct ticket_worker *worker, unsigned int pause_ms)
{
	uint64_t until_ns = clock_monotonic_ns() + pause_ms * MS_NS;
	bool ending;

	pthread_mutex_lock(&worker->lock);
	while (!worker->ending && clock_monotonic_ns() < until_ns)
		timed_wait(&worker->changed, &worker->lock, until_ns);
	ending = worker->ending;
	pthread_mutex_unlock(&worker->lock);
	return !ending;
}
