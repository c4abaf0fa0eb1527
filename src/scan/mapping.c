/* SPDX-License-Identifier: MIT */
#include "scan/mapping.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/extents.h"
#include "base/hash.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "base/stop.h"
#include "base/thread.h"
#include "index/change.h"
#include "index/emptied_place.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"

/* ---- joint ranges --------------------------------------------------------------------------- */

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

/* ---- file map ------------------------------------------------------------------------------- */

/* The extents of one file on a file system that shares extents. Any thread. */

struct file_map {
	/* set before the call */
	uint64_t size;
	uint64_t space; /* of file_map_space() */
	uint32_t member; /* number of the file in the ranges */
	struct bytes *shared; /* gets the ranges that the kernel reports as shared */
	/* results */
	uint64_t own; /* bytes of content that no other file holds, each range of the disk once */
	bool incomplete; /* some bytes are not on the disk yet; they count as own */
	/* used by file_map_read(): the other ranges; like shared of struct shared_range */
	struct bytes unshared;
};

/* Sets *space to a number for the file system of fd, within which positions of extents are unique.
 * The subvolumes of a btrfs have different st_dev, and one space. Returns 0 or -errno. */
static int file_map_space(int fd, uint64_t *space)
{
	struct extent_disk disk;
	int r = extents_find_disk(fd, &disk);

	if (r == 0)
		*space = hash64(&disk, sizeof(disk), 0);
	return r;
}

/* Returns the range of the disk that the first length bytes of the extent take. Where a range is in
 * the compressed bytes of an extent, the kernel does not report. So each compressed extent is a
 * space of its own, in which a range is where it is in the file: equal files that share the extent
 * have it at the same place. */
static struct shared_range range_of(const struct file_map *map, const struct fiemap_extent *extent,
				    uint64_t length)
{
	struct shared_range range = {map->space, extent->fe_physical, length, map->member};

	if (extent->fe_flags & FIEMAP_EXTENT_ENCODED) {
		range.space = hash64(&extent->fe_physical, sizeof(extent->fe_physical), map->space);
		range.start = extent->fe_logical;
	}
	return range;
}

static int add_extent(struct file_map *map, const struct fiemap_extent *extent)
{
	uint64_t length = size_subtract(map->size, extent->fe_logical);
	struct shared_range range;

	if (length > extent->fe_length)
		length = extent->fe_length;
	if (length == 0 || extent->fe_flags & FIEMAP_EXTENT_DATA_INLINE)
		return 0; /* after the end of the file, or in the metadata */
	if (!extent_is_placed(extent)) {
		map->incomplete = true;
		map->own += length;
		return 0;
	}
	range = range_of(map, extent, length);
	return bytes_append(extent->fe_flags & FIEMAP_EXTENT_SHARED ? map->shared : &map->unshared,
			    &range, sizeof(range));
}

static int by_start(const void *a, const void *b)
{
	const struct shared_range *x = a, *y = b;

	return x->space != y->space ? numbers_compare(x->space, y->space)
				    : numbers_compare(x->start, y->start);
}

/* Counts each byte once. btrfs does not report extents as shared that a file shares with itself. */
static void count_own(struct file_map *map)
{
	struct shared_range *own = (void *)map->unshared.data;
	size_t count = map->unshared.length / sizeof(*own);
	uint64_t end = 0;

	sort_unless_sorted(own, count, sizeof(*own), by_start);
	for (size_t i = 0; i < count; i++) {
		uint64_t start = own[i].start, last = own[i].start + own[i].length;

		if (i == 0 || own[i].space != own[i - 1].space)
			end = 0;
		if (start < end)
			start = end;
		map->own += size_subtract(last, start);
		if (end < last)
			end = last;
	}
}

/* Maps a file that is open for reading, up to its size. Returns 0, -EOPNOTSUPP if the file system
 * cannot map files, or another -errno. */
static int file_map_read(int fd, struct file_map *map)
{
	struct extents extents = {.fd = fd};
	const struct fiemap_extent *extent;
	int r;

	while ((r = extents_next(&extents, &extent)) == 0 && extent) {
		r = add_extent(map, extent);
		if (r < 0)
			break;
	}
	if (r == 0)
		count_own(map);
	bytes_free(&map->unshared);
	return r;
}

