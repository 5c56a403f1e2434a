/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * Quotes an argument of a command that people are told to type into a shell, in
 * single quotes where it needs them; the caller frees it.  Pure; any thread.
 */
char *shell_quote(const char *text);
