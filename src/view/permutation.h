/* SPDX-License-Identifier: MIT */
#ifndef VIEW_PERMUTATION_H
#define VIEW_PERMUTATION_H

/* Permutes numbers with a secret, so that the distance of two numbers cannot be computed without
 * the secret. A Feistel network is a permutation with any round function. Pure code, any thread. */

#include <stdint.h>

/* Argument and result have 2 * half_bits bits; half_bits is at most 32. */
uint64_t permute(uint64_t secret, unsigned int half_bits, uint64_t number);

/* The inverse of permute(). */
uint64_t permute_back(uint64_t secret, unsigned int half_bits, uint64_t permuted);

#endif
