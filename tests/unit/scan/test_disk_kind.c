/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/attributes.h"
#include "base/filesystem.h"
#include "folder.h"
#include "scan/disk.h"
#include "unit_test.h"

/* An artificial /sys that describes the device of the folder beside it. */
struct case_state {
	char folder[64];
	char *sys, *mountinfo;
	struct storage_places places;
	struct statx status; /* of the folder */
};

static char *text_of(const char *format, ...) PRINTF_LIKE(1, 2);

/* Formats a text that the caller frees. */
static char *text_of(const char *format, ...)
{
	char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	assert_true(vasprintf(&text, format, arguments) >= 0);
	va_end(arguments);
	return text;
}

/* Writes a file and its parent folders. */
static void write_file(const char *path, const char *text)
{
	FILE *file;

	for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		char *part AUTO_FREE = text_of("%.*s", (int)(at - path), path);

		(void)mkdir(part, 0700);
	}
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int setup(void **state)
{
	struct case_state *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	folder_make(p->folder, "/tmp");
	p->sys = text_of("%s/sys", p->folder);
	p->mountinfo = text_of("%s/mountinfo", p->folder);
	p->places = (struct storage_places){p->sys, p->mountinfo};
	assert_int_equal(statx(AT_FDCWD, p->folder, 0, STATX_MNT_ID, &p->status), 0);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct case_state *p = *state;

	folder_remove(p->folder);
	free(p->sys);
	free(p->mountinfo);
	free(p);
	return 0;
}

/* Sets an attribute of the device of the folder; name is relative to /sys/dev/block/NUMBER. */
static void set_attribute(struct case_state *p, const char *name, const char *text)
{
	char path[200];

	(void)snprintf(path, sizeof(path), "%s/dev/block/%u:%u/%s", p->sys, p->status.stx_dev_major,
		       p->status.stx_dev_minor, name);
	write_file(path, text);
}

static enum disk_kind kind(struct case_state *p)
{
	int fd AUTO_CLOSE = open(p->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return disk_kind_by(&p->places, fd);
}

/* Without a device of the folder, /sys has no attributes of it. */
static bool lacks_device(const struct case_state *p)
{
	return lacks(p->status.stx_dev_major == 0, "a block device below /tmp");
}

static bool lacks_mount_numbers(const struct case_state *p)
{
	return lacks(!(p->status.stx_mask & STATX_MNT_ID), "statx(2) with mount numbers");
}

static void test_disk_has_the_kind_of_its_queue(void **state)
{
	struct case_state *p = *state;

	if (lacks_device(p))
		return;
	set_attribute(p, "queue/rotational", "1\n");
	assert_int_equal(kind(p), DISK_ROTATING);
	set_attribute(p, "queue/rotational", "0\n");
	assert_int_equal(kind(p), DISK_SOLID);
}

static void test_partition_has_the_kind_of_its_disk(void **state)
{
	struct case_state *p = *state;
	char *disk AUTO_FREE = text_of("%s/devices/sda/queue/rotational", p->sys);
	char *part AUTO_FREE = text_of("%s/devices/sda/sda1/partition", p->sys);
	char *target AUTO_FREE = text_of("%s/devices/sda/sda1", p->sys);
	char *link AUTO_FREE = text_of("%s/dev/block/%u:%u", p->sys, p->status.stx_dev_major,
				       p->status.stx_dev_minor);

	if (lacks_device(p))
		return;
	write_file(disk, "1\n");
	write_file(part, "1\n");
	set_attribute(p, "../placeholder", "");
	assert_int_equal(rmdir(link), 0);
	assert_int_equal(symlink(target, link), 0);
	assert_int_equal(kind(p), DISK_ROTATING);
}

static void test_device_without_a_queue_is_unknown(void **state)
{
	struct case_state *p = *state;

	write_file(p->mountinfo, "");
	assert_int_equal(kind(p), DISK_UNKNOWN);
}

static void test_loop_device_over_an_unknown_file_is_unknown(void **state)
{
	struct case_state *p = *state;

	if (lacks_device(p))
		return;
	set_attribute(p, "queue/rotational", "0\n");
	set_attribute(p, "loop/backing_file", "/proc/self/stat\n");
	write_file(p->mountinfo, "");
	assert_int_equal(kind(p), DISK_UNKNOWN);
}

static void test_loop_device_over_a_removed_file_has_the_kind_of_its_queue(void **state)
{
	struct case_state *p = *state;

	if (lacks_device(p))
		return;
	set_attribute(p, "queue/rotational", "0\n");
	set_attribute(p, "loop/backing_file", "/nowhere/image (deleted)\n");
	assert_int_equal(kind(p), DISK_SOLID);
}

/* Returns the kind of the disk of /proc, which has no device. rest ends the line of its mount in
 * mountinfo and names the mount source. */
static enum disk_kind kind_of_mount(struct case_state *p, const char *rest)
{
	int fd AUTO_CLOSE = open("/proc/self", O_PATH | O_CLOEXEC);
	char *line AUTO_FREE = NULL;
	struct statx status;

