/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * `onceproxy messages …` shows operators sources and their messages, and acts
 * on these, through the admin interface of a running gateway.  argv[0] is
 * "messages".  Returns the exit status, as keys_run does.  Main thread.
 */
int messages_run(int argc, char **argv, const char *default_file);
