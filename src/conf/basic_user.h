/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/must.h"

/*
 * The user of HTTP Basic (RFC 7617): of what stands behind the scheme.  False
 * where another reader could find another one: base64 of which bits are left,
 * without its padding or of another alphabet, no colon, or controls.  Pure; any
 * thread; the user lies in the arena.
 */
MUST_USE bool basic_user_read(
    struct arena *arena, struct span token, struct span *ret_user);
