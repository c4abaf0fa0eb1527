/* SPDX-License-Identifier: MIT */

/* Quoted names. For any bytes, the result has only printable characters. */

#include "base/log.h"
#include "base/text.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *quoted = quote_bytes((const char *)data, size);
	size_t length = strlen(quoted);
	uint32_t code;

	REQUIRE(length >= 2 && quoted[0] == '\'' && quoted[length - 1] == '\'');
	for (size_t at = 0, taken; at < length; at += taken) {
		taken = utf8_decode(quoted + at, length - at, &code);
		REQUIRE(taken > 0 && !utf8_is_unfit(code));
	}
	return 0;
}
