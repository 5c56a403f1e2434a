/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * Commands that people are told to type into a shell.  Pure; any thread.
 */

/* An argument, in single quotes where it needs them; the caller frees it. */
char *shell_quote(const char *text);
