/* SPDX-License-Identifier: MIT */
#include "scan/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fscrypt.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/filesystem.h"
#include "base/log.h"
#include "base/thread.h"
#include "index/mount_table.h"
#include "index/patterns.h"
#include "index/query.h"
#include "index/source.h"
#include "scan/diff.h"
#include "scan/disk.h"
#include "scan/early_files.h"
#include "scan/listing.h"

/* queue of directories --> walker threads --> batch writer --> catalog
 *        ^                      |
 *        '--- subdirectories ---'
 *
 * The walk of a new tree is breadth first. Directories get ids when they are found, so the changes
 * reach the catalog nearly in the order of its keys. The walk of a known tree is depth first.
 */

struct walk {
	struct ingest *ingest;
	struct batch_writer *writer;
	struct early_tables *early; /* NULL: no file is read */
	struct view_mounts views;
	bool marks_new_dirs; /* see struct diff_dir: the folder groups are known */
	struct walk_dir_budget budget;
	struct walk_queue queue;
	_Atomic uint64_t errors, not_entered, excluded;
	struct walk_moves moves;
};

/* If no recheck is of a tree, the calling thread works alone until open_dirs exceeds this number.
 * For fewer directories, starting threads would take longer. */
#define ALONE_DIRS 32

/* Upper bounds of the time to read a directory without its names, and the attributes of one name,
 * from the kernel's cache. */
#define DIRECTORY_NS UINT64_C(100000)
#define NAME_NS UINT64_C(20000)

/* A directory that has to be read from a disk has at least one wait for this number of names. ext4
 * reads 512 inodes ahead. */
#define NAMES_A_WAIT 512

/* Cause and remedy for a quarantine name that a walk finds. */
#define PRIVATE_NAME                                                                           \
	"an act runs, or was interrupted; run 'twinfs recover' with its index, or rename the " \
	"file if it is a copy of yours"

/* State of one thread. */
struct walker {
	struct walk *walk;
	struct listing listing;
	struct diff diff;
	struct bytes path; /* of the current directory, if the path is needed */
	int fd; /* of the current directory, or -1 */
	struct disk_waits waits;
	uint32_t filesystem; /* of the last directory; 0: none */
	bool is_view; /* that file system is a view */
	uint64_t begun_ns; /* when the read of the current directory began, without the hooks */
	long waits_before; /* as count_waits() returned it after the hooks */
	bool waited; /* that read probably had to wait for the disk */
};

/* ---- one directory ------------------------------------------------------------------- */

/* Returns true if an earlier walk or recheck has logged this error, which the index then has. */
static bool is_noted(const struct walker *walker, const struct walk_dir *dir, int error)
{
	const struct ingest *ingest = walker->walk->ingest;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct dir_record record;

	return (ingest->hooks || ingest->settings->repeats) && dir->known &&
	       catalog_read_begin(ingest->catalog, &reader) == 0 &&
	       catalog_get_dir(reader, dir->id, &record) == 0 && record.error == error;
}

/* Counts a directory that could not be read, and logs the error unless it is noted. */
static void report(struct walker *walker, const struct walk_dir *dir, int error)
{
	const struct sources *sources = walker->walk->ingest->sources;
	CLEANUP_BYTES struct bytes absolute = {0};

	atomic_fetch_add(&walker->walk->errors, 1);
	if (!is_noted(walker, dir, error) && walk_dir_path(dir, &walker->path) == 0 &&
	    source_absolute_path(sources, dir->source, bytes_text(&walker->path), &absolute) == 0)
		log_warning("cannot read directory %s: %s; its contents are skipped",
			    quote_path(bytes_text(&absolute)), error_text(error));
}

/* Returns whether the directory is in a view. All directories of a file system are in the same. */
static bool is_in_view(struct walker *walker, uint32_t filesystem)
{
	if (!filesystem || filesystem != walker->filesystem)
		walker->is_view = view_mounts_have(&walker->walk->views, walker->fd);
	walker->filesystem = filesystem;
	return walker->is_view;
}

static bool enters_mounts(const struct walker *walker, const struct walk_dir *dir)
{
	return walker->walk->ingest->settings->cross_mounts || dir->is_on_way;
}

