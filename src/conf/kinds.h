/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "conf/option.h"

/*
 * Which members of a broker, a source and a relay are for one kind of broker.
 * Constant; any thread.
 */

/* A broker of each kind for people, and its members. */
extern const struct kind_words {
	const char *name;
	const char *broker; /* of a broker: where it is */
	const char *read;   /* of a source: what it reads */
	const char *put;    /* where a source, or a relay, puts something */
	enum option_type type; /* of the name there */
} kinds_all[BROKER_KIND_COUNT_];

/* The kinds that may have the option, as bits: 1u << BROKER_STREAMS ... */
unsigned kinds_of(const struct option *option);
/* Whether a broker of that kind, or what names one, may have the option. */
bool kinds_fit(const struct option *option, enum broker_kind kind);
/*
 * What a source reads of a broker of that kind, or a relay writes there; NULL:
 * none does.
 */
const struct option *kinds_place(enum group group, enum broker_kind kind);
/* "Redis", "Redis or PostgreSQL" ...: whose the option is; not of all. */
const char *kinds_words(const struct option *option);
