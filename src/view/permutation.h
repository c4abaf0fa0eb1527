/* SPDX-License-Identifier: MIT */
#ifndef VIEW_PERMUTATION_H
#define VIEW_PERMUTATION_H

/* Numbers in another form: who sees some of them, and does not know the secret, cannot tell how many lie
 * between. A permutation of all numbers of a width, by a Feistel network, which is one whatever its round
 * function is. Pure code, any thread. */

#include <stdint.h>

/* number, and what is given: of 2 * half_bits bits, half_bits at most 32. */
uint64_t permute(uint64_t secret, unsigned int half_bits, uint64_t number);

/* The number that permute() gave this for. */
uint64_t permute_back(uint64_t secret, unsigned int half_bits, uint64_t permuted);

#endif
