/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * The servers that messages come from (a type of conf/types.h).  Main thread,
 * but for brokers_clear.
 */
void brokers_parse(struct loader *l, const struct given *given);
void brokers_clear(void *base, void *field);
