/* SPDX-License-Identifier: MIT */
#ifndef CLI_LIST_PRINT_H
#define CLI_LIST_PRINT_H

/* What list prints. For the first thread; everything is borrowed. */

#include "base/attributes.h"
#include "cli/common_options.h"
#include "report/report.h"
#include "twinfs/exit.h"

struct index_snapshot;

struct list_request {
	const struct common_settings *common;
	enum report_format format;
	enum report_part part;
};

/* The print function of a struct index_printer; context is a struct list_request. */
MUST_CHECK int list_print(void *context, const struct index_snapshot *snapshot,
			  struct output *output, enum twinfs_exit *status);

#endif
