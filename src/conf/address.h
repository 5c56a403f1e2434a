/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * Addresses of the configuration (struct address of conf/conf.h), as text:
 * HOST:PORT, [V6]:PORT, :PORT (all addresses, the host is empty) or
 * unix:/path.  It knows no file.  Any thread.  Those that return a text say
 * what is wrong, or NULL.
 */

/* What the address points to lives in the arena. */
const char *address_read(
    struct arena *arena, const char *text, struct address *ret_address);
/*
 * HOST, HOST:PORT, [V6] or [V6]:PORT; the host points into the text and has no
 * brackets.
 */
const char *address_read_host_port(struct span text, struct span *ret_host,
    uint16_t *ret_port, bool *ret_has_port);
const char *address_wrong_host_port(const char *text);
/* Takes a valid HOST:PORT apart; the caller frees *ret_host. */
void address_split(const char *text, char **ret_host, uint16_t *ret_port);

/* Whether an address can only be reached from this machine. */
bool address_is_local(const struct address *address);
