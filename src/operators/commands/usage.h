/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/must.h"

/*
 * Tells people on standard error that a command line is wrong: what may have
 * been meant, what there is, and where help is.  It knows no command.  Main
 * thread.
 *
 * where is the command's name; "" is the program.  Of lists of words NULL is
 * the last.  Each function returns the exit status, 2.
 */
int usage_wrong(const char *where, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* There is no such command or verb among these; given NULL: none was said. */
int usage_unknown(const char *where, const char *kind, const char *given,
    const char *const *names);
/* The option, named without its dashes, takes none but these words. */
int usage_unknown_word(const char *where, const char *option,
    const char *given, const char *const *words);
/* There is no such option among these; given is the argument. */
int usage_unknown_option(
    const char *where, const char *given, const char *const *names);
