/* SPDX-License-Identifier: BSD-2-Clause */
/* SCRIPT(name): the Lua steps of a record, src/lua/NAME.lua each. */
SCRIPT(claim)
SCRIPT(complete)
SCRIPT(count)
SCRIPT(due)
SCRIPT(lapse)
SCRIPT(list)
SCRIPT(look)
SCRIPT(operate)
SCRIPT(release)
SCRIPT(renew)
SCRIPT(unknown)
