/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/complaints.h"
#include "conf/conf.h"

/*
 * Warnings of the bearer tokens that sources bring along, where a route's scope
 * is one: by the keys and the time of now, and of two weeks from now, or less
 * for one that lives shorter.  Main thread.
 */
void warnings_tokens_find(
    const struct conf *conf, int64_t now_ms, struct complaints *complaints);
