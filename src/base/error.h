/* SPDX-License-Identifier: MIT */

/* Texts for error numbers. Any thread; does not block and preserves errno. Returned strings are
 * static.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/* Returns the description of an error for people: "Permission denied".
 *
 * error	an errno of either sign, so that the result of a failed call can be given
 */
const char *error_text(int error);

/* Returns the name of an error for programs: "EACCES", or "EUNKNOWN" if the C library does not know
 * it.
 *
 * error	an errno of either sign
 */
const char *error_name(int error);

#endif
