/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * `onceproxy messages`: sources and their messages, through the admin
 * interface of a running gateway.  argv[0] is "messages"; an exit code.  Main
 * thread.
 */
int messages_run(int argc, char **argv, const char *default_file);
