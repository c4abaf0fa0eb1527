/* SPDX-License-Identifier: MIT */
#include "view/follow/fanotify_group.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/filesystem.h"

/* FAN_RENAME reports the old and the new name in one event, so no rename is split. */
#define EVENTS                                                                              \
	(FAN_CREATE | FAN_DELETE | FAN_RENAME | FAN_MODIFY | FAN_CLOSE_WRITE | FAN_ATTRIB | \
	 FAN_ONDIR)

/* This flag of Linux 6.5 is missing in older headers. It also gives handles that identify a file,
 * but cannot be opened. */
#ifndef AT_HANDLE_FID
#define AT_HANDLE_FID AT_REMOVEDIR
#endif

/* The place of the inode number in the handles of file systems (include/linux/exportfs.h and
 * fs/.../export.c of Linux). The numbers are of the processor's byte order. */
static const struct inode_place {
	int type;
	unsigned int bytes; /* of the handle */
	unsigned int at, size; /* of the inode number */
	bool has_subvolume; /* the handle has the number of a subvolume, after the inode number */
} places[] = {
	{0x01, 8, 0, 4, false}, /* ext4 and others; xfs if the number has 32 bits */
	{0x81, 12, 0, 8, false}, /* xfs */
	{0x01, 12, 4, 8, false}, /* tmpfs */
	{0x4d, 20, 0, 8, true}, /* btrfs */
};

#define FILESYSTEM_BYTES sizeof(((struct fanotify_filesystem *)NULL)->id)

static uint64_t read_number(const char *bytes, unsigned int size)
{
	uint64_t number;
	uint32_t half;

	if (size == sizeof(number)) {
		memcpy(&number, bytes, sizeof(number));
		return number;
	}
	memcpy(&half, bytes, sizeof(half));
	return half;
}

/* Reads the numbers of the inode and of its subvolume, or 0. Returns false if the type of the
 * handle is unknown. */
static bool read_inode(const char *handle, size_t length, uint64_t *inode, uint64_t *subvolume)
{
	const struct inode_place *place;
	struct file_handle head;
	const char *data = handle + FILESYSTEM_BYTES + sizeof(head);

	if (length < FILESYSTEM_BYTES + sizeof(head))
		return false;
	memcpy(&head, handle + FILESYSTEM_BYTES, sizeof(head));
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		place = &places[i];
		if (place->type != head.handle_type || place->bytes != head.handle_bytes ||
		    length != FILESYSTEM_BYTES + sizeof(head) + place->bytes)
			continue;
		*inode = read_number(data + place->at, place->size);
		*subvolume = place->has_subvolume ? read_number(data + 8, 8) : 0;
		return true;
	}
	return false;
}

bool fanotify_group_inode(const struct fanotify_group *group, const char *handle, size_t length,
			  uint64_t *inode)
{
	uint64_t subvolume;

	return group->filesystem.has_inodes && read_inode(handle, length, inode, &subvolume) &&
	       subvolume == group->filesystem.subvolume;
}

static int mark(struct fanotify_group *group, int fd)
{
	struct fanotify_filesystem *filesystem = &group->filesystem;
	struct fanotify_handle_buffer handle = {0};
	struct statfs statistics;
	struct stat status;
	uint64_t inode;
	int r;

	/* fanotify reports the directory of a layer, which changes when the kernel copies the
	 * directory to the upper layer */
	if (filesystem_has(filesystem_type_at(fd), TRAIT_LAYERED))
		return -EOPNOTSUPP;
	/* FAT and exFAT give an inode a new number, and so a new handle, each time when it is read
	 * from the disk; an inode without a watch does not stay in memory */
	if (filesystem_kind_at(fd) == FILESYSTEM_UNKNOWN)
		return -EOPNOTSUPP;
	if (fanotify_mark(group->fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, EVENTS, fd, ".") < 0)
		return errno == ENODEV || errno == EXDEV ? -EOPNOTSUPP : -errno;
	if (fstat(fd, &status) < 0 || fstatfs(fd, &statistics) < 0)
		return -errno;
	filesystem->device = status.st_dev;
	memcpy(filesystem->id, &statistics.f_fsid, sizeof(filesystem->id));
	r = fanotify_group_handle(group, fd, &handle);
	if (r < 0)
		return r;
	/* other types of file systems possibly use the same types of handles */
	filesystem->has_inodes =
		read_inode(handle.bytes, handle.length, &inode, &filesystem->subvolume) &&
		inode == status.st_ino;
	return 0;
}

int fanotify_group_open(struct fanotify_group *group, int fd)
{
	int r;

	/* the queue is bounded: FAN_UNLIMITED_QUEUE could take all memory */
	group->fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK |
					  FAN_REPORT_DFID_NAME_TARGET,
				  0);
	if (group->fd < 0)
		return -errno;
	r = mark(group, fd);
	if (r < 0)
		fanotify_group_close(group);
	return r;
}

void fanotify_group_close(struct fanotify_group *group)
{
	if (group->fd >= 0)
		(void)close(group->fd);
	group->fd = -1;
}

