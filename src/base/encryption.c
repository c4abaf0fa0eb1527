/* SPDX-License-Identifier: MIT */
#include "base/encryption.h"

#include <errno.h>
#include <linux/fscrypt.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>

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

/* A key that was removed while files were open counts as absent: files that are opened now cannot
 * be read. */
int encryption_check_key(int fd)
{
	struct fscrypt_get_policy_ex_arg policy = {.policy_size = sizeof(policy.policy)};
	struct fscrypt_get_key_status_arg key = {0};

	if (ioctl(fd, FS_IOC_GET_ENCRYPTION_POLICY_EX, &policy) < 0 ||
	    !find_key(&policy, &key.key_spec) ||
	    ioctl(fd, FS_IOC_GET_ENCRYPTION_KEY_STATUS, &key) < 0)
		return 0;
	return key.status == FSCRYPT_KEY_STATUS_PRESENT ? 0 : -ENOKEY;
}
