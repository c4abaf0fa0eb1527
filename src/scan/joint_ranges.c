/* SPDX-License-Identifier: MIT */
#include "scan/joint_ranges.h"

#include <errno.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "base/sort.h"

/* The start or the end of a range. */
struct edge {
	uint64_t space;
	uint64_t position;
	uint32_t member;
	bool starts;
};

/* A sweep over all edges in ascending order. */
struct sweep {
	struct joint_member *members;
	uint32_t kept;
	struct joint_result *result;
	uint64_t ranges; /* that contain the position */
	uint64_t kept_ranges; /* of these, those of the kept member */
	/* The member of the range that started last. All ranges that contain the position are of
	 * members with its leader: each of them overlapped the one before when it started. */
	uint32_t last;
};

static int by_position(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->space != y->space)
		return numbers_compare(x->space, y->space);
	if (x->position != y->position)
		return numbers_compare(x->position, y->position);
	return x->starts - y->starts; /* adjacent ranges do not overlap */
}

static struct edge *list_edges(const struct shared_range *ranges, size_t count)
{
	struct edge *edges = calloc(2 * count + 1, sizeof(*edges));

	for (size_t i = 0; edges && i < count; i++) {
		edges[2 * i] =
			(struct edge){ranges[i].space, ranges[i].start, ranges[i].member, true};
		edges[2 * i + 1] =
			(struct edge){ranges[i].space, ranges[i].start + ranges[i].length,
				      ranges[i].member, false};
	}
	if (edges)
		qsort(edges, 2 * count, sizeof(*edges), by_position);
	return edges;
}

/* Returns the leader of a member, and shortens the way to it (Tarjan, Efficiency of a Good But Not
 * Linear Set Union Algorithm, 1975: path halving). */
static uint32_t find_leader(struct joint_member *members, uint32_t member)
{
	while (members[member].leader != member) {
		members[member].leader = members[members[member].leader].leader;
		member = members[member].leader;
	}
	return member;
}

static void unite(struct joint_member *members, uint32_t a, uint32_t b)
{
	uint32_t x = find_leader(members, a), y = find_leader(members, b);

	members[a].shares = members[b].shares = true;
	if (x == y)
		return;
	/* the lowest index leads, so the result does not depend on the order of ranges */
	if (x > y) {
		uint32_t lower = y;

		y = x;
		x = lower;
	}
	members[y].leader = x;
	members[x].joint = size_add(members[x].joint, members[y].joint);
}

/* Counts the bytes between two edges. */
static void count_bytes(struct sweep *sweep, uint64_t bytes)
{
	struct joint_member *leader;

	if (bytes == 0 || sweep->ranges == 0)
		return;
	if (sweep->ranges == 1) {
		sweep->result->outside = true;
		return;
	}
	leader = &sweep->members[find_leader(sweep->members, sweep->last)];
	leader->joint = size_add(leader->joint, bytes);
	if (sweep->kept_ranges == 0)
		sweep->result->without_kept = size_add(sweep->result->without_kept, bytes);
}

static void pass_edge(struct sweep *sweep, const struct edge *edge)
{
	bool is_kept = edge->member == sweep->kept;

	if (!edge->starts) {
		sweep->ranges--;
		sweep->kept_ranges -= is_kept;
		return;
	}
	if (sweep->ranges > 0)
		unite(sweep->members, sweep->last, edge->member);
	sweep->last = edge->member;
	sweep->ranges++;
	sweep->kept_ranges += is_kept;
}

int joint_ranges_find(const struct joint_group *group, struct joint_member *members,
		      struct joint_result *result)
{
	struct sweep sweep = {.members = members, .kept = group->kept, .result = result};
	AUTO_FREE struct edge *edges = list_edges(group->ranges, group->count);

	*result = (struct joint_result){0};
	if (!edges)
		return -ENOMEM;
	for (uint32_t i = 0; i < group->member_count; i++)
		members[i] = (struct joint_member){.leader = i};
	for (size_t i = 0; i < 2 * group->count; i++) {
		if (i > 0 && edges[i].space == edges[i - 1].space)
			count_bytes(&sweep, edges[i].position - edges[i - 1].position);
		pass_edge(&sweep, &edges[i]);
	}
	for (uint32_t i = 0; i < group->member_count; i++) {
		members[i].leader = find_leader(members, i);
		members[members[i].leader].sharers++;
	}
	return 0;
}
