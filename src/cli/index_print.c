/* SPDX-License-Identifier: MIT */
#include "cli/index_print.h"

#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "base/spool.h"

struct destination {
	int fd;
	int spool; /* for fd; -1: none */
};

/* Prints to a file, or to a spool for it. */
static int print_to(const struct index_printer *printer, struct current_index *index,
		    struct destination to, enum twinfs_exit *status)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_OUTPUT struct output output;
	int r;

	output_init(&output, to.spool >= 0 ? to.spool : to.fd);
	output.terminal = isatty(to.fd) == 1;
	r = printer->whole ? current_index_begin_whole(index, &reader)
			   : catalog_read_begin(index->catalog, &reader);
	if (r == 0)
		r = printer->print(printer->context, index, reader, &output, status);
	return r < 0 ? r : output_flush(&output);
}

/* Prints into a temporary file first. Without the file, a snapshot of the daemon's index would stay
 * open for as long as a pager shows the output. */
static int print_through_spool(const struct index_printer *printer, struct current_index *index,
			       enum twinfs_exit *status)
{
	AUTO_CLOSE int spool = spool_open();
	int r;

	if (spool < 0)
		return spool;
	r = print_to(printer, index, (struct destination){STDOUT_FILENO, spool}, status);
	return r < 0 ? r : spool_copy(spool, STDOUT_FILENO);
}

/* Logs a failure. A closed pipe and an interrupt are not logged. */
static void explain(const struct index_printer *printer, int result)
{
	if (result == -EPIPE)
		log_mark_reported(); /* the reader closed the pipe on purpose */
	else if (result == -EUCLEAN)
		log_error("cannot print the %s: the index is damaged; run 'twinfs scan' to rebuild "
			  "it",
			  printer->noun);
	else if (result != -EINTR && result != -EXDEV)
		log_error("cannot print the %s: %s", printer->noun, error_text(result));
}

enum twinfs_exit index_print(const struct index_printer *printer, struct current_index *index)
{
	return index_print_to(printer, index, STDOUT_FILENO);
}

enum twinfs_exit index_print_to(const struct index_printer *printer, struct current_index *index,
				int fd)
{
	enum twinfs_exit status = TWINFS_EXIT_COMPLETE;
	int r;

	if (index->served && fd == STDOUT_FILENO)
		r = print_through_spool(printer, index, &status);
	else
		r = print_to(printer, index, (struct destination){fd, -1}, &status);
	if (!index->served)
		catalog_judge(index->catalog, r);
	if (r < 0) {
		explain(printer, r);
		return TWINFS_EXIT_FAILED;
	}
	return current_index_is_incomplete(index) ? TWINFS_EXIT_INCOMPLETE : status;
}
