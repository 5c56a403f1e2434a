/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/doctor/findings_private.h"

/*
 * What keeps the gateway from listening where the file says: names, addresses,
 * folders and groups that this machine does not have.  Whether a port is in use
 * is not looked at, as it may be by the gateway itself.  Main thread.
 */
void doctor_listen_addresses(struct doctor *doctor);
