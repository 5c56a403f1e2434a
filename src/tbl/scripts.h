/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SCRIPT(name, word): the Lua steps of a record, src/lua/NAME.lua each, and
 * the word that metrics and the log have for them (onceproxy_store_seconds'
 * label, which does not change when a script gets a better name).
 */
SCRIPT(claim, "claim")
SCRIPT(complete, "complete")
SCRIPT(count, "count")
SCRIPT(due, "due")
SCRIPT(expire, "lapse")
SCRIPT(list, "list")
SCRIPT(mark_unknown, "unknown")
SCRIPT(operate, "operate")
SCRIPT(release, "release")
SCRIPT(renew, "renew")
SCRIPT(show, "look")
