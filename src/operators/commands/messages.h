/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * `onceproxy messages …` shows operators sources and their messages, and acts
 * on these, through the admin interface of a running gateway.  Main thread.
 */
extern const struct command messages_command;
