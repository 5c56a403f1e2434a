/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * What the gateway's user of Redis must be allowed to do (tbl/rights.h): for
 * the command that prints an ACL and for the checks of one.  It asks nothing.
 * Pure; any thread.
 */
struct right {
	const char *name;    /* as an ACL has it, after the plus sign */
	const char *probe;   /* see tbl/rights.h */
	const char *message; /* what it is for, for people */
};

extern const struct right rights[];
extern const size_t n_rights;

/* Whether a gateway with that configuration needs the one of that index. */
bool rights_needed(const struct conf *conf, size_t index);

/* The pattern of keys and that of channels, as ACL has them; caller frees. */
void rights_patterns(
    const struct conf *conf, char **ret_keys, char **ret_channels);
/*
 * What makes a user that can run a gateway with that configuration and no more:
 * a line for redis-cli; caller frees.
 */
char *rights_acl(const struct conf *conf);
