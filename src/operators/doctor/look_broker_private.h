/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/doctor/look_private.h"

/*
 * What the kinds of brokers have in common, for the files that ask each; those
 * look at a source, or a relay, and at its broker, from outside of any gateway.
 * They change nothing there, take no message and join no group, and block, for
 * seconds.  Main thread.
 */

/* A finding of a source or a relay; detail and remedy are taken over. */
void look_broker_add(struct doctor *doctor, const struct conf_source *source,
    enum finding_name name, char *detail, char *remedy);
void look_broker_add_relay(struct doctor *doctor,
    const struct conf_relay *relay, enum finding_name name, char *detail,
    char *remedy);
/* Of its broker, which other sources may have, too: said once. */
void look_broker_add_once(struct doctor *doctor,
    const struct conf_source *source, enum finding_name name, char *detail);
/* Its broker cannot be looked at: it is silent, or refuses our login. */
void look_broker_unseen(struct doctor *doctor, const struct conf_source *source,
    bool refused, const char *message);
void look_broker_unseen_relay(
    struct doctor *doctor, const struct conf_relay *relay, const char *message);
/* What waits: so many messages (-1: not known), the oldest for so long. */
void look_broker_waits(struct doctor *doctor, const struct conf_source *source,
    int64_t lag, int64_t waits_ms);
/* One more item of a list behind a comma, or NULL; takes text over. */
void look_broker_append(char **list, char *text);
