/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * must() states what is true unless the program has a bug.  It is always
 * compiled in: a gateway that no longer knows what it does must stop.
 */
#define must(condition) \
	((condition) ? (void)0 : must_failed(#condition, __FILE__, __LINE__))

/* Says on standard error what did not hold, and aborts. */
_Noreturn void must_failed(const char *condition, const char *file, int line);

/* Marks functions whose result may not be dropped. */
#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
