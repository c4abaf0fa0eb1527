/* SPDX-License-Identifier: MIT */

/* Simulates a disk with one head: serves an image file as MOUNTPOINT/disk, and each request takes
 * as long as on a rotating disk. rotating.py sets up a loop device over that file.
 *
 *	rotating_disk [option...] IMAGE MOUNTPOINT
 *
 * Requests are served one at a time in the order of their arrival. Sorting is the task of the
 * kernel's scheduler, as with a real disk. A request that begins where the last one ended takes the
 * time of its transfer. So does a read of bytes of one of the last requests, which the buffer of
 * the disk has. Any other request takes this time before its transfer:
 *
 *	settle + (full - settle) * sqrt(distance / size of the disk) + half a turn
 *
 * full is chosen such that the seek between two random places takes --seek-ms on average. If the
 * offset is only a little ahead, the head does not seek: it waits until the bytes in between have
 * passed.
 *
 * --wait-ms: each request waits so long in addition, as on a disk that other machines share.
 *
 * --log FILE: a line for each request: its end in simulated microseconds, its kind (read, write,
 * flush), offset, length, and whether the head had to move (seek) or not (-).
 *
 * --writes FILE: all writes in their order, so that they can be repeated: three little-endian
 * numbers of 64 bits (1: write, 2: flush; offset; length), followed by the bytes of a write.
 *
 * --bad FILE: the unreadable parts of the disk: two little-endian numbers of 64 bits (offset,
 * length) for each part. The file is read again for each read, and can be missing.
 *
 * Runs in the foreground until it is unmounted. One thread.
 */

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#define INODE_DISK 2
#define NAME_DISK "disk"
#define REQUEST_BYTES_MAX ((size_t)1 << 20)

/* Number of requests that the buffer of the disk has. */
#define BUFFERED_MAX 8

struct settings {
	double settle_ms;
	double seek_ms; /* between random places, on average */
	double turns_per_minute;
	double megabytes_per_second;
	double wait_ms; /* of each request, before the head moves */
	double time_scale; /* 0: nothing takes time, but all is counted */
	char *log;
	char *writes;
	char *bad;
};

struct disk {
	struct settings settings;
	const char *image;
	int fd;
	uint64_t size_bytes;
	FILE *log, *writes; /* or NULL */
	uint64_t head; /* the offset after the last request */
	struct {
		uint64_t offset, end;
	} buffered[BUFFERED_MAX]; /* the last requests */
	unsigned int buffered_next;
	double busy_ms; /* simulated, in all */
	struct timespec free_at; /* when the last request ends, by the real clock */
	char block[REQUEST_BYTES_MAX];
};

enum write_kind {
	WRITTEN = 1,
	FLUSHED = 2,
};

/* ---- time ---------------------------------------------------------------------------- */

static double passing_ms(const struct disk *disk, uint64_t bytes)
{
	return (double)bytes / (disk->settings.megabytes_per_second * 1000);
}

static double moving_ms(const struct disk *disk, uint64_t offset)
{
	const struct settings *settings = &disk->settings;
	uint64_t distance = offset > disk->head ? offset - disk->head : disk->head - offset;
	/* the mean of the square root of the distance of two random points in [0, 1] is 8/15 */
	double full_ms = settings->settle_ms + (settings->seek_ms - settings->settle_ms) * 15 / 8;
	double part = (double)distance / (double)disk->size_bytes;

	return settings->settle_ms + (full_ms - settings->settle_ms) * sqrt(part) +
	       30000 / settings->turns_per_minute;
}

/* The time until the head reaches offset. *moved: whether it has to seek. */
static double reaching_ms(const struct disk *disk, uint64_t offset, bool *moved)
{
	double moving = moving_ms(disk, offset);
	double passing = offset < disk->head ? moving : passing_ms(disk, offset - disk->head);

	*moved = passing >= moving;
	return *moved ? moving : passing;
}

static void add_ms(struct timespec *time, double ms)
{
	long ns = time->tv_nsec + (long)(ms * 1e6);

	time->tv_sec += ns / 1000000000;
	time->tv_nsec = ns % 1000000000;
}

/* A busy disk begins the next request when it finished the last one. */
static void spend_ms(struct disk *disk, double ms)
{
	struct timespec now;

	disk->busy_ms += ms;
	if (disk->settings.time_scale <= 0)
		return;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec > disk->free_at.tv_sec ||
	    (now.tv_sec == disk->free_at.tv_sec && now.tv_nsec > disk->free_at.tv_nsec))
		disk->free_at = now;
	add_ms(&disk->free_at, ms * disk->settings.time_scale);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &disk->free_at, NULL) == EINTR)
		continue;
}

