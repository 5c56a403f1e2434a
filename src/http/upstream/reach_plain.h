/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "http/upstream/reach.h"

/*
 * Which of the targets with http:// that were reached speak TLS, and no plain
 * HTTP: of what such a one is sent nobody knows what became.  Each is offered a
 * handshake; one that takes it is asked OPTIONS * without it, because a port
 * may speak both.  For commands: it blocks for four seconds at most.
 */
void reach_plain_judge(struct reached *list, size_t count);
