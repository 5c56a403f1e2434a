/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * `onceproxy check`: says on standard output whether a configuration is
 * valid, all errors in one go, without opening a port.  Main thread.
 */

/* The exit code: 0 where it is valid, else 1. */
int cmd_check(const char *file);