static int list_names(struct walker *walker, const struct walk_dir *dir, uint32_t filesystem)
{
	const struct ingest *ingest = walker->walk->ingest;
	const struct ingest_settings *settings = ingest->settings;
	struct listed_dir listed = {.fd = walker->fd,
				    .filesystem = filesystem,
				    .is_new = dir->is_new,
				    .enters_mounts = enters_mounts(walker, dir),
				    .path = "",
				    .excludes = patterns_of(settings->excludes, dir->source),
				    .patterns = settings->excludes};
	int r = 0;

	if (is_in_view(walker, filesystem)) {
		walker->listing.partial = true;
		return 0;
	}
	if (exclude_has_paths(listed.excludes)) {
		r = walk_dir_path(dir, &walker->path);
		if (r < 0)
			return r;
		listed.path = bytes_text(&walker->path);
	}
	if (dir->is_on_way)
		return listing_read_operands(&walker->listing, ingest->catalog, &listed,
					     ingest->sources->operands, dir->operands);
	if (dir->scope != RECHECK_NAMES)
		return listing_read(&walker->listing, ingest->catalog, &listed);
	listed.reports_writes = ingest->hooks->reports_writes(ingest->hooks->context, dir->source);
	return listing_recheck(&walker->listing, ingest->catalog, &listed, dir->recheck);
}

/* Returns true if the name now refers to another object, or if the process lacks descriptors or
 * memory. The follower then rechecks the directory, and no error is recorded. */
static bool is_no_answer(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == -EXDEV || r == -ESTALE ||
	       r == -ENODEV || r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -EINTR;
}

/* Outcomes of reading a directory. */
enum {
	DIR_UNEXAMINED = 1, /* its attributes are unknown */
	DIR_AGAIN = 2, /* the follower must recheck it */
};

/* Returns how often the calling thread gave up its processor to wait for something. */
static long count_waits(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) < 0 ? 0 : usage.ru_nvcsw;
}

/* Has the follower watch the directory. Threads wait for each other here, which says nothing about
 * the disk. */
static void watch_dir(struct walker *walker, const struct walk_dir *dir)
{
	const struct ingest_hooks *hooks = walker->walk->ingest->hooks;
	uint64_t begun_ns = clock_monotonic_ns();

	hooks->enter(hooks->context, dir->source, walker->fd, dir->id);
	walker->begun_ns += clock_monotonic_ns() - begun_ns;
	walker->waits_before = count_waits();
}

/* Sets *of to the key of a policy. Returns false if the kernel has a policy that is newer than this
 * code. */
static bool find_key(const struct fscrypt_get_policy_ex_arg *policy,
		     struct fscrypt_key_specifier *of)
{
	switch (policy->policy.version) {
	case FSCRYPT_POLICY_V1:
		of->type = FSCRYPT_KEY_SPEC_TYPE_DESCRIPTOR;
		memcpy(of->u.descriptor, policy->policy.v1.master_key_descriptor,
		       sizeof(of->u.descriptor));
		return true;
	case FSCRYPT_POLICY_V2:
		of->type = FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER;
		memcpy(of->u.identifier, policy->policy.v2.master_key_identifier,
		       sizeof(of->u.identifier));
		return true;
	default:
		return false;
	}
}

/* Checks that the key of a directory that the kernel encrypts (fscrypt: ext4, f2fs, ubifs, ceph) is
 * there. Without the key, such a directory can be listed, but its names are ciphertext. fd must be
 * open for reading, and have STATX_ATTR_ENCRYPTED. Returns 0, also if the kernel does not know, or
 * -ENOKEY. A key that was removed while files were open counts as absent: files that are opened now
 * cannot be read. */
static int encryption_check_key(int fd)
{
	struct fscrypt_get_policy_ex_arg policy = {.policy_size = sizeof(policy.policy)};
	struct fscrypt_get_key_status_arg key = {0};

	if (ioctl(fd, FS_IOC_GET_ENCRYPTION_POLICY_EX, &policy) < 0 ||
	    !find_key(&policy, &key.key_spec) ||
	    ioctl(fd, FS_IOC_GET_ENCRYPTION_KEY_STATUS, &key) < 0)
		return 0;
	return key.status == FSCRYPT_KEY_STATUS_PRESENT ? 0 : -ENOKEY;
}

/* Opens the directory as walker->fd and has the follower watch it. Returns 0, DIR_AGAIN or -errno.
 */
