/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * Ports of 127.0.0.1 for servers that tests start and start again.  They lie
 * below those that the kernel gives to clients: nobody gets one of them while
 * its server is down.
 */

/* A TCP port that nobody listens on just now; ends the process if it can't. */
unsigned ports_free(void);
