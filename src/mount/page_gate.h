/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_PAGE_GATE_H
#define MOUNT_PAGE_GATE_H

/* May the kernel keep the pages that it has of a file, when the file is opened?
 *
 * It may when they were read since the file was opened with the signature that it has now. The
 * gate remembers the last signature of as many files as it has slots; for a file that another one
 * put out of its slot the answer is no, which costs only time. Any thread.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PAGE_GATE_SLOTS 65536

/* All zero: knows no file. */
struct page_gate {
	_Atomic uint64_t signatures[PAGE_GATE_SLOTS];
};

/* Asks for a file that is being opened, and remembers it. signature is the file's own: no other
 * file has it (but for a chance of 2^-64). */
static inline bool page_gate_may_keep(struct page_gate *gate, uint64_t node, uint64_t signature)
{
	return atomic_exchange(&gate->signatures[node % PAGE_GATE_SLOTS], signature) == signature;
}

#endif