static int enter_dir(struct walker *walker, struct walk_dir *dir, struct attributes *attributes)
{
	const struct ingest_hooks *hooks = walker->walk->ingest->hooks;
	const struct sources *sources = walker->walk->ingest->sources;
	int r = dir->crosses ? walk_dir_ask(dir, sources, &walker->path) : 0;

	if (r == -ETIMEDOUT)
		return r;
	r = walk_dir_open(dir, sources, &walker->walk->budget, &walker->path);
	walker->fd = r < 0 ? -1 : r;
	if (r >= 0)
		r = source_attributes(sources->catalog, walker->fd, attributes);
	if (r < 0)
		return hooks && is_no_answer(r) ? DIR_AGAIN : r;
	if (hooks && dir->expected && !attributes_same_inode(&dir->attributes, attributes))
		return DIR_AGAIN;
	/* without the key, the names are ciphertext */
	r = attributes->encrypted && !dir->is_on_way ? encryption_check_key(walker->fd) : 0;
	if (r < 0 || !hooks || dir->scope == RECHECK_NAMES)
		return r;
	watch_dir(walker, dir);
	/* Changes before the watch was added raise no event, so the attributes are read again. */
	return source_attributes(sources->catalog, walker->fd, attributes);
}

/* Returns whether a directory exists that could not be listed because it does not exist. */
static bool is_denied(struct walker *walker, const struct walk_dir *dir)
{
	struct attributes now;

	return dir->parent &&
	       walk_dir_examine(dir, walker->walk->ingest->sources, &walker->path, &now) == 0 &&
	       attributes_same_inode(&dir->attributes, &now);
}

/* Opens the directory, and reads its attributes and its names into walker->listing. Sets *error to
 * the positive errno to record for the directory, or to 0. Returns 0, DIR_UNEXAMINED, DIR_AGAIN,
 * -ENOENT if the directory is missing, or -ENOMEM. */
static int read_dir(struct walker *walker, struct walk_dir *dir, struct attributes *attributes,
		    int *error)
{
	const struct ingest_hooks *hooks = walker->walk->ingest->hooks;
	int r;

	*error = 0;
	listing_clear(&walker->listing);
	r = enter_dir(walker, dir, attributes);
	if (r == 0)
		r = list_names(walker, dir, attributes->filesystem);
	listing_hide(&walker->listing, &walker->walk->ingest->sources->own, walker->fd, dir->name,
		     attributes);
	if (hooks && is_no_answer(r))
		return DIR_AGAIN;
	if (r >= 0 || r == -ENOMEM || (r == -ENOENT && !is_denied(walker, dir)))
		return r;
	*error = -r;
	report(walker, dir, *error);
	listing_clear(&walker->listing);
	if (r == -ETIMEDOUT)
		return DIR_UNEXAMINED;
	r = 0;
	if (walker->fd < 0)
		r = walk_dir_examine(dir, walker->walk->ingest->sources, &walker->path, attributes);
	if (r < 0 && is_no_answer(r))
		return hooks ? DIR_AGAIN : -ENOENT;
	return r < 0 ? DIR_UNEXAMINED : 0;
}

/* Counts names whose attributes could not be read, and logs them with one message. Returns the
 * positive errno of the first such name, or 0. */
static int report_unsearched(struct walker *walker, const struct walk_dir *dir)
{
	const struct sources *sources = walker->walk->ingest->sources;
	CLEANUP_BYTES struct bytes absolute = {0};
	const struct listed *first = NULL;
	bool private;
	size_t count = 0;

	for (size_t i = 0; i < walker->listing.count; i++) {
		if (!walker->listing.entries[i]->error)
			continue;
		if (count++ == 0)
			first = walker->listing.entries[i];
	}
	if (!first)
		return 0;
	private = own_is_quarantine(first->name.bytes, first->name.length);
	atomic_fetch_add(&walker->walk->errors, 1);
	if (!is_noted(walker, dir, first->error) && walk_dir_path(dir, &walker->path) == 0 &&
	    source_absolute_path(sources, dir->source, bytes_text(&walker->path), &absolute) == 0 &&
	    bytes_format(&absolute, "%s%s", absolute.data[absolute.length - 1] == '/' ? "" : "/",
			 first->name.bytes) == 0)
		log_warning("cannot %s %s%s: %s; skipped", private ? "use" : "stat",
			    quote_path(bytes_text(&absolute)),
			    count > 1 ? " and other names in its directory" : "",
			    private ? PRIVATE_NAME : error_text(first->error));
	return first->error;
}

