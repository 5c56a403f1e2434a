/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * `onceproxy witness`: what an operator says about the witness of a route,
 * through the admin interface of a running gateway.  An exit status.
 */
int witness_run(int argc, char **argv, const char *default_file);
