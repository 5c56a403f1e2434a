/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/*
 * When a connection to Redis counts as silent: store.timeout is for silence,
 * not for bytes that flow.  It only looks, and only when a deadline has come;
 * what follows from silence is for those who ask.  The link's thread.
 */
struct link;
struct link_call;

/* The call's bytes were just given to the connection. */
void silence_begin(const struct link *link, struct link_call *call);
/* What link_left_ms (link.h) does. */
int64_t silence_left_ms(const struct link *link, struct link_call *call);
/* How long, in ms, a link may still be silent that moved last at that time. */
int64_t silence_left_since(const struct link *link, int64_t moved_us);
