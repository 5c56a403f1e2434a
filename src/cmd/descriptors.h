/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

struct conf;

/* How many files and sockets this process may have open.  Main thread. */

/*
 * Raises the soft limit to the hard one, which is what counts: the soft one
 * is low for programs that use select(), and we do not.  Returns the limit.
 */
int64_t descriptors_raise(void);
/*
 * How many connections of clients that allows: limits.connections, or half of
 * the limit where that is less, because a client may need a descriptor to the
 * upstream besides its own.
 */
int64_t descriptors_clients(const struct conf *conf, int64_t limit);
