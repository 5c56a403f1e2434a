/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/loader_private.h"

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
/* Of what needs no memory. */
void value_clear_nothing(void *base, void *field);

/*
 * "30s" and "64KiB", with the largest unit that fits; the caller frees them.
 * A number of bytes without a unit is only digits.
 */
char *value_duration_text(int64_t ms);
char *value_size_text(int64_t bytes);
