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
	enum {
		RIGHT_ALWAYS,
		RIGHT_WITH_DB,
		RIGHT_WITH_EVENTS,
		RIGHT_WITH_FUNCTION,
		RIGHT_WITH_REPLICAS,
		RIGHT_WITH_SCRIPT,
		RIGHT_WITH_CLUSTER,
		RIGHT_WITH_SOURCES,
		RIGHT_WITH_RELAYS,
		RIGHT_WITH_MESSAGES,
		RIGHT_WITH_HASHES,
		RIGHT_WITH_WEBHOOKS,
		RIGHT_WITH_REFUSAL,
	} when;
};

extern const struct right rights[];
extern const size_t n_rights;

/* Whether a gateway with that configuration needs it. */
bool rights_needed(const struct conf *conf, const struct right *right);

/* The pattern of keys and that of channels, as ACL has them; caller frees. */
char *rights_keys(const struct conf *conf);
char *rights_channels(const struct conf *conf);
/*
 * What makes a user that can run a gateway with that configuration and no more:
 * a line for redis-cli; caller frees.
 */
char *rights_acl(const struct conf *conf);
