/* SPDX-License-Identifier: MIT */
#include "index/filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/msdos_fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/filesystem.h"
#include "base/hash.h"
#include "base/kernel.h"
#include "index/meta.h"
#include "index/store/store.h"
#include "index/store/value.h"
#include "index/writer.h"

#define IOCTL_GET_FS_UUID _IOR(0x15, 0, struct fs_uuid)

void filesystems_init(struct filesystems *filesystems)
{
	*filesystems = (struct filesystems){0};
	pthread_rwlock_init(&filesystems->lock, NULL);
}

void filesystems_deinit(struct filesystems *filesystems)
{
	pthread_rwlock_destroy(&filesystems->lock);
	free(filesystems->list);
}

static int append(struct filesystems *filesystems, struct filesystem filesystem)
{
	int r = array_reserve(&filesystems->list, &filesystems->capacity, filesystems->count + 1,
			      sizeof(*filesystems->list));

	if (r == 0)
		filesystems->list[filesystems->count++] = filesystem;
	return r;
}

/* Returns the file system of a number, or NULL. */
static struct filesystem *find_number(struct filesystems *filesystems, uint32_t number)
{
	return number > 0 && number <= filesystems->count ? &filesystems->list[number - 1] : NULL;
}

static struct key filesystem_key(size_t number)
{
	return meta_key_numbered("filesystem", number);
}

int filesystems_load(struct filesystems *filesystems, struct catalog_reader *r)
{
	uint64_t identity;
	int result = 0;

	while (result == 0) {
		result = store_get_number(r, TABLE_META, filesystem_key(filesystems->count + 1),
					  &identity);
		if (result == 0)
			result = append(filesystems, (struct filesystem){.identity = identity});
	}
	filesystems->stored = filesystems->count;
	return result == -ENOENT ? 0 : result;
}

int filesystems_copy(struct filesystems *filesystems, struct filesystems *from)
{
	int r = 0;

	pthread_rwlock_rdlock(&from->lock);
	for (size_t i = 0; r == 0 && i < from->count; i++)
		r = append(filesystems, from->list[i]);
	pthread_rwlock_unlock(&from->lock);
	return r;
}

int filesystems_store(struct filesystems *filesystems, struct catalog_writer *w, size_t *count)
{
	int r = 0;

	pthread_rwlock_rdlock(&filesystems->lock);
	*count = filesystems->count;
	for (size_t i = filesystems->stored; r == 0 && i < filesystems->count; i++)
		r = store_put(&w->store, TABLE_META, filesystem_key(i + 1),
			      encode_number(filesystems->list[i].identity));
	pthread_rwlock_unlock(&filesystems->lock);
	return r;
}

void filesystems_stored(struct filesystems *filesystems, size_t count)
{
	pthread_rwlock_wrlock(&filesystems->lock);
	filesystems->stored = count;
	pthread_rwlock_unlock(&filesystems->lock);
}

/* Opens the object of an O_PATH descriptor for reading, if the object is a directory or a regular
 * file. Opening other types can block. */