/* Calls name_to_handle_at(2). Returns 0 or -errno. */
static int get_handle(int fd, struct file_handle *handle)
{
	int mount;

	if (name_to_handle_at(fd, "", handle, &mount, AT_EMPTY_PATH | AT_HANDLE_FID) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	/* a kernel without this flag */
	return name_to_handle_at(fd, "", handle, &mount, AT_EMPTY_PATH) == 0 ? 0 : -errno;
}

int fanotify_group_handle(const struct fanotify_group *group, int fd,
			  struct fanotify_handle_buffer *handle)
{
	union {
		struct file_handle handle;
		char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} found = {.handle.handle_bytes = MAX_HANDLE_SZ};
	struct stat status;
	size_t length;
	int r;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISDIR(status.st_mode))
		return -ENOTDIR;
	if (status.st_dev != group->filesystem.device)
		return -EXDEV;
	r = get_handle(fd, &found.handle);
	if (r < 0)
		return r;
	memcpy(handle->bytes, group->filesystem.id, sizeof(group->filesystem.id));
	length = sizeof(found.handle) + found.handle.handle_bytes;
	memcpy(handle->bytes + sizeof(group->filesystem.id), found.bytes, length);
	handle->length = sizeof(group->filesystem.id) + length;
	return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Bytes of a record before its handle: the header and the id of the file system. */
#define HANDLE_AT offsetof(struct fanotify_event_info_fid, handle)
#define FILESYSTEM_AT offsetof(struct fanotify_event_info_fid, fsid)

/* Reads the handle of a record. Returns its end, or 0 if the record is too short. */
static size_t read_handle(const char *record, size_t length, struct fanotify_handle *handle)
{
	struct file_handle head;
	size_t end;

	if (length < HANDLE_AT + sizeof(head))
		return 0;
	memcpy(&head, record + HANDLE_AT, sizeof(head));
	if (head.handle_bytes > length - HANDLE_AT - sizeof(head))
		return 0;
	end = HANDLE_AT + sizeof(head) + head.handle_bytes;
	*handle = (struct fanotify_handle){record + FILESYSTEM_AT, end - FILESYSTEM_AT};
	return end;
}

static int read_place(const char *record, size_t length, struct fanotify_place *place)
{
	size_t at = read_handle(record, length, &place->dir), name_length;

	if (at == 0)
		return -EBADMSG;
	name_length = strnlen(record + at, length - at);
	if (name_length == length - at)
		return -EBADMSG;
	place->name = record + at;
	place->length = (uint32_t)name_length;
	return 0;
}

/* Reads a record; other kinds of records are skipped. */
static int read_record(const char *record, size_t length, uint8_t type,
		       struct fanotify_event *event)
{
	switch (type) {
	case FAN_EVENT_INFO_TYPE_DFID_NAME:
	case FAN_EVENT_INFO_TYPE_OLD_DFID_NAME:
		return read_place(record, length, &event->place);
	case FAN_EVENT_INFO_TYPE_NEW_DFID_NAME:
		return read_place(record, length, &event->moved_to);
	case FAN_EVENT_INFO_TYPE_FID:
		return read_handle(record, length, &event->self) == 0 ? -EBADMSG : 0;
	default:
		return 0;
	}
}

static int read_records(const char *records, size_t length, struct fanotify_event *event)
{
	struct fanotify_event_info_header header;
	size_t at = 0;
	int r = 0;

	while (r == 0 && at < length) {
		if (length - at < sizeof(header))
			return -EBADMSG;
		memcpy(&header, records + at, sizeof(header));
		if (header.len < sizeof(header) || header.len > length - at)
			return -EBADMSG;
		r = read_record(records + at, header.len, header.info_type, event);
		at += header.len;
	}
	return r;
}

/* Returns false if the event lacks what changed. The kernel leaves a record out if it cannot make
 * the handle, for example for lack of memory. An event of a file without a directory is complete
 * unless it is about a name. */
static bool is_complete(const struct fanotify_event *event)
{
	if (event->mask & FAN_Q_OVERFLOW)
		return true;
	if (event->mask & FAN_RENAME)
		return event->place.dir.bytes && event->moved_to.dir.bytes;
	if (event->mask & (FAN_CREATE | FAN_DELETE))
		return event->place.dir.bytes;
	return event->place.dir.bytes || event->self.bytes;
}

int fanotify_event_next(const char *buffer, size_t length, size_t *at, struct fanotify_event *event)
{
	struct fanotify_event_metadata metadata;
	int r;

	*event = (struct fanotify_event){0};
	if (*at == length)
		return 0;
	if (length - *at < sizeof(metadata))
		return -EBADMSG;
	memcpy(&metadata, buffer + *at, sizeof(metadata));
	if (metadata.vers != FANOTIFY_METADATA_VERSION || metadata.event_len > length - *at ||
	    metadata.metadata_len < sizeof(metadata) || metadata.metadata_len > metadata.event_len)
		return -EBADMSG;
	event->mask = metadata.mask;
	r = read_records(buffer + *at + metadata.metadata_len,
			 metadata.event_len - metadata.metadata_len, event);
	*at += metadata.event_len;
	if (r < 0)
		return r;
	return is_complete(event) ? 1 : -EBADMSG;
}
