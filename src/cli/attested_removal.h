/* SPDX-License-Identifier: MIT */
#ifndef CLI_ATTESTED_REMOVAL_H
#define CLI_ATTESTED_REMOVAL_H

/* `twinfs remove --plan=LIST --attested=DIR`: removes files whose contents other hosts keep. For
 * the main thread.
 *
 *	list		what can go, and which hosts keep it (fleet/file_list.h)
 *	attestations	which of these hosts read their files again lately (fleet/attestations.h)
 *	promises	what this host keeps for others (fleet/promises.h)
 *	act		each file is held, its SHA-256 computed, and it is removed (act/act.h)
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "cli/acting.h"
#include "twinfs/exit.h"

/* Maximum and default age of an attestation, in seconds. The maximum is below the validity of a
 * promise (fleet/promises.h), so that clocks may differ by days. */
#define ATTESTED_AGE_MAX (UINT64_C(7) * 24 * 3600)
#define ATTESTED_AGE_MIN UINT64_C(60)
#define ATTESTED_AGE_DEFAULT (UINT64_C(24) * 3600)

struct attested_settings {
	const char *folder; /* of the attestations, borrowed; NULL: not given */
	uint64_t max_age_s; /* 0: not given */
};

/* Returns what is wrong with the command line, or NULL. */
const char *attested_fault(const struct attested_settings *settings, const struct acting *acting);

/* Runs the command for its operands, SOURCE... or MOUNTPOINT; without operands, for the sources of
 * the list. Returns the exit status. */
enum twinfs_exit attested_removal(struct acting *acting, const struct attested_settings *settings,
				  char *const *operands, size_t count);

#endif
