/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/relay/relay.h"

/*
 * The target that posts events to a URL, each signed and with the id that lets
 * its receiver do it once (Standard Webhooks 1.0.0): at least once, in the
 * order of each record, until the receiver takes it or for three days.  What
 * it has not brought yet it keeps in the store's Redis (shared/kept.h).  It
 * knows no streams.  The worker's thread; the core closes it.
 */
extern const struct relay_target_kind webhook_kind;
