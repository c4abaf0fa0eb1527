/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_PAGE_GATE_H
#define MOUNT_PAGE_GATE_H

/* May the kernel keep the pages that it has of a file, when the file is opened?
 *
 * It may when they were read since the file was opened with the content that it has now. That a
 * file with another content is another node says nearly the same, but a node's version is short:
 * one that is not opened for 4096 changes of the file comes again. The gate remembers the last
 * content of as many files as it has slots; for a file that another one put out of its slot the
 * answer is no, which costs only time. Any thread. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PAGE_GATE_SLOTS 65536

/* All zero: knows no file. */
struct page_gate {
	_Atomic uint64_t contents[PAGE_GATE_SLOTS];
};

/* Asks for a file that is being opened, and remembers it. content: a digest of which file it is and
 * which of its contents; no other has it (but for a chance of 2^-64). */
static inline bool page_gate_may_keep(struct page_gate *gate, uint64_t file, uint64_t content)
{
	return atomic_exchange(&gate->contents[file % PAGE_GATE_SLOTS], content) == content;
}

#endif