/* ---- mapping -------------------------------------------------------------------------------- */

/* The kernel writes bytes to the disk after 30 s (dirty_expire_centisecs in
 * Documentation/admin-guide/sysctl/vm.rst of Linux) plus the 5 s interval of its writers. Until
 * then, FIEMAP still shows the extents that were overwritten. */
#define WRITTEN_AFTER_S 35

/* Time until a group is mapped again of which a file could not be mapped. */
#define RETRY_S 600

/* Files that are mapped in one snapshot of the index. Pages of older states are not reused while a
 * snapshot is open. */
#define FILES_A_SNAPSHOT 256

/* A commit is due after this number of files, or after this time. */
#define COMMIT_FILES 16384
#define COMMIT_NS SECOND_NS

/* Groups that are added to the table unmapped in one transaction. */
#define GROUPS_A_COMMIT 65536

/* Shared ranges of one group that are compared with each other: 50 MiB with their edges. If a group
 * has more, only the bytes count that a file shares with nothing. */
#define RANGES_MAX ((size_t)512 << 10)

/* A file of the group that is being mapped. */
struct mapped_member {
	uint64_t file;
	uint64_t own; /* as in struct extent_record */
	enum emptied_place place;
	bool in_places; /* its names are in several places */
};

/* The work of all threads. */
struct mapping_work {
	struct catalog *catalog;
	const struct sources *sources;
	bool all; /* as in mapping_run() */
	pthread_mutex_t lock; /* for all members below */
	uint64_t after; /* the group that a thread took last */
	bool ended; /* no group is left */
	uint64_t due; /* as in mapping_run() */
	int result; /* 0, or the first -errno, which ends all threads */
};

/* The state of a thread. */
struct group_mapper {
	struct mapping_work *work;
	/* the group that is being mapped */
	struct group_record group;
	struct bytes members; /* of struct mapped_member */
	struct bytes ranges; /* of struct shared_range */
	uint32_t filesystem; /* whose space is known; 0: none */
	uint64_t space;
	uint32_t kept; /* index of the kept copy */
	/* The kept copy, or the member that an act would keep: its removal frees nothing, as it has
	 * hard links that the index does not know, or it stays because of its places. */
	uint64_t stays;
	enum emptied_place best; /* the first of the places of the members */
	/* A member could not be mapped, or has unknown hard links: any range can be held by it. */
	bool misses_ranges;
	uint64_t again_s; /* the group has to be mapped again after this time; 0: not */
	/* mapped groups that wait for a commit */
	struct bytes groups; /* of struct group_extents; their files follow each other in files */
	struct bytes files; /* of struct file_extents */
	uint64_t committed_ns;
};

static struct mapped_member *members_of(const struct group_mapper *mapper, uint32_t *count)
{
	*count = (uint32_t)(mapper->members.length / sizeof(struct mapped_member));
	return (void *)mapper->members.data;
}

/* ---- one file ------------------------------------------------------------------------ */

static uint64_t allocated_bytes(const struct attributes *attributes)
{
	uint64_t allocated = size_multiply(attributes->blocks, 512);

	return allocated < attributes->size ? allocated : attributes->size;
}

/* Returns whether the file changed shortly before now, so that bytes of it are possibly not on the
 * disk. A time in the future says nothing. */
static bool is_recent(const struct attributes *attributes, struct timespec now)
{
	int64_t age_s = now.tv_sec - attributes->ctime.tv_sec;

	return age_s >= 0 && age_s <= WRITTEN_AFTER_S;
}

static void map_again_after(struct group_mapper *mapper, uint64_t seconds)
{
	if (!mapper->again_s || seconds < mapper->again_s)
		mapper->again_s = seconds;
}

/* Maps an open file. The space of its file system is asked for only if another one was mapped last.
 */
static int map_open(struct group_mapper *mapper, int fd, uint32_t filesystem, struct file_map *map)
{
	int r = 0;

	if (mapper->filesystem != filesystem)
		r = file_map_space(fd, &mapper->space);
	mapper->filesystem = r == 0 ? filesystem : 0;
	map->space = mapper->space;
	return r < 0 ? r : file_map_read(fd, map);
}

