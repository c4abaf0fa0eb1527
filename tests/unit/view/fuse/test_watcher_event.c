/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "folder.h"
#include "unit_test.h"
#include "view/fuse/watcher_event.h"

/* The names are from the daemon, which can be compromised, while the mounter process can be
 * root. */
static void test_name_that_leads_out_of_the_folder_is_refused(void **state)
{
	const struct folder *folder = *state;
	char absolute[128];
	const char *const names[] = {absolute,      "../outside", "in/../../outside",
				     "sub/outside", "..",         "."};
	const enum watcher_event_kind kinds[] = {WATCHER_EVENT_DELETED, WATCHER_EVENT_CHANGED,
						 WATCHER_EVENT_CREATED};
	struct watcher_event_route route = WATCHER_EVENT_ROUTE_NONE;
	struct stat before, parent, now;

	(void)snprintf(absolute, sizeof(absolute), "%s/outside", folder->path);
	assert_int_equal(mkdirat(folder->fd, "in", 0700), 0);
	assert_int_equal(mkdirat(folder->fd, "in/sub", 0700), 0);
	make_file(folder->fd, "outside", "x", 1);
	make_file(folder->fd, "in/sub/outside", "x", 1);
	assert_int_equal(fstatat(folder->fd, "outside", &before, 0), 0);
	assert_int_equal(fstat(folder->fd, &parent), 0);
	route.root = openat(folder->fd, "in", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(route.root >= 0 && fstat(route.root, &now) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(names) * ARRAY_SIZE(kinds); i++) {
		const struct watcher_event event = {
			.kind = kinds[i % ARRAY_SIZE(kinds)],
			.folder = now.st_ino,
			.path = "",
			.name = names[i / ARRAY_SIZE(kinds)],
		};

		assert_int_equal(watcher_event_raise(&route, &event), -EINVAL);
	}
	watcher_event_route_close(&route);
	assert_int_equal(fstatat(folder->fd, "outside", &now, 0), 0);
	assert_memory_equal(&before.st_ctim, &now.st_ctim, sizeof(now.st_ctim));
	assert_int_equal(fstat(folder->fd, &now), 0);
	assert_memory_equal(&parent.st_ctim, &now.st_ctim, sizeof(now.st_ctim));
	assert_true(exists_at(folder->fd, "in/sub/outside"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_name_that_leads_out_of_the_folder_is_refused,
						folder_set_up, folder_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
