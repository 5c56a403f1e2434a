/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * Numbers, durations, sizes and what else one value is (types of
 * conf/types.h).  Main thread, but for the functions that make text.
 */
void value_parse_boolean(struct loader *l, const struct given *given);
void value_parse_count(struct loader *l, const struct given *given);
void value_parse_duration(struct loader *l, const struct given *given);
void value_parse_size(struct loader *l, const struct given *given);
/* Permissions in octal, three digits or four. */
void value_parse_mode(struct loader *l, const struct given *given);
