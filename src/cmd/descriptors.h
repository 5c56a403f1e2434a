/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/* How many files and sockets this process may have open.  Main thread. */

/*
 * Raises the soft limit to the hard one, which is what counts: the soft one
 * is low for programs that use select(), and we do not.  Returns the limit.
 */
int64_t descriptors_raise(void);
