/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

/*
 * Headers that requests have anyway, and that say neither which payment is
 * meant nor whose it is.  It knows no configuration.  Any thread.
 */

/* Whether each sending of one request has it anew, as Date. */
bool usual_headers_change(const char *header);
/* Whether requests of all clients may have the same, as Content-Type. */
bool usual_headers_stay(const char *header);
