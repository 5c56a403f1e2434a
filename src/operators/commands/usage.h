/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/must.h"

/*
 * Tells people on standard error that a command line is wrong: what may have
 * been meant, what there is, and where help is.  It knows no command.  Main
 * thread.
 *
 * where is the command's name; "" is the program.  Each function returns the
 * exit status, 2.
 */
int usage_wrong(const char *where, const char *fmt, ...) PRINTF_LIKE(2, 3);
/*
 * There is no such command or verb; name_at gives the i-th of those that there
 * are, NULL behind the last.
 */
int usage_unknown(const char *where, const char *kind, const char *given,
    const char *(*name_at)(size_t i));
/* No command or verb is given. */
int usage_missing(const char *where, const char *kind,
    const char *(*name_at)(size_t i));
/* True where given is one of these words. */
bool usage_is_word(const char *given, const char *(*word_at)(size_t i));
/* The option, named without its dashes, takes none but these words. */
int usage_unknown_word(const char *where, const char *option,
    const char *given, const char *(*word_at)(size_t i));
/*
 * There is no such option among these, of which letters are taken here (NULL:
 * all); given is the argument.
 */
int usage_unknown_option(const char *where, const char *given,
    const struct option *options, const char *letters);
