/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <lua.h>

#include "base/span.h"

/*
 * Between the scripts (fake_lua.c) and the table that they change
 * (fake_redis.c).
 */
struct words {
	struct span list[32]; /* NUL-terminated */
	size_t count;
};

/* Runs a command and pushes its reply. */
void redis_command(lua_State *lua, const struct words *words);
