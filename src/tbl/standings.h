/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * STANDING(name, word, sentence): why a source stands still, the most pressing
 * first: the label of onceproxy_source_standing, and what an operator is told.
 */
STANDING(OPERATOR, "operator", "An operator has paused it: resume it "
	"with `onceproxy messages resume`.")
STANDING(UNPROVEN, "unproven", "What the broker has is not what was read, or "
	"Redis has lost its data: restore the source's letters with `onceproxy "
	"messages restore`, or have it go on with `onceproxy messages resume "
	"--unproven`.")
STANDING(ORDER, "order", "The table's ids do not rise, so its order is not the "
	"one in which the rows were written: name a column that has that order "
	"in columns.order, and reload.")
STANDING(BROKER, "broker", "The broker cannot be reached, or does not let the "
	"gateway read, or finish what was read.")
STANDING(STORE, "store", "Redis or the journal cannot take a claim now.")
STANDING(UPSTREAM, "upstream", "Nothing could be sent to the upstream, or it "
	"released what was sent, five times in a row; one message at a time "
	"tries again.")
STANDING(TOKEN, "token", "The source's own token is refused, or "
	"request.headers have none, by the route that its messages lead to or "
	"by the upstream: renew it, or name it there, and reload.")
STANDING(REDIRECTED, "redirected", "The upstream answers with redirects, which "
	"nobody follows: let the route's upstream name the address that it "
	"redirects to.")
STANDING(DEAD_LETTERS, "dead-letters", "As many messages are dead or parked as "
	"keep_dead allows, or the broker does not take a copy: see `onceproxy "
	"messages list --source SOURCE --state dead`.")
STANDING(RESULTS, "results", "The broker does not take a result.")
STANDING(MEMORY, "memory", "limits.in_flight_bytes is used up to three "
	"quarters, and clients come first; or the source's own messages have "
	"its share of that: decide those that are held, or raise it.")
STANDING(HELD, "held", "10,000 messages wait to be decided or tried again: "
	"see `onceproxy messages list`.")
