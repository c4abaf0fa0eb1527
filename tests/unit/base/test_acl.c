/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>

#include "base/attributes.h"
#include "base/metadata.h"
#include "unit_test.h"

struct acl {
	struct posix_acl_xattr_header header;
	struct posix_acl_xattr_entry entries[6];
};

static mode_t without(const struct acl *acl, size_t entries, mode_t mode)
{
	size_t length = sizeof(acl->header) + entries * sizeof(acl->entries[0]);

	return acl_mode_without(acl, length, mode);
}

static struct posix_acl_xattr_entry entry(unsigned short tag, unsigned short permissions)
{
	return (struct posix_acl_xattr_entry){htole16(tag), htole16(permissions), 0};
}

static struct acl acl_of(unsigned short group, unsigned short named_tag, unsigned short named,
			 unsigned short mask, unsigned short others)
{
	return (struct acl){{htole32(POSIX_ACL_XATTR_VERSION)},
			    {entry(ACL_USER_OBJ, 7), entry(named_tag, named),
			     entry(ACL_GROUP_OBJ, group), entry(ACL_MASK, mask),
			     entry(ACL_OTHER, others)}};
}

/* The permission bits of the file's group, of a named user or group, of the mask and of others. */
static const struct {
	unsigned short group, tag, named, mask, others;
	mode_t mode, left;
} cases[] = {
	{0, ACL_USER, 5, 5, 0, 02750, 02700}, /* the file's group has no permission */
	{5, ACL_USER, 5, 5, 0, 0750, 0750},   {7, ACL_USER, 7, 5, 5, 0755, 0755},
	{5, ACL_USER, 0, 5, 5, 0755, 0700}, /* the named user can be a member of the group */
	{5, ACL_GROUP, 0, 5, 5, 0755, 0750}, /* "others" can be members of the named group */
	{5, ACL_GROUP, 7, 4, 5, 0745, 0744}, /* the mask also limits the permissions of others */
	{7, ACL_USER, 7, 7, 7, 0640, 0640}, /* the result has no permission that the mode lacks */
};

static void test_mode_without_the_acl_allows_no_user_more(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct acl acl = acl_of(cases[i].group, cases[i].tag, cases[i].named, cases[i].mask,
					cases[i].others);

		assert_int_equal(without(&acl, 5, cases[i].mode), cases[i].left);
	}
}

static void test_acl_without_names_is_the_mode(void **state)
{
	struct acl acl = {
		{htole32(POSIX_ACL_XATTR_VERSION)},
		{entry(ACL_USER_OBJ, 7), entry(ACL_GROUP_OBJ, 5), entry(ACL_OTHER, 1)},
	};

	(void)state;
	assert_int_equal(without(&acl, 3, 0751), 0751);
}

static void test_invalid_acl_allows_the_owner_only(void **state)
{
	struct acl acl = acl_of(7, ACL_USER, 7, 7, 7);

	(void)state;
	assert_int_equal(acl_mode_without(&acl, 0, 0777), 0700);
	assert_int_equal(acl_mode_without(&acl, 3, 04777), 04700);
	assert_int_equal(acl_mode_without(&acl, sizeof(acl.header) + 3, 0777), 0700);
	acl.header.a_version = htole32(1);
	assert_int_equal(without(&acl, 5, 0777), 0700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mode_without_the_acl_allows_no_user_more),
		cmocka_unit_test(test_acl_without_names_is_the_mode),
		cmocka_unit_test(test_invalid_acl_allows_the_owner_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
