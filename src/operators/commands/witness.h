/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * `onceproxy witness …`: what an operator says about the witness of a route,
 * through the admin interface of a running gateway.  Main thread.
 */
extern const struct command witness_command;
