/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * What the log hears of a link: once each time that it goes down, and when it
 * is up again, unless its owner has others that say so (struct link_events).
 * The password is never in it.  The link's thread.
 */
struct link;

/* It is down, for the reason that its message has. */
void news_down(struct link *link);
/* It is up: that is no news where nobody has heard that it was down. */
void news_up(struct link *link);
/* It is about to be freed; the log hears nothing. */
void news_freed(struct link *link);
/* Its server says what no Redis does. */
void news_garbled(const struct link *link);
