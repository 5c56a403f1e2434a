/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * Checks what must be true whatever happened: the contract's promise, as far as
 * clients and the upstream can see it.
 */

/* After every event. */
void check_now(void);
/*
 * After the last event: the faults end, everything settles, and retries come.
 */
void check_end(void);
