/* SPDX-License-Identifier: MIT */
#ifndef VIEW_LISTING_COOKIE_H
#define VIEW_LISTING_COOKIE_H

/* Cookies of listings in the order of ids: dups/ and the folders in it.
 *
 * A cookie is an encrypted id: a permutation (permutation.h) with a secret of the view. The cookie
 * alone determines where a listing continues, so a listing has no other state. Any number of
 * readers can continue from any cookie at any time. Pure code, any thread. */

#include <stdint.h>

/* Returns a cookie of at least VIEW_COOKIE_MIN, below 2^63. */
uint64_t listing_cookie(uint64_t secret, uint64_t id);

/* Returns the id of a cookie, or 0 for the beginning. Returns UINT64_MAX - 1 if no id has this
 * cookie, so that no name follows. */
uint64_t listing_id(uint64_t secret, uint64_t cookie);

#endif
