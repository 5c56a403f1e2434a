/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/source/source.h"

/*
 * While a source stands still, one delivery at a time tries for all others
 * whether that is over: after one second, then two, and so on, up to sixty
 * while nothing can be sent, else four.  The worker's thread only.
 */
void source_probe_init(struct source *source);
