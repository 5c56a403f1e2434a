/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/*
 * Where a server of a cluster is, as the cluster says it.  Pure; any thread.
 */
struct place {
	char *host; /* without brackets; the owner's, by place_clear */
	uint16_t port;
};

/* "HOST:PORT", also of IPv6 with brackets and without; the caller clears. */
bool place_read(struct span text, struct place *ret_place);
/* Takes such a text apart; the host may be empty, and is part of text. */
bool place_split(struct span text, struct span *ret_host, uint16_t *ret_port);
/*
 * What can be the name or the address of a host, at most 255 bytes, so that
 * getaddrinfo can be asked for it and the log can show it; "?" is none.
 */
bool place_is_host(struct span host);
bool place_eq(const struct place *a, const struct place *b);
void place_clear(struct place *place);
