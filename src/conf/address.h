/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * Addresses of the configuration (struct address of conf/conf.h), as text:
 * HOST:PORT, [V6]:PORT, :PORT (all addresses, the host is empty) or
 * unix:/path.  It knows no file.  Any thread.  Those that return a text say
 * what is wrong, or NULL.
 */

/* The caller frees the address with address_clear. */
const char *address_read(const char *text, struct address *ret_address);
/*
 * HOST, HOST:PORT, [V6] or [V6]:PORT; the host is new memory and has no
 * brackets.
 */
const char *address_read_host_port(struct span text, char **ret_host,
    uint16_t *ret_port, bool *ret_has_port);
const char *address_wrong_host_port(const char *text);
/* Takes a valid HOST:PORT apart; the caller frees *ret_host. */
void address_split(const char *text, char **ret_host, uint16_t *ret_port);

/* Whether an address can only be reached from this machine. */
bool address_is_local(const struct address *address);

/* A type of conf/types.h. */
void address_clear(void *base, void *field);
