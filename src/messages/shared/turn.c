/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/base64.h"
#include "base/loop/loop.h"
#include "conf/name.h"
#include "messages/shared/turn.h"
#include "store/record/record.h"

/* --- whose it is --- */

bool
turn_is_held(const struct turn *turn)
{
	return turn->number != 0 && clock_us() < turn->until_us;
}

int64_t
turn_number(const struct turn *turn)
{
	return turn_is_held(turn) ? turn->number : 0;
}

const char *
turn_holder(const struct turn *turn)
{
	return turn_is_held(turn) ? "" : turn->holder;
}

void
turn_arg_token(const struct turn *turn, struct store_call *call)
{
	char token[TOKEN_CHARS + 1], text[sizeof token + TURN_HOLDER_MAX + 1];
	base64_url_encode(turn->token.bytes, sizeof turn->token.bytes, token);
	int len = snprintf(text, sizeof text, "%s:%s", token,
	    turn->shared.store->conf->instance);
	must(len > 0 && (size_t)len < sizeof text);
	resp_arg(&call->args, span_of(text, (size_t)len));
}

/* Of another one's token; what is no name is none. */
static void
note_holder(struct turn *turn, struct span token)
{
	turn->holder[0] = '\0';
	if (token.len <= TOKEN_CHARS + 1 || token.ptr[TOKEN_CHARS] != ':')
		return;
	struct span name = span_from(token, TOKEN_CHARS + 1);
	char text[sizeof turn->holder];
	if (name.len >= sizeof text)
		return;
	memcpy(text, name.ptr, name.len);
	text[name.len] = '\0';
	if (name_wrong_plain(text) == NULL)
		memcpy(turn->holder, text, name.len + 1);
}

static void
lose(struct turn *turn)
{
	if (turn->number == 0)
		return;
	turn->number = 0;
	timer_clear(&turn->end);
	turn->events.lost(turn->events.arg);
}

static void
on_end(void *arg)
{
	lose(arg);
}

/*
 * It is ours under that number, as was asked for at sent_us.  What comes too
 * late, as after this process was stopped, says nothing of now.
 */
static void
take_turn(struct turn *turn, int64_t number, int64_t sent_us)
{
	int64_t until_us =
	    sent_us + (TURN_LEASE_MS - TURN_MARGIN_MS) * INT64_C(1000);
	if (turn->number != 0 && number != turn->number) {
		/* Redis has forgotten it, and somebody may have had it. */
		timer_set(&turn->beat, 0);
		lose(turn);
		return;
	}
	if (turn->number != turn->asked || clock_us() >= until_us) {
		timer_set(&turn->beat, 0);
		return;
	}
	bool gained = turn->number == 0;
	turn->number = number;
	turn->until_us = until_us;
	timer_set_at(&turn->end, until_us / 1000);
	if (gained)
		turn->events.gained(turn->events.arg);
}

/* --- asking --- */

static void
on_taken(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct turn *turn = call->arg;
	if (turn == NULL)
		return;
	turn->call = NULL;
	shared_ended(&turn->shared, "turn", call, error, false);
	if (turn->again)
		timer_set(&turn->beat, 0);
	if (how != CALL_ANSWERED)
		return; /* the next beat asks again */
	int64_t number = shared_number(reply, 0);
	if (reply->verdict == VERDICT_IN_FLIGHT)
		note_holder(turn, call_reply_text(reply, 1));
	if (reply->verdict == VERDICT_OURS && number > 0) {
		take_turn(turn, number, call->run.link.sent_us);
	} else if (reply->verdict == VERDICT_IN_FLIGHT) {
		if (!turn->again && number >= 0 && number < TURN_RENEW_MS)
			timer_set(&turn->beat, number + 1);
		lose(turn);
	}
}

static struct store_call *
turn_call(struct turn *turn, const char *act)
{
	struct store_call *call =
	    shared_call(&turn->shared, SCRIPT_turn, 7);
	resp_number(&call->args, 1);
	shared_arg_key(&turn->shared, call, "turn", "");
	resp_arg(&call->args, span_str(act));
	turn_arg_token(turn, call);
	resp_number(&call->args, TURN_LEASE_MS);
	resp_number(&call->args, turn->number);
	shared_arg_notice(&turn->shared, call);
	return call;
}

/* One call at a time: one that Redis does not answer ends with its link. */
static void
on_beat(void *arg)
{
	struct turn *turn = arg;
	timer_set(&turn->beat, TURN_RENEW_MS);
	if (turn->call != NULL)
		return;
	struct store_call *call = turn_call(turn, "take");
	turn->asked = turn->number;
	turn->again = false;
	turn->call = call;
	call->done = on_taken;
	call->arg = turn;
	call_start(call);
}

/* Another has given it back, perhaps. */
static void
on_turn_notice(void *arg, struct span notice)
{
	struct turn *turn = arg;
	struct span what;
	if (turn->number != 0 ||
	    !shared_notice(&turn->shared, notice, &what) ||
	    (what.len > 0 && !span_eq(what, SPAN("turn"))))
		return;
	turn->again = true;
	if (turn->call == NULL)
		timer_set(&turn->beat, 0);
}

/* --- life --- */

void
turn_start(struct turn *turn, struct store *store, struct loop *loop,
    const char *kind, const char *name, const struct turn_events *events)
{
	*turn = (struct turn){.events = *events};
	shared_init(&turn->shared, store, kind, name);
	owner_new(&turn->token);
	timer_init(&turn->beat, loop, on_beat, turn);
	timer_init(&turn->end, loop, on_end, turn);
	turn->hearing = (struct subscriber_hearing){
	    .heard = on_turn_notice, .arg = turn};
	subscriber_hear(store, &turn->hearing);
	timer_set(&turn->beat, 0);
}

/*
 * Also where it is not ours, but a call is under way that may yet make it so:
 * this one comes behind it.
 */
static void
give_back(struct turn *turn)
{
	call_start(turn_call(turn, "give"));
}

void
turn_stop(struct turn *turn)
{
	if (turn->shared.store == NULL)
		return;
	timer_clear(&turn->beat);
	timer_clear(&turn->end);
	subscriber_unhear(&turn->hearing);
	if (turn->number != 0 || turn->call != NULL)
		give_back(turn);
	if (turn->call != NULL)
		turn->call->arg = NULL;
	*turn = (struct turn){0};
}
