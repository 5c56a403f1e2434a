/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/* The time, which the kernel is asked for at each call.  Any thread. */

/* Microseconds of a clock that never jumps (CLOCK_MONOTONIC), for measuring. */
int64_t clock_us(void);
/* Wall clock, in milliseconds since 1970 (UTC), for people and records. */
int64_t clock_wall_ms(void);