/* Notes a member that stays anyway, if an act would keep it and not the kept copy. */
static int note_staying(struct group_mapper *mapper, struct catalog_reader *reader, uint64_t file)
{
	const struct group_record *group = &mapper->group;
	bool may = false;
	int r = 0;

	if (file != group->kept && mapper->stays == group->kept)
		r = catalog_may_keep(reader, group, file, &may);
	if (r == 0 && may)
		mapper->stays = file;
	return r == -ENOENT ? 0 : r;
}

/* Notes a member that stays allocated, whatever is removed. */
static int note_held(struct group_mapper *mapper, struct catalog_reader *reader,
		     struct mapped_member *member)
{
	member->own = 0;
	mapper->misses_ranges = true;
	return note_staying(mapper, reader, member->file);
}

/* Maps one member. Of a file that cannot be mapped nothing counts as freed. */
static int map_member(struct group_mapper *mapper, struct catalog_reader *reader, uint32_t number)
{
	struct mapped_member *member =
		(struct mapped_member *)(void *)mapper->members.data + number;
	struct file_map map = {.member = number, .shared = &mapper->ranges};
	struct file_record file;
	AUTO_CLOSE int fd = -1;
	int r = catalog_get_file(reader, member->file, &file);

	if (r == 0)
		r = catalog_get_emptied(reader, &file, &member->place, &member->in_places);
	if (r == 0 && member->in_places && member->place != PLACE_LASTS)
		r = note_staying(mapper, reader, member->file);
	if (r < 0)
		return r == -ENOENT ? 0 : r; /* the group changed, and is mapped again */
	member->own = allocated_bytes(&file.attributes);
	if (file_is_held_outside(&file))
		return note_held(mapper, reader, member);
	if (mapper->group.size <= EXTENTS_UNMAPPED_MAX)
		member->own = mapper->group.size;
	if (mapper->group.size <= EXTENTS_UNMAPPED_MAX ||
	    !catalog_shares_extents(mapper->work->catalog, file.attributes.filesystem))
		return 0;
	fd = source_open_file(mapper->work->sources, reader, &file, 0);
	map.size = file.attributes.size;
	r = fd < 0 ? fd : map_open(mapper, fd, file.attributes.filesystem, &map);
	if (r == -ENOMEM || r == -EOPNOTSUPP)
		return r == -ENOMEM ? r : 0;
	member->own = r == 0 ? map.own : 0;
	mapper->misses_ranges |= r < 0;
	if (r < 0)
		map_again_after(mapper, RETRY_S);
	else if (map.incomplete || is_recent(&file.attributes, clock_now()))
		map_again_after(mapper, WRITTEN_AFTER_S + 1);
	return 0;
}

static int map_some(struct group_mapper *mapper, uint32_t first, uint32_t end)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(mapper->work->catalog, &reader);

	for (uint32_t i = first; r == 0 && i < end; i++)
		r = map_member(mapper, reader, i);
	return r;
}

/* ---- one group ----------------------------------------------------------------------- */

static int list_members(struct group_mapper *mapper, struct catalog_reader *reader)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct mapped_member member = {0};
	int r = catalog_scan_members(reader, mapper->group.id, 0, &scan);

	while (r == 0 && (r = catalog_next_member(scan, &member.file)) == 0) {
		if (member.file == mapper->group.kept)
			mapper->kept = (uint32_t)(mapper->members.length / sizeof(member));
		r = bytes_append(&mapper->members, &member, sizeof(member));
	}
	return r == -ENOENT ? 0 : r;
}

/* Notes when a group has to be mapped again; 0: not. The caller holds the lock. */
static void note_due(struct mapping_work *work, uint64_t due)
{
	if (due && (!work->due || due < work->due))
		work->due = due;
}

/* Returns whether the time of a group has come. A time that is too late was recorded before the
 * clock was set back. */
static bool is_due(const struct mapping_work *work, const struct unmapped_group *unmapped)
{
	uint64_t now = (uint64_t)clock_now().tv_sec;

	return work->all || unmapped->due <= now || unmapped->due > now + RETRY_S;
}

