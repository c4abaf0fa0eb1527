/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_PAGE_GATE_H
#define MOUNT_PAGE_GATE_H

/* Decides whether the kernel may keep its page cache of a file at an open (keep_cache).
 *
 * The kernel may keep the pages if the previous open of the file had the same content: all cached
 * pages were read after that open. A file with another content is another node, but node numbers
 * repeat after 4096 versions. The gate stores the last content of as many files as it has slots. If
 * two open files share a slot, their pages are discarded more often, which costs only time. Any
 * thread. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PAGE_GATE_SLOTS 65536

/* All zero: empty. */
struct page_gate {
	_Atomic uint64_t contents[PAGE_GATE_SLOTS];
};

/* Returns whether the pages may be kept, and stores the content for the next open. content is a
 * digest of the file and the version of its content. The digests of two contents are equal with a
 * probability of 2^-64. */
static inline bool page_gate_may_keep(struct page_gate *gate, uint64_t file, uint64_t content)
{
	return atomic_exchange(&gate->contents[file % PAGE_GATE_SLOTS], content) == content;
}

#endif
