/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "conf/option.h"

/*
 * Which members of a broker, and of a source, are for one kind of broker only.
 * Constant; any thread.
 */

/* The kinds that may have the option, as bits: 1u << BROKER_STREAMS ... */
unsigned kinds_of(const struct option *option);
/* Whether a broker of that kind, or a source of one, may have the option. */
bool kinds_fit(const struct option *option, enum broker_kind kind);
/* What a source reads of a broker of that kind. */
const struct option *kinds_read(enum broker_kind kind);
/* What a broker of that kind is: "Redis", "PostgreSQL" or "Kafka". */
const char *kinds_name(enum broker_kind kind);
/* "Redis", "Redis or PostgreSQL" ...: whose the option is; not of all. */
const char *kinds_words(const struct option *option);
