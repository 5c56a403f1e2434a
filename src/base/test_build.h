/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

/*
 * Hooks that only the test build has (tests/fault/, compiled with
 * ONCE_TEST_BUILD; it is never installed).  In the program an invariant always
 * holds, a fault point is nothing, and a script is what was embedded.  Any
 * thread.
 *
 * An invariant (tbl/invariants.h) is a condition without which a payment
 * could be made twice, an outcome be lost or an answer reach a stranger:
 *
 *     if (INVARIANT(fingerprint) && differs) …
 *
 * The test build can switch each off by its name, and a test shows that the
 * tests then see the damage.  A fault point is a place where the whole
 * process can be told to stop, to be killed or to go on in a changed world.
 */
enum invariant {
#define INVARIANT_NAME(name, message) INVARIANT_##name,
#include "tbl/invariants.h"
#undef INVARIANT_NAME
	INVARIANT_COUNT_,
};

#ifdef ONCE_TEST_BUILD

/* False where ONCE_INVARIANTS_OFF, names with commas, names it. */
bool invariant_is_on(enum invariant invariant);
/*
 * Raises SIGSTOP where ONCE_FAULT is "MACHINE:STEP" or "MACHINE:STEP:N" (the
 * Nth time, from 1) and says so on standard error before.  Where
 * ONCE_FAULT_HANGS is set too, only the thread that came there stops, for ever.
 */
void fault_point(const char *machine, const char *step);
/* The script DIR/NAME.lua where ONCE_SCRIPTS is DIR, else text. */
const char *script_in_trial(const char *name, const char *text);

#define INVARIANT(name) invariant_is_on(INVARIANT_##name)
#define FAULT_POINT(machine, step) fault_point(machine, step)
#define SCRIPT_IN_TRIAL(name, text) script_in_trial(name, text)

#else

#define INVARIANT(name) (INVARIANT_##name < INVARIANT_COUNT_)
#define FAULT_POINT(machine, step) ((void)0)
#define SCRIPT_IN_TRIAL(name, text) (text)

#endif
