/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "index/kept.h"

static void test_names_of_copies_are_recognized(void **state)
{
	static const char *const names[] = {
		".hidden",
		".x",
		"notes.txt~",
		"a.~1~",
		"copy",
		"Copy of a.txt",
		"a - Copy.txt",
		"copy_of_v30.mp4",
		"a copy 2.txt",
		"A_COPY3.TXT",
		"Backup 2022",
		"backup",
		"Old laptop",
		"old",
		"report.bak",
		"config.old",
		"my-backup-2021.tar.gz",
		"Backups2",
		"photo (1).jpg",
		"photo(12).jpg",
		"a (123)",
		"a (1).tar.gz",
		"page[1].htm",
		"Kopie von a.txt",
		"Sicherungskopie",
		"copie de a",
		"c\xc3\xb3pia",
		"\xe5\x89\xaf\xe6\x9c\xac",
		"a - \xe5\x89\xaf\xe6\x9c\xac (2).txt",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!has_copy_mark(names[i], strlen(names[i])))
			fail_msg("%s", names[i]);
	}
}

static void test_other_names_are_not(void **state)
{
	static const char *const names[] = {
		"",
		"a",
		"a.txt",
		"2019",
		"v30.mp4",
		"Pictures",
		"photocopy.pdf",
		"copyright",
		"COPYING",
		"oldtimer",
		"golden",
		"bold",
		"mp3old",
		"a (2019).jpg",
		"(1)",
		"(1).txt",
		"a (x).txt",
		"a ().txt",
		"a (1)b.txt",
		"f(12",
		"[3",
		"a.b.c",
		"~a",
		"a.~b",
		"\xff\xfe",
		"backupcopyoldbackupcopyoldbackup",
		"copyold",
		"old2copy",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (has_copy_mark(names[i], strlen(names[i])))
			fail_msg("%s", names[i]);
	}
}

static void test_names_of_a_path_are_counted(void **state)
{
	static const struct {
		const char *path;
		uint32_t count;
	} claims[] = {
		{"", 0},
		{"a", 0},
		{"a/b/c", 0},
		{"Backup 2022/a", 1},
		{"old/.cache/copy of a", 3},
		{"a/old", 1},
		{"old/", 1},
		{"//old//", 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(claims); i++)
		assert_int_equal(count_copy_marks(claims[i].path, strlen(claims[i].path)),
				 claims[i].count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_copies_are_recognized),
		cmocka_unit_test(test_other_names_are_not),
		cmocka_unit_test(test_names_of_a_path_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
