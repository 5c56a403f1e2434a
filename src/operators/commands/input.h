/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/must.h"
#include "base/span.h"

/*
 * What a command reads besides its arguments: a file, or standard input, whose
 * name is "-".  It knows nothing of what stands there.  Main thread.
 */

/*
 * The whole of it, NUL-terminated, which the caller frees; false, with errno
 * set, where it cannot be read.
 */
MUST_USE bool input_read(const char *name, char **ret_bytes, size_t *ret_len);
/*
 * Takes the next line off the text, without its end and the blanks around it;
 * empty ones, and those that begin with "#", are left out.  False: no more.
 */
MUST_USE bool input_next(struct span *text, struct span *ret_line);