/* Takes the next group that is due; *group is 0 if none is left. The caller holds the lock. */
static int take_group(struct mapping_work *work, struct catalog_reader *reader, uint64_t *group)
{
	struct unmapped_group unmapped = {0};
	int r = work->result;

	while (r == 0 && !work->ended) {
		r = catalog_next_unmapped(reader, work->after, &unmapped);
		work->after = unmapped.group;
		work->ended = unmapped.group == 0;
		if (r < 0 || work->ended || is_due(work, &unmapped))
			break;
		note_due(work, unmapped.due);
	}
	*group = r == 0 && !work->ended ? unmapped.group : 0;
	return r;
}

/* Gets the next group and its members. Sets mapper->group.id to 0 at the end. */
static int next_group(struct group_mapper *mapper)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct mapping_work *work = mapper->work;
	uint64_t id = 0;
	int r = catalog_read_begin(work->catalog, &reader);

	mapper->members.length = mapper->ranges.length = 0;
	mapper->again_s = 0;
	mapper->misses_ranges = false;
	mapper->group.id = 0;
	pthread_mutex_lock(&work->lock);
	if (r == 0)
		r = take_group(work, reader, &id);
	pthread_mutex_unlock(&work->lock);
	if (r < 0 || id == 0)
		return r;
	r = catalog_get_group(reader, id, &mapper->group);
	mapper->stays = mapper->group.kept;
	return r < 0 ? r : list_members(mapper, reader);
}

/* Returns whether no act removes the member, or its removal frees nothing. */
static bool stays(const struct group_mapper *mapper, const struct mapped_member *member)
{
	return member->file == mapper->stays ||
	       place_stays_of(mapper->best, member->place, member->in_places);
}

/* Sets mapper->best. Returns whether a member stays because of its place. */
static bool find_best_place(struct group_mapper *mapper)
{
	uint32_t count;
	const struct mapped_member *members = members_of(mapper, &count);
	bool any = false;

	mapper->best = PLACE_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		if (members[i].place < mapper->best)
			mapper->best = members[i].place;
	}
	for (uint32_t i = 0; i < count; i++)
		any |= place_stays_of(mapper->best, members[i].place, members[i].in_places);
	return any;
}

/* Returns the bytes that only members hold that do not stay, each range once. */
static uint64_t joint_freed(const struct group_mapper *mapper, struct joint_member *joint)
{
	uint64_t freed = 0;
	uint32_t count;
	const struct mapped_member *members = members_of(mapper, &count);

	for (uint32_t i = 0; i < count; i++)
		joint[joint[i].leader].stays |= stays(mapper, &members[i]);
	for (uint32_t i = 0; i < count; i++) {
		if (joint[i].leader == i && !joint[i].stays)
			freed = size_add(freed, joint[i].joint);
	}
	return freed;
}

/* Adds the result of a group to those that wait for a commit. */
static int add_result(struct group_mapper *mapper, const struct joint_member *joint,
		      const struct joint_result *result)
{
	struct group_extents extents = {.group = mapper->group};
	uint64_t freed = result->outside ? 0 : result->without_kept;
	uint32_t count;
	const struct mapped_member *members = members_of(mapper, &count);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		const struct joint_member *leader = &joint[joint[i].leader];
		struct file_extents file = {members[i].file, {.own = members[i].own}};

		if (joint[i].shares) {
			file.record.sharing = members[joint[i].leader].file;
			file.record.sharers = leader->sharers;
			file.record.joint = result->outside ? 0 : leader->joint;
		}
		if (!stays(mapper, &members[i]))
			freed = size_add(freed, members[i].own);
		r = bytes_append(&mapper->files, &file, sizeof(file));
	}
	if (mapper->again_s)
		extents.due = (uint64_t)clock_now().tv_sec + mapper->again_s;
	pthread_mutex_lock(&mapper->work->lock);
	note_due(mapper->work, extents.due);
	pthread_mutex_unlock(&mapper->work->lock);
	extents.count = count;
	extents.retained = size_subtract(group_redundant(&mapper->group), freed);
	return r < 0 ? r : bytes_append(&mapper->groups, &extents, sizeof(extents));
}

