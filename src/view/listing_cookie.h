/* SPDX-License-Identifier: MIT */
#ifndef VIEW_LISTING_COOKIE_H
#define VIEW_LISTING_COOKIE_H

/* Cookies of listings that are in the order of ids: dups/ and the folders in it.
 *
 * A cookie is the id in another form. So it alone says where a listing continues: nothing is held
 * for a listing, and any number of readers may continue from any cookie at any time. The form is a
 * permutation (permutation.h) that depends on a secret of the view. Pure code, any thread. */

#include <stdint.h>

/* From VIEW_COOKIE_MIN on, below 2^63. */
uint64_t listing_cookie(uint64_t secret, uint64_t id);

/* The id with this cookie: 0 for the beginning, UINT64_MAX - 1 for a number that is no cookie of an
 * id, so that nothing follows it. */
uint64_t listing_id(uint64_t secret, uint64_t cookie);

#endif