/* If the directory itself changed, adds that change. now: its present state. */
static int compare_dir(struct walker *walker, const struct walk_dir *dir,
		       struct catalog_reader *reader, const struct name_change *now)
{
	struct name_change change = *now;
	struct dir_record record = {0};
	bool recorded = dir->known ? dir->recorded : !walker->walk->marks_new_dirs;
	int r;

	/* the walk of the parent found or added the directory with these attributes */
	if (recorded && !now->error && !now->flags &&
	    attributes_equal(&dir->attributes, &now->attributes))
		return 0;
	if (dir->known) {
		r = catalog_get_dir(reader, dir->id, &record);
		if (r < 0)
			return r == -ENOENT ? -EUCLEAN : r;
		if (dir->scope == RECHECK_NAMES && !now->error) { /* the directory was not listed */
			change.error = record.error;
			change.flags = record.flags | (now->flags & DIR_PARTIAL);
			if (walker->listing.tagged)
				change.flags = (change.flags & ~(uint32_t)DIR_IS_CACHE) |
					       (now->flags & DIR_IS_CACHE);
		}
		if (record.error == change.error && record.flags == change.flags &&
		    (change.kind == NAME_FAIL_DIR ||
		     attributes_equal(&record.attributes, &change.attributes)))
			return 0;
	}
	return diff_add(&walker->diff, &change);
}

/* Queues the subdirectories that were found. filesystem: file system of the parent. */
static int push_found(struct walker *walker, struct walk_dir *parent, uint32_t filesystem)
{
	const struct diff *diff = &walker->diff;
	struct walk_dir *list = NULL, **end = &list, *last = NULL;

	for (size_t i = 0; i < diff->dir_count; i++) {
		last = walk_dir_new(parent, diff->dirs[i].name);
		if (!last) {
			walk_dir_release_list(list);
			return -ENOMEM;
		}
		last->id = diff->dirs[i].id;
		last->known = diff->dirs[i].known;
		last->is_new = !last->known;
		last->recorded = diff->dirs[i].recorded;
		last->scope = RECHECK_TREE;
		last->attributes = *diff->dirs[i].attributes;
		last->expected = true;
		last->crosses = last->is_top = last->attributes.filesystem != filesystem;
		walk_dir_set_operands(last, walker->walk->ingest->sources->operands);
		*end = last;
		end = &last->next;
	}
	walk_dir_keep(parent, &walker->fd, (unsigned int)diff->dir_count, &walker->walk->budget);
	walk_queue_push(&walker->walk->queue, list, last, diff->dir_count,
			parent->known ? WALK_NEXT : WALK_LAST);
	return 0;
}

/* Sets *has to whether the index has the inode, with its birth time. */
static int has_inode(struct catalog_reader *reader, const struct attributes *attributes, bool *has)
{
	struct file_record file = {0};
	uint64_t id;
	int r = catalog_find_inode(reader, attributes->filesystem, attributes->inode, &id);

	if (r == 0 && id)
		r = catalog_get_file(reader, id, &file);
	*has = r == 0 && id && attributes_same_inode(&file.attributes, attributes);
	return r == -ENOENT ? 0 : r;
}

/* Requires a walk if a new name is a hard link of a file that the index lacks, on a file system
 * with layers. The link made overlayfs copy a file of a lower layer, whose other names then differ
 * from the index without an event. The copy has a birth time of its own. */
static int note_copy_up(const struct walker *walker, const struct walk_dir *dir,
			struct catalog_reader *reader)
{
	const struct ingest_hooks *hooks = walker->walk->ingest->hooks;
	bool has;
	int r = 0;

	if (!hooks || !reader || !filesystem_has(walker->listing.filesystem_type, TRAIT_LAYERED))
		return 0;
	for (size_t i = 0; r == 0 && i < walker->diff.count; i++) {
		const struct name_change *change = &walker->diff.changes[i];

		if (change->kind != NAME_ADD_FILE || change->attributes.links < 2)
			continue;
		r = has_inode(reader, &change->attributes, &has);
		if (r == 0 && !has)
			hooks->needs_walk(hooks->context, dir->source, WALK_FOR_COPY_UP);
	}
	return r;
}

