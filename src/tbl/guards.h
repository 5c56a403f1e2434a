/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The conditions that keep the promise: GUARD_NAME(name, what would happen
 * without it).  base/test_build.h tells how they are used.
 */
GUARD_NAME(sent_is_unknown,
    "a request that was sent and not answered would be sent again")
