/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SCRIPT(name, word): the scripts of a record, of what gateways share of a
 * source (src/messages/shared/), of relays (src/messages/relay/), of routes
 * that only observe (gate/observation.h) and of witnesses (gate/trust.h),
 * src/store/record/lua/NAME.lua each, and their words in metrics and the log
 * (the label of onceproxy_store_seconds, which stays when a script gets a
 * better name).
 */
SCRIPT(claim, "claim")
SCRIPT(claims, "claims")
SCRIPT(complete, "complete")
SCRIPT(completes, "completes")
SCRIPT(confirm, "confirm")
SCRIPT(count, "count")
SCRIPT(floor, "floor")
SCRIPT(kept, "kept")
SCRIPT(due, "due")
SCRIPT(expire, "lapse")
SCRIPT(identify, "identify")
SCRIPT(letter, "letter")
SCRIPT(letter_put, "letter-put")
SCRIPT(letters, "letters")
SCRIPT(list, "list")
SCRIPT(mark_unknown, "unknown")
SCRIPT(observe, "observe")
SCRIPT(operate, "operate")
SCRIPT(pause, "pause")
SCRIPT(relay, "relay")
SCRIPT(release, "release")
SCRIPT(renew, "renew")
SCRIPT(seeks, "seeks")
SCRIPT(show, "look")
SCRIPT(leadership, "leadership")
SCRIPT(trust, "trust")
