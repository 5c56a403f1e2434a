/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/*
 * Addresses of the configuration, taken apart.  A struct address is in
 * conf/conf.h.  Any thread.
 */

/* Takes a valid HOST:PORT apart; the caller frees *ret_host. */
void address_split(const char *text, char **ret_host, uint16_t *ret_port);