/* Compares the listing with the index, in one snapshot. */
static int compare(struct walker *walker, const struct walk_dir *dir, const struct recheck *recheck,
		   const struct name_change *now)
{
	struct walk *walk = walker->walk;
	char *const *excludes = patterns_of(walk->ingest->settings->excludes, dir->source);
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct diff_dir compared = {.ingest = walk->ingest,
				    .id = dir->id,
				    .source = dir->source,
				    .filesystem = now->attributes.filesystem,
				    .filesystem_type = walker->listing.filesystem_type,
				    .known = dir->known,
				    .marks_new_dirs = walk->marks_new_dirs,
				    .enters_mounts = enters_mounts(walker, dir),
				    .by_path = exclude_has_paths(excludes),
				    .recheck = recheck,
				    .fd = walker->fd};
	int r = dir->known ? catalog_read_begin(walk->ingest->catalog, &reader) : 0;

	compared.reader = reader;
	if (r == 0)
		r = diff_make(&walker->diff, &compared, &walker->listing);
	if (r == 0 && recheck->scope != RECHECK_TREE)
		r = note_copy_up(walker, dir, reader);
	return r < 0 ? r : compare_dir(walker, dir, reader, now);
}

/* Compares the listing with the index and passes on the differences. No snapshot is held while the
 * thread waits for the writer, which waits for snapshots when the index grows. */
static int hand_over(struct walker *walker, struct walk_dir *dir, const struct recheck *recheck,
		     const struct name_change *now)
{
	int r = compare(walker, dir, recheck, now);

	if (walker->diff.count > 0 || dir->is_new)
		walk_moves_note_now(&walker->walk->moves, walker->fd);
	if (r == 0 && walker->diff.count > 0)
		r = batch_writer_put(walker->walk->writer, walker->diff.changes,
				     walker->diff.count);
	return r < 0 ? r : push_found(walker, dir, now->attributes.filesystem);
}

/* Returns true if names in the new directory were possibly deleted before the watch was added. */
static bool may_have_missed(const struct ingest_hooks *hooks, const struct attributes *now)
{
	return clock_ns(now->ctime) >= hooks->since_ns;
}

/* Returns whether the thread waited while it read the directory. A thread that other threads or
 * programs only kept from running did not. */
static bool has_waited(const struct walker *walker)
{
	long waits = count_waits() - walker->waits_before;

	return waits > (long)(walker->listing.count / NAMES_A_WAIT);
}

/* Records the part of the duration of a listing for which the disk was responsible. */
static void note_time(struct walker *walker)
{
	struct ingest *ingest = walker->walk->ingest;
	uint64_t took_ns = clock_monotonic_ns() - walker->begun_ns;
	uint64_t names_ns = walker->listing.count * NAME_NS;

	walker->waited = took_ns > names_ns + DIRECTORY_NS && has_waited(walker);
	if (ingest->settings->disk == INGEST_DISK_AUTO && !ingest->may_seek &&
	    disk_waits_note(&walker->waits, walker->fd,
			    took_ns < names_ns ? 0 : took_ns - names_ns))
		ingest->may_seek = true;
}

static int recheck_dir(struct walker *walker, struct walk_dir *dir)
{
	struct ingest *ingest = walker->walk->ingest;
	struct recheck own = {.dir = dir->id, .scope = dir->scope};
	const struct recheck *recheck = dir->recheck ? dir->recheck : &own;
	struct name_change now = {.kind = NAME_UPDATE_DIR, .id = dir->id};
	int r;

	walker->begun_ns = clock_monotonic_ns();
	walker->waits_before = count_waits();
	r = read_dir(walker, dir, &now.attributes, &now.error);
	note_time(walker);
	/* a poll finds out later whether another folder lacks the name of this one */
	walk_moves_note(&walker->walk->moves,
			r == DIR_AGAIN && dir->scope != RECHECK_POLL ? -ENOENT : r, &now.attributes,
			walker->listing.filesystem_type);
	if (dir->is_top || (!dir->parent && dir->scope != RECHECK_NAMES))
		walk_moves_note_top(&walker->walk->moves, walker->fd);
	if (r == DIR_AGAIN)
		ingest->hooks->retry(ingest->hooks->context, recheck);
	if (!dir->known && ingest->hooks &&
	    (r == DIR_AGAIN || may_have_missed(ingest->hooks, &now.attributes)))
		ingest->hooks->needs_walk(ingest->hooks->context, dir->source, WALK_FOR_NEW_DIR);
	if (r == DIR_AGAIN || (r == -ENOENT && dir->parent))
		return 0; /* the next listing of the parent reports the change */
	if (r < 0)
		return r;
	if (r == DIR_UNEXAMINED)
		now.kind = NAME_FAIL_DIR;
	if (!now.error) {
		now.error = report_unsearched(walker, dir);
		now.flags =
			(now.error ? DIR_NOT_SEARCHED : 0U) |
			(walker->listing.partial ? DIR_PARTIAL : 0U) |
			walk_dir_place(dir, ingest->sources, walker->fd, walker->listing.tagged);
	}
	if (ingest->hooks && (walker->listing.quarantined || ingest_error_is_temporary(now.error)))
		ingest->hooks->failed(ingest->hooks->context, dir->id);
	atomic_fetch_add(&ingest->progress.names, walker->listing.count);
	return hand_over(walker, dir, recheck, &now);
}