static int open_again(int fd)
{
	struct stat st;
	int r = open_beneath_for_reading(fd, "", 0, true);

	if (r != -ENOTDIR || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return r;
	r = open(fd_path(fd).text, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

static bool ask_uuid(int fd, struct fs_uuid *uuid)
{
	uint32_t volume = 0;

	if (ioctl(fd, IOCTL_GET_FS_UUID, uuid) == 0 && uuid->length > 0)
		return true;
	memset(uuid, 0, sizeof(*uuid));
	if (ioctl(fd, FAT_IOCTL_GET_VOLUME_ID, &volume) < 0 || volume == 0)
		return false;
	uuid->length = sizeof(volume);
	memcpy(uuid->uuid, &volume, sizeof(volume));
	return true;
}

/* ioctl(2) refuses O_PATH descriptors, so this function opens their objects again. */
void filesystem_uuid(int fd, struct fs_uuid *uuid)
{
	AUTO_CLOSE int readable = -1;

	if (ask_uuid(fd, uuid))
		return;
	readable = open_again(fd);
	if (readable >= 0)
		(void)ask_uuid(readable, uuid);
}

/* Returns the identity of a mounted image (squashfs, ISO and similar). Each mount of an image
 * counts as a file system of its own. Kernels before Linux 6.8 do not identify mounts, so an image
 * counts as a new file system in each run of twinfs. */
static uint64_t identity_of_mount(int fd, uint64_t identity)
{
	struct {
		char boot[BOOT_ID_MAX];
		struct timespec run;
		uint64_t mount;
	} parts;
	struct statx status;

	memset(&parts, 0, sizeof(parts)); /* padding is hashed too */
	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID_UNIQUE, &status) == 0 &&
	    status.stx_mask & STATX_MNT_ID_UNIQUE && boot_id(parts.boot)[0] != '\0')
		parts.mount = status.stx_mnt_id;
	else
		parts.run = clock_now();
	return hash64(&parts, sizeof(parts), identity);
}

/* Sets what the file system can do. ioctl(2) refuses O_PATH descriptors. */
static void read_abilities(int fd, struct filesystem *filesystem)
{
	AUTO_CLOSE int readable = open_again(fd);

	filesystem->counts_blocks = filesystem_keeps(filesystem_type_at(fd), PROMISE_BLOCKS);
	filesystem->shares_extents = readable >= 0 && filesystem_shares_extents_at(readable);
}

static int read_identity(int fd, dev_t device, uint64_t *identity)
{
	struct {
		uint64_t type;
		fsid_t fsid;
		struct fs_uuid uuid;
		uint64_t device;
	} parts;
	struct statfs fs;

	memset(&parts, 0, sizeof(parts)); /* padding is hashed too */
	if (fstatfs(fd, &fs) < 0)
		return -errno;
	parts.type = (uint64_t)fs.f_type;
	filesystem_uuid(fd, &parts.uuid);
	/* an f_fsid that is derived from the device counts only if the UUID is missing */
	if (!parts.uuid.length || !filesystem_has((uint32_t)fs.f_type, TRAIT_FSID_OF_DEVICE))
		parts.fsid = fs.f_fsid;
	if (!parts.uuid.length && !parts.fsid.__val[0] && !parts.fsid.__val[1])
		parts.device = device;
	*identity = hash64(&parts, sizeof(parts), layer_number(fd));
	if (filesystem_has((uint32_t)parts.type, TRAIT_IMAGE))
		*identity = identity_of_mount(fd, *identity);
	return 0;
}

uint64_t filesystem_lasting_identity(int fd)
{
	struct fs_uuid uuid = {0};
	struct statfs fs;

	filesystem_uuid(fd, &uuid);
	if (uuid.length > 0)
		return hash64(&uuid, sizeof(uuid), 0);
	if (fstatfs(fd, &fs) < 0 || !filesystem_has((uint32_t)fs.f_type, TRAIT_FSID_OF_UUID))
		return 0;
	return hash64(&fs.f_fsid, sizeof(fs.f_fsid), 0);
}

static uint32_t find_device(const struct filesystems *filesystems, dev_t device)
{
	/* the newest numbers are last, so the search is fast even with many past devices */
	for (size_t i = filesystems->count; i > 0; i--) {
		if (filesystems->list[i - 1].device == device)
			return (uint32_t)i;
	}
	return 0;
}

static int add_device(struct filesystems *filesystems, const struct filesystem *found,
		      uint32_t *number)
{
	int r;

	for (size_t i = 0; i < filesystems->count; i++) {
		/* If another device has this identity now, the file system was copied. The second
		 * device gets its own number. */
		if (filesystems->list[i].identity == found->identity &&
		    filesystems->list[i].device == 0) {
			filesystems->list[i] = *found;
			*number = (uint32_t)i + 1;
			return 0;
		}
	}
	r = append(filesystems, *found);
	*number = (uint32_t)filesystems->count;
	return r;
}

/* Returns the number of a device if it is the last one that was found, else 0. */
static uint32_t recent_number(struct filesystems *filesystems, dev_t device)
{
	uint64_t recent = atomic_load_explicit(&filesystems->recent, memory_order_relaxed);

	return recent >> 32 == device ? (uint32_t)recent : 0;
}

static void note_recent(struct filesystems *filesystems, dev_t device, uint32_t number)
{
	if (device <= UINT32_MAX)
		atomic_store_explicit(&filesystems->recent, (uint64_t)device << 32 | number,
				      memory_order_relaxed);
}

bool catalog_knows_filesystem(struct catalog *catalog, dev_t device, uint32_t *number)
{
	struct filesystems *filesystems = &catalog->filesystems;

	*number = recent_number(filesystems, device);
	if (*number)
		return true;
	pthread_rwlock_rdlock(&filesystems->lock);
	*number = find_device(filesystems, device);
	if (*number)
		note_recent(filesystems, device, *number);
	pthread_rwlock_unlock(&filesystems->lock);
	return *number > 0;
}

int catalog_filesystem(struct catalog *catalog, int fd, dev_t device, uint32_t *number)
{
	struct filesystems *filesystems = &catalog->filesystems;
	struct filesystem found = {.device = device};
	int r;

	if (catalog_knows_filesystem(catalog, device, number))
		return 0;
	r = read_identity(fd, device, &found.identity);
	if (r < 0)
		return r;
	read_abilities(fd, &found);
	pthread_rwlock_wrlock(&filesystems->lock);
	*number = find_device(filesystems, device);
	if (!*number)
		r = add_device(filesystems, &found, number);
	pthread_rwlock_unlock(&filesystems->lock);
	return r;
}

bool filesystems_may_share(struct filesystems *filesystems, const struct attributes *attributes)
{
	const struct filesystem *on;
	bool may_share;

	pthread_rwlock_rdlock(&filesystems->lock);
	on = find_number(filesystems, attributes->filesystem);
	may_share = !on || !on->device || on->shares_extents ||
		    (on->counts_blocks && attributes->blocks < attributes->size / 512);
	pthread_rwlock_unlock(&filesystems->lock);
	return may_share;
}

void catalog_note_ctime(struct catalog *catalog, uint32_t number)
{
	struct filesystems *filesystems = &catalog->filesystems;
	struct filesystem *filesystem;

	pthread_rwlock_wrlock(&filesystems->lock);
	filesystem = find_number(filesystems, number);
	if (filesystem)
		filesystem->has_ctime = true;
	pthread_rwlock_unlock(&filesystems->lock);
}

bool catalog_lacks_ctime(struct catalog *catalog, uint32_t type, uint32_t number)
{
	struct filesystems *filesystems = &catalog->filesystems;
	enum filesystem_ctime ctime = filesystem_ctime_of(type);
	const struct filesystem *filesystem;
	bool has;

	if (ctime != CTIME_UNKNOWN)
		return ctime != CTIME_KEPT;
	pthread_rwlock_rdlock(&filesystems->lock);
	filesystem = find_number(filesystems, number);
	has = filesystem && filesystem->has_ctime;
	pthread_rwlock_unlock(&filesystems->lock);
	return !has;
}

void catalog_forget_device(struct catalog *catalog, dev_t device)
{
	struct filesystems *filesystems = &catalog->filesystems;

	pthread_rwlock_wrlock(&filesystems->lock);
	for (size_t i = 0; i < filesystems->count; i++) {
		if (filesystems->list[i].device != device)
			continue;
		filesystems->list[i].device = 0;
		filesystems->list[i].has_ctime = false;
	}
	atomic_store_explicit(&filesystems->recent, 0, memory_order_relaxed);
	pthread_rwlock_unlock(&filesystems->lock);
}

bool catalog_confirm_filesystem(struct catalog *catalog, int fd, dev_t device, uint32_t number)
{
	struct filesystems *filesystems = &catalog->filesystems;
	struct filesystem *filesystem;
	uint64_t identity = 0;
	uint32_t noted;

	if (read_identity(fd, device, &identity) < 0)
		return false;
	pthread_rwlock_wrlock(&filesystems->lock);
	noted = find_device(filesystems, device);
	if (noted && filesystems->list[noted - 1].identity != identity) {
		filesystems->list[noted - 1].device = 0;
		noted = 0;
	}
	filesystem = noted ? NULL : find_number(filesystems, number);
	if (filesystem && filesystem->identity == identity) {
		filesystem->device = device;
		read_abilities(fd, filesystem);
		noted = number;
	}
	atomic_store_explicit(&filesystems->recent, 0, memory_order_relaxed);
	pthread_rwlock_unlock(&filesystems->lock);
	return noted > 0 && noted == number;
}

/* Returns the number of an identity; 0: none or several. */
static uint32_t find_identity(struct filesystems *filesystems, uint64_t identity)
{
	uint32_t number = 0;
	size_t found = 0;

	pthread_rwlock_rdlock(&filesystems->lock);
	for (size_t i = 0; i < filesystems->count; i++) {
		if (filesystems->list[i].identity != identity)
			continue;
		number = (uint32_t)i + 1;
		found++;
	}
	pthread_rwlock_unlock(&filesystems->lock);
	return found == 1 ? number : 0;
}

uint32_t catalog_filesystem_in(struct catalog *catalog, uint32_t number, struct catalog *other)
{
	struct filesystems *from = &catalog->filesystems;
	const struct filesystem *filesystem;
	uint64_t identity;

	pthread_rwlock_rdlock(&from->lock);
	filesystem = find_number(from, number);
	identity = filesystem ? filesystem->identity : 0;
	pthread_rwlock_unlock(&from->lock);
	if (!filesystem || find_identity(from, identity) != number)
		return 0;
	return find_identity(&other->filesystems, identity);
}
