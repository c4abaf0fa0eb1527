/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_PERMUTATION_H
#define VIEW_TREE_PERMUTATION_H

/* Permutes numbers with a secret, so that the distance of two numbers cannot be computed without
 * the secret. A Feistel network is a permutation with any round function. Pure code, any thread. */

#include <stdint.h>

/* Argument and result have 2 * half_bits bits; half_bits is at most 32. */
uint64_t permute(uint64_t secret, unsigned int half_bits, uint64_t number);

/* The inverse of permute(). */
uint64_t permute_back(uint64_t secret, unsigned int half_bits, uint64_t permuted);

/* ---- listing cookie ------------------------------------------------------------------ */

/* Cookies of listings in the order of ids: dups/ and the folders in it.
 *
 * A cookie is an encrypted id: a permutation with a secret of the view. The cookie
 * alone determines where a listing continues, so a listing has no other state. Any number of
 * readers can continue from any cookie at any time. Pure code, any thread. */

/* Returns a cookie of at least VIEW_COOKIE_MIN, below 2^63. */
uint64_t listing_cookie(uint64_t secret, uint64_t id);

/* Returns the id of a cookie, or 0 for the beginning. Returns UINT64_MAX - 1 if no id has this
 * cookie, so that no name follows. */
uint64_t listing_id(uint64_t secret, uint64_t cookie);

#endif
