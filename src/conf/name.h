/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

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