/* ---- logs ---------------------------------------------------------------------------- */

static void note(struct disk *disk, const char *kind, uint64_t offset, size_t length, bool moved)
{
	if (disk->log)
		(void)fprintf(disk->log, "%.0f %s %llu %zu %s\n", disk->busy_ms * 1000, kind,
			      (unsigned long long)offset, length, moved ? "seek" : "-");
}

static void note_write(struct disk *disk, enum write_kind kind, uint64_t offset, size_t length)
{
	uint64_t header[3] = {htole64(kind), htole64(offset), htole64(length)};

	if (!disk->writes)
		return;
	(void)fwrite(header, sizeof(header), 1, disk->writes);
	(void)fwrite(disk->block, 1, length, disk->writes);
}

static bool is_buffered(const struct disk *disk, uint64_t offset, size_t length)
{
	for (unsigned int i = 0; i < BUFFERED_MAX; i++) {
		if (offset >= disk->buffered[i].offset && offset + length <= disk->buffered[i].end)
			return true;
	}
	return false;
}

/* Spends the time of one transfer and logs it. */
static void transfer(struct disk *disk, const char *kind, uint64_t offset, size_t length)
{
	bool read = strcmp(kind, "read") == 0, moved = false;
	double ms = disk->settings.wait_ms + passing_ms(disk, length);

	if (!read || !is_buffered(disk, offset, length)) {
		ms += reaching_ms(disk, offset, &moved);
		disk->head = offset + length;
		disk->buffered[disk->buffered_next].offset = offset;
		disk->buffered[disk->buffered_next].end = disk->head;
		disk->buffered_next = (disk->buffered_next + 1) % BUFFERED_MAX;
	}
	spend_ms(disk, ms);
	note(disk, kind, offset, length, moved);
}

/* ---- unreadable parts ---------------------------------------------------------------- */

static bool is_bad(const struct disk *disk, uint64_t offset, uint64_t length)
{
	FILE *parts = disk->settings.bad ? fopen(disk->settings.bad, "re") : NULL;
	uint64_t part[2];
	bool found = false;

	if (!parts)
		return false;
	while (!found && fread(part, sizeof(part), 1, parts) == 1)
		found = offset < le64toh(part[0]) + le64toh(part[1]) &&
			le64toh(part[0]) < offset + length;
	(void)fclose(parts);
	return found;
}

/* ---- requests ------------------------------------------------------------------------ */

static struct disk *disk_of(fuse_req_t request)
{
	return fuse_req_userdata(request);
}

/* Attributes of the disk or of its folder. */
static struct stat attributes_of(const struct disk *disk, fuse_ino_t inode)
{
	struct stat attributes = {.st_ino = inode, .st_nlink = 1, .st_mode = S_IFREG | 0600};

	if (inode == FUSE_ROOT_ID)
		attributes.st_mode = S_IFDIR | 0700;
	else
		attributes.st_size = (off_t)disk->size_bytes;
	return attributes;
}

static void answer_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry = {.ino = INODE_DISK,
					 .attr = attributes_of(disk_of(request), INODE_DISK),
					 .attr_timeout = 3600,
					 .entry_timeout = 3600};

	if (parent == FUSE_ROOT_ID && strcmp(name, NAME_DISK) == 0)
		(void)fuse_reply_entry(request, &entry);
	else
		(void)fuse_reply_err(request, ENOENT);
}

static void answer_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
	struct stat attributes = attributes_of(disk_of(request), inode);

	(void)info;
	(void)fuse_reply_attr(request, &attributes, 3600);
}

static void answer_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
	(void)inode;
	info->direct_io = 1; /* a page cache would hide the head */
	(void)fuse_reply_open(request, info);
}

static void answer_read(fuse_req_t request, fuse_ino_t inode, size_t length, off_t offset,
			struct fuse_file_info *info)
{
	struct disk *disk = disk_of(request);
	ssize_t got;

	(void)inode;
	(void)info;
	if (length > sizeof(disk->block))
		length = sizeof(disk->block);
	if (is_bad(disk, (uint64_t)offset, length)) {
		(void)fuse_reply_err(request, EIO);
		return;
	}
	got = pread(disk->fd, disk->block, length, offset);
	if (got < 0) {
		(void)fuse_reply_err(request, errno);
		return;
	}
	transfer(disk, "read", (uint64_t)offset, (size_t)got);
	(void)fuse_reply_buf(request, disk->block, (size_t)got);
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are those of libfuse */
static void answer_write(fuse_req_t request, fuse_ino_t inode, const char *data, size_t length,
			 off_t offset, struct fuse_file_info *info)
{
	struct disk *disk = disk_of(request);
	ssize_t put;

	(void)inode;
	(void)info;
	if (length > sizeof(disk->block))
		length = sizeof(disk->block);
	memcpy(disk->block, data, length);
	put = pwrite(disk->fd, disk->block, length, offset);
	if (put < 0) {
		(void)fuse_reply_err(request, errno);
		return;
	}
	note_write(disk, WRITTEN, (uint64_t)offset, (size_t)put);
	transfer(disk, "write", (uint64_t)offset, (size_t)put);
	(void)fuse_reply_write(request, (size_t)put);
}

/* All written data is on the platter already. */
static void answer_fsync(fuse_req_t request, fuse_ino_t inode, int data_only,
			 struct fuse_file_info *info)
{
	struct disk *disk = disk_of(request);

