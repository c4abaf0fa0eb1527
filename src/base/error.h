/* SPDX-License-Identifier: MIT */

/* Words for error numbers. Any thread; nothing blocks and errno is kept. What
 * is returned lives for ever.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/* What an error means, for people: "Permission denied".
 *
 * error	an errno, of either sign, so that a failed call's result fits
 */
const char *error_text(int error);

/* What an error is called, for programs: "EACCES"; "EUNKNOWN" for a number
 * that the C library does not know.
 *
 * error	an errno, of either sign
 */
const char *error_name(int error);

#endif