/* Rechecks directories until the walk ends or more than dirs_max are open. */
static void walk_dirs(struct walk *walk, size_t dirs_max)
{
	struct walker walker = {.walk = walk,
				.listing = {.early = early_reader_new(walk->early, walk->ingest)},
				.fd = -1};
	struct walk_dir *dir;
	int r;

	while ((dir = walk_queue_pop(&walk->queue, dirs_max, walk->ingest->may_seek))) {
		r = recheck_dir(&walker, dir);
		cleanup_close(&walker.fd);
		walker.fd = -1;
		walk_queue_finish(&walk->queue, dir, walker.waited, r);
	}
	atomic_fetch_add(&walk->excluded, walker.listing.excluded);
	atomic_fetch_add(&walk->not_entered, walker.diff.not_entered);
	early_reader_free(walker.listing.early);
	listing_free(&walker.listing);
	diff_free(&walker.diff);
	bytes_free(&walker.path);
}

static void *walk_thread(void *context)
{
	struct walk *walk = context;

	walk_queue_join(&walk->queue);
	walk_dirs(walk, SIZE_MAX);
	return NULL;
}

/* ---- the walk ------------------------------------------------------------------------ */

static int push_rechecks(struct walk *walk, const struct recheck *rechecks, size_t count)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct walk_dir *dir;
	int r = catalog_read_begin(walk->ingest->catalog, &reader);

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = walk_dir_begin(&dir, walk->ingest->sources, reader, &rechecks[i]);
		if (r == 0)
			walk_queue_push(&walk->queue, dir, dir, 1, WALK_LAST);
		else if (r == -ENOENT)
			r = 0;
	}
	return r;
}

static bool has_scope(const struct recheck *rechecks, size_t count, enum recheck_scope scope)
{
	for (size_t i = 0; i < count; i++) {
		if (rechecks[i].scope == scope)
			return true;
	}
	return false;
}

/* A walk of whole trees, or a poll, can have to wait for the disk. A recheck of single names does
 * not, as names that just changed are cached. */
static unsigned int threads_for(const struct ingest *ingest, bool waits)
{
	unsigned int given = ingest->settings->threads;

	if (!given)
		given = waits ? threads_that_read() : threads_that_compute();
	return threads_with_files(given);
}

int walk_rechecks(struct ingest *ingest, struct batch_writer *writer, struct early_tables *early,
		  const struct recheck *rechecks, size_t count)
{
	struct walk walk = {.ingest = ingest, .writer = writer, .early = early};
	struct catalog_totals totals = {0};
	bool tree = has_scope(rechecks, count, RECHECK_TREE);
	bool polls = has_scope(rechecks, count, RECHECK_POLL);
	int r;

	walk_dir_budget_init(&walk.budget);
	walk_moves_begin(&walk.moves, &ingest->start);
	walk_queue_init(&walk.queue, threads_for(ingest, false)); /* the others work later */
	ingest->may_seek = ingest->settings->disk == INGEST_DISK_ROTATING;
	view_mounts_load(&walk.views);
	r = catalog_totals_now(ingest->catalog, &totals);
	walk.marks_new_dirs = totals.folders_known;
	if (r == 0)
		r = push_rechecks(&walk, rechecks, count);
	if (r == 0 && !tree)
		walk_dirs(&walk, ALONE_DIRS);
	if (r == 0 && walk.queue.open_dirs > 0)
		r = threads_run(threads_for(ingest, tree || polls), walk_thread, &walk);
	ingest->result.errors += walk.errors;
	ingest->result.not_entered = walk.not_entered;
	walk_moves_report(&walk.moves, &ingest->result);
	ingest->result.excluded = walk.excluded;
	walk_queue_deinit(&walk.queue);
	return r < 0 ? r : walk.queue.error;
}