	(void)inode;
	(void)data_only;
	(void)info;
	note_write(disk, FLUSHED, 0, 0);
	note(disk, "flush", 0, 0, false);
	(void)fuse_reply_err(request, 0);
}

static const struct fuse_lowlevel_ops operations = {
	.lookup = answer_lookup,
	.getattr = answer_getattr,
	.open = answer_open,
	.read = answer_read,
	.write = answer_write,
	.fsync = answer_fsync,
};

/* ---- the program --------------------------------------------------------------------- */

#define SETTING(word, field)                              \
	{                                                 \
		word, offsetof(struct settings, field), 0 \
	}

static const struct fuse_opt options[] = {
	SETTING("--settle-ms=%lf", settle_ms),
	SETTING("--seek-ms=%lf", seek_ms),
	SETTING("--rpm=%lf", turns_per_minute),
	SETTING("--rate=%lf", megabytes_per_second),
	SETTING("--wait-ms=%lf", wait_ms),
	SETTING("--time-scale=%lf", time_scale),
	SETTING("--log=%s", log),
	SETTING("--writes=%s", writes),
	SETTING("--bad=%s", bad),
	FUSE_OPT_END,
};

static int open_files(struct disk *disk)
{
	struct stat status;

	disk->fd = open(disk->image, O_RDWR | O_CLOEXEC);
	if (disk->fd < 0 || fstat(disk->fd, &status) < 0) {
		perror(disk->image);
		return -1;
	}
	disk->size_bytes = (uint64_t)status.st_size;
	if (disk->settings.log)
		disk->log = fopen(disk->settings.log, "we");
	if (disk->settings.writes)
		disk->writes = fopen(disk->settings.writes, "we");
	if ((disk->settings.log && !disk->log) || (disk->settings.writes && !disk->writes)) {
		perror("rotating_disk: cannot write the logs");
		return -1;
	}
	if (disk->log)
		(void)setvbuf(disk->log, NULL, _IOLBF, 0); /* the log is read meanwhile */
	return 0;
}

static int close_log(FILE *log)
{
	return log && fclose(log) != 0 ? -1 : 0;
}

static int serve(struct disk *disk, struct fuse_args *arguments, const char *mount_point)
{
	struct fuse_session *session =
		fuse_session_new(arguments, &operations, sizeof(operations), disk);
	int r = -1;

	if (!session)
		return -1;
	if (fuse_session_mount(session, mount_point) == 0) {
		r = fuse_session_loop(session);
		fuse_session_unmount(session);
	}
	fuse_session_destroy(session);
	return r;
}

static int take_operand(void *context, const char *word, int key, struct fuse_args *arguments)
{
	struct disk *disk = context;

	(void)arguments;
	if (key != FUSE_OPT_KEY_NONOPT || disk->image)
		return 1; /* kept: the mount point and options of FUSE */
	disk->image = word;
	return 0;
}

int main(int argc, char *argv[])
{
	static struct disk disk = {.settings = {.settle_ms = 1,
						.seek_ms = 8,
						.turns_per_minute = 7200,
						.megabytes_per_second = 150,
						.time_scale = 1}};
	struct fuse_args arguments = FUSE_ARGS_INIT(argc, argv);
	char *mount_point;
	int r;

	if (fuse_opt_parse(&arguments, &disk, options, take_operand) < 0 || !disk.image ||
	    arguments.argc < 2) {
		(void)fprintf(stderr, "usage: rotating_disk [option...] IMAGE MOUNTPOINT\n");
		return 2;
	}
	mount_point = arguments.argv[--arguments.argc]; /* fuse_opt_parse allocated all of them */
	if (open_files(&disk) < 0)
		return 1;
	r = serve(&disk, &arguments, mount_point);
	if (close_log(disk.log) < 0 || close_log(disk.writes) < 0)
		perror("rotating_disk: cannot write the logs");
	fuse_opt_free_args(&arguments);
	free(mount_point);
	return r == 0 ? 0 : 1;
}
