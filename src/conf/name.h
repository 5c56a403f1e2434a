/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/span.h"

/*
 * Names in the configuration: what is wrong with one; NULL: nothing.  Pure;
 * any thread.
 */

/* Something to read, without control characters. */
const char *name_wrong(const char *text);
/*
 * 1 to 64 letters, digits and . _ -: what may stand in a line of its own
 * before other bytes, in a path and in a key of Redis.
 */
const char *name_wrong_plain(const char *text);
/* The name of a topic of Kafka: 1 to 249 of those, but not "." and "..". */
const char *name_wrong_topic(const char *text);
/* The one in ":id", "<id>" or "<int:id>" of other programs; empty: none. */
struct span name_as_others_do(struct span text);
/*
 * What the slot of a key is made from in a cluster of Redis: what stands
 * between its first braces, or all of it.
 */
struct span name_slot_tag(struct span key);
