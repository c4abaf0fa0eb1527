/* SPDX-License-Identifier: MIT */

/* What the kernel refuses (FIDEDUPERANGE, Linux 6.18), and what it does not:
 *
 *	EROFS		the copy is on a read-only mount. A read-only subvolume is permitted.
 *	EINVAL		on btrfs, only one of the two files has checksums. A file has none if it
 *			is nodatacow (chattr +C), or was created while the file system was mounted
 *			with nodatasum or nodatacow. Compression may differ.
 *	EPERM		the copy is immutable, or is not in the upper layer of an overlay
 *	ETXTBSY		one of the files is an active swap file, which is seldom equal to another
 *	EOPNOTSUPP	the file system cannot share blocks
 */
#include "doctor/dedupe.h"

#include <stdlib.h>
#include <sys/statvfs.h>

#include "base/filesystem_kind.h"
#include "base/human_text.h"
#include "base/quote.h"

static void add_incapable(struct findings *findings, int fd, const struct mount_entry *mount)
{
	const char *type = mount ? mount->type : "this file system";

	if (filesystem_has_layers_at(fd))
		findings_add(findings, VERDICT_OK, "dedupe",
			     "files can share blocks only in the upper layer, if it is on btrfs or "
			     "XFS");
	else if (filesystem_lacks_reflinks_at(fd))
		findings_add(findings, VERDICT_OK, "dedupe",
			     "files cannot share blocks: this XFS was made without reflinks");
	else
		findings_add(findings, VERDICT_OK, "dedupe", "files on %s cannot share blocks",
			     type);
}

/* Adds that the files can share blocks. Returns whether dedupe can write to them. */
static bool add_capable(struct findings *findings, int fd, const struct mount_entry *mount,
			bool is_nodatacow)
{
	struct statvfs figures;

	if (fstatvfs(fd, &figures) == 0 && figures.f_flag & ST_RDONLY) {
		findings_add(findings, VERDICT_NOTE, "dedupe",
			     "files can share blocks, but 'twinfs dedupe' cannot change files on a "
			     "read-only mount");
		findings_remedy_of_root(findings, "mount -o remount,rw %s",
					quote_path(mount ? mount->point : findings->path));
		return false;
	}
	findings_add(findings, VERDICT_OK, "dedupe",
		     "'twinfs dedupe' can let equal files share blocks%s",
		     is_nodatacow ? ", but not with files elsewhere: its directories are nodatacow "
				    "(chattr +C)"
				  : "");
	return true;
}

static void add_nodatacow(struct findings *findings, const struct census *census)
{
	AUTO_FREE char *first = findings_path_below(findings, census->nodatacow.first);
	char number[NUMBER_TEXT_MAX];

	if (!first)
		return;
	findings_add(findings, VERDICT_NOTE, "nodatacow",
		     "%s of its directories %s nodatacow (chattr +C), such as %s: files created "
		     "there cannot share blocks with files created elsewhere",
		     number_format(number, census->nodatacow.count),
		     plural(census->nodatacow.count, "is", "are"), quote_path(first));
	findings_remedy(findings, "if they should, run chattr -C DIRECTORY, and replace each file "
				  "there by a copy of it");
}

static void add_nodatasum(struct findings *findings)
{
	findings_add(findings, VERDICT_NOTE, "nodatasum",
		     "mounted with nodatasum: files created since then cannot share blocks with "
		     "files that have checksums");
	findings_remedy(findings, "if dedupe refuses a copy as 'Invalid argument', replace it and "
				  "the kept file by copies of them");
}

void doctor_examine_dedupe(struct findings *findings, int fd, const struct mount_entry *mount,
			   const struct census *census)
{
	uint64_t nodatacow = census->nodatacow.count;
	/* such a mount makes all new files equal in this respect */
	bool is_nodatasum = mount && mount_entry_has_option(mount, "nodatasum");
	bool is_mixed = !is_nodatasum && nodatacow > 0 &&
			nodatacow < census->directories - census->unreadable;

	if (!filesystem_shares_extents_at(fd)) {
		add_incapable(findings, fd, mount);
		return;
	}
	if (!add_capable(findings, fd, mount, !is_nodatasum && !is_mixed && nodatacow > 0))
		return;
	if (is_mixed)
		add_nodatacow(findings, census);
	if (is_nodatasum)
		add_nodatasum(findings);
}
