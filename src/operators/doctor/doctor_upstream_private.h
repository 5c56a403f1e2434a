/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/doctor/findings_private.h"

/*
 * What `doctor` finds of the targets of upstreams: a function for each of their
 * lines in tbl/findings.h.  They only judge: all asking was done before.  Main
 * thread.
 */
void doctor_upstream_name(struct doctor *doctor);
void doctor_upstream_closed(struct doctor *doctor);
void doctor_upstream_silent(struct doctor *doctor);
void doctor_upstream_plain(struct doctor *doctor);
void doctor_upstream_wants_tls(struct doctor *doctor);
void doctor_upstream_tls(struct doctor *doctor);
void doctor_upstream_target_down(struct doctor *doctor);
/* Of relays: their webhooks' receivers, which are upstreams without a name. */
void doctor_upstream_receiver(struct doctor *doctor);