	assert_int_equal(statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &status), 0);
	assert_int_equal(status.stx_dev_major, 0);
	line = text_of("1 0 0:1 / /other rw - btrfs /nowhere rw\n"
		       "%llu 1 0:5 / /mnt\\040x rw,noatime shared:5 - %s\n",
		       (unsigned long long)status.stx_mnt_id, rest);
	write_file(p->mountinfo, line);
	return disk_kind_by(&p->places, fd);
}

static void test_file_system_without_a_device_has_the_kind_of_its_mount_source(void **state)
{
	struct case_state *p = *state;
	char *below AUTO_FREE = text_of("btrfs %s rw,subvol=/", p->folder);

	if (lacks_device(p) || lacks_mount_numbers(p))
		return;
	set_attribute(p, "queue/rotational", "1\n");
	assert_int_equal(kind_of_mount(p, below), DISK_ROTATING);
	assert_int_equal(kind_of_mount(p, "proc proc rw"), DISK_UNKNOWN);
	assert_int_equal(kind_of_mount(p, "nfs4 server:/export rw"), DISK_UNKNOWN);
}

static void test_overlay_has_the_kind_of_its_layers(void **state)
{
	struct case_state *p = *state;
	char *upper AUTO_FREE =
		text_of("overlay overlay rw,lowerdir=/proc:/sys,upperdir=%s", p->folder);
	char *lower AUTO_FREE = text_of("overlay overlay ro,lowerdir=%s:/proc", p->folder);
	char *spaced AUTO_FREE =
		text_of("overlay overlay ro,lowerdir=%s/a\\040layer:/proc", p->folder);
	char *layer AUTO_FREE = text_of("%s/a layer/file", p->folder);

	if (lacks_device(p) || lacks_mount_numbers(p))
		return;
	set_attribute(p, "queue/rotational", "1\n");
	write_file(layer, "");
	assert_int_equal(kind_of_mount(p, upper), DISK_ROTATING);
	assert_int_equal(kind_of_mount(p, lower), DISK_ROTATING);
	assert_int_equal(kind_of_mount(p, spaced), DISK_ROTATING);
}

static void test_endless_layers_are_unknown(void **state)
{
	struct case_state *p = *state;

	assert_int_equal(kind_of_mount(p, "overlay overlay rw,upperdir=/proc/self"), DISK_UNKNOWN);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_disk_has_the_kind_of_its_queue),
		TEST(test_partition_has_the_kind_of_its_disk),
		TEST(test_device_without_a_queue_is_unknown),
		TEST(test_loop_device_over_an_unknown_file_is_unknown),
		TEST(test_loop_device_over_a_removed_file_has_the_kind_of_its_queue),
		TEST(test_file_system_without_a_device_has_the_kind_of_its_mount_source),
		TEST(test_overlay_has_the_kind_of_its_layers),
		TEST(test_endless_layers_are_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