static int map_group(struct group_mapper *mapper)
{
	struct joint_result result = {0};
	uint32_t count, step;
	AUTO_FREE struct joint_member *joint = NULL;
	struct joint_group group;
	int r = 0;

	members_of(mapper, &count);
	for (uint32_t first = 0; r == 0 && first < count && !stop_requested(); first += step) {
		step = count - first < FILES_A_SNAPSHOT ? count - first : FILES_A_SNAPSHOT;
		r = map_some(mapper, first, first + step);
		/* too many to compare: the lists of the next files are not needed */
		if (mapper->ranges.length > RANGES_MAX * sizeof(struct shared_range))
			mapper->ranges.length = (RANGES_MAX + 1) * sizeof(struct shared_range);
	}
	if (r < 0 || stop_requested())
		return r;
	group = (struct joint_group){(const void *)mapper->ranges.data,
				     mapper->ranges.length / sizeof(struct shared_range), count,
				     mapper->kept};
	joint = calloc(count ? count : 1, sizeof(*joint));
	if (!joint)
		return -ENOMEM;
	if (group.count <= RANGES_MAX)
		r = joint_ranges_find(&group, joint, &result);
	result.outside |= mapper->misses_ranges;
	if (r == 0 && find_best_place(mapper))
		result.without_kept = joint_freed(mapper, joint);
	return r < 0 ? r : add_result(mapper, joint, &result);
}

/* ---- all groups ---------------------------------------------------------------------- */

static int commit_body(struct catalog_writer *w, void *context)
{
	const struct group_mapper *mapper = context;
	const struct file_extents *files = (const void *)mapper->files.data;
	const struct group_extents *groups = (const void *)mapper->groups.data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < mapper->groups.length / sizeof(*groups); i++) {
		struct group_extents group = groups[i];

		group.files = files;
		files += group.count;
		r = catalog_set_extents(w, &group);
	}
	return r;
}

static int commit(struct group_mapper *mapper)
{
	int r = mapper->groups.length > 0
			? catalog_write(mapper->work->catalog, commit_body, mapper)
			: 0;

	mapper->groups.length = mapper->files.length = 0;
	mapper->committed_ns = clock_monotonic_ns();
	return r;
}

static bool is_commit_due(const struct group_mapper *mapper)
{
	return mapper->files.length >= COMMIT_FILES * sizeof(struct file_extents) ||
	       clock_monotonic_ns() - mapper->committed_ns >= COMMIT_NS;
}

static int map_groups(struct group_mapper *mapper)
{
	int r = next_group(mapper);

	while (r == 0 && mapper->group.id && !stop_requested()) {
		r = map_group(mapper);
		if (r == 0 && is_commit_due(mapper))
			r = commit(mapper);
		if (r == 0)
			r = next_group(mapper);
	}
	return r < 0 ? r : commit(mapper);
}

/* Runs in each thread. */
static void *map_all(void *context)
{
	struct mapping_work *work = context;
	struct group_mapper mapper = {.work = work, .committed_ns = clock_monotonic_ns()};
	int r = map_groups(&mapper);

	pthread_mutex_lock(&work->lock);
	if (work->result == 0)
		work->result = r;
	pthread_mutex_unlock(&work->lock);
	bytes_free(&mapper.members);
	bytes_free(&mapper.ranges);
	bytes_free(&mapper.groups);
	bytes_free(&mapper.files);
	return NULL;
}

/* Groups that are passed in one transaction. */
struct passing {
	uint64_t after;
	uint64_t next; /* after the transaction */
};

static int pass_body(struct catalog_writer *w, void *context)
{
	struct passing *passing = context;

	passing->next = passing->after; /* the body can run again */
	return catalog_map_again(w, &passing->next, GROUPS_A_COMMIT);
}

int mapping_begin_again(struct catalog *catalog)
{
	struct passing passing = {0};
	int r;

	do {
		r = catalog_write(catalog, pass_body, &passing);
		passing.after = passing.next;
	} while (r == 0 && passing.after && !stop_requested());
	return r;
}

int mapping_run(struct catalog *catalog, const struct sources *sources, bool all, uint64_t *due)
{
	struct mapping_work work = {.catalog = catalog, .sources = sources, .all = all};
	int r;

	pthread_mutex_init(&work.lock, NULL);
	r = threads_run(all ? threads_that_compute() : 1, map_all, &work);
	pthread_mutex_destroy(&work.lock);
	*due = work.due;
	return r < 0 ? r : work.result;
}
