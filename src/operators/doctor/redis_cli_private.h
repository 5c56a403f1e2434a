/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/doctor/findings_private.h"

/*
 * Leads the commands of cures to the Redis that is meant: its host and port, or
 * its socket, its database, and the files for TLS.  Where the file has a
 * password, redis-cli asks for one: an administrator has another, and may have
 * another name, than the gateway.  Main thread.
 */

/*
 * Where the store is that does not answer, with that message, and what to do
 * where that is not all; for free().
 */
char *redis_cli_silent(const struct conf *conf, const char *message);
/*
 * What helps where Redis refuses us with that message, besides the line that
 * makes a user, which is taken over; for free().
 */
char *redis_cli_refused(char *acl, const char *message);
/* In the findings from that index on: to the store's, the one looked at. */
void redis_cli_to_store(struct doctor *doctor, size_t from);
/* The same, to a broker, unless only its cluster or Sentinels are known. */
void redis_cli_to_broker(
    struct doctor *doctor, size_t from, const struct conf_redis *at);
