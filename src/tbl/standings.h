/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * STANDING(name, word, sentence): why a source stands still, the most pressing
 * first: the label of onceproxy_source_standing, and what an operator is told.
 */
STANDING(OPERATOR, "operator", "An operator has paused it: resume it "
	"with `onceproxy messages resume`.")
STANDING(BROKER, "broker", "The broker cannot be reached, or does not let the "
	"gateway read, or finish what was read.")
STANDING(STORE, "store", "Redis or the journal cannot take a claim now.")
STANDING(UPSTREAM, "upstream", "Nothing could be sent to the upstream five "
	"times in a row; one message at a time tries again.")
STANDING(TOKEN, "token", "The source's own token is refused by the route that "
	"its messages lead to: renew it, and reload.")
STANDING(DEAD_LETTERS, "dead-letters", "The broker does not take a dead "
	"letter.")
STANDING(RESULTS, "results", "The broker does not take a result.")
STANDING(MEMORY, "memory", "limits.in_flight_bytes is used up to three "
	"quarters, and clients come first.")
STANDING(HELD, "held", "10,000 messages wait to be decided or tried again: "
	"see `onceproxy messages list`.")
