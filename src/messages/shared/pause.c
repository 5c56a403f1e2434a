/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/shared/pause.h"

/* --- for those who keep to it --- */

bool
pause_stands(const struct pause *pause)
{
	return !pause->known || pause->on;
}

static struct store_call *
ask(struct shared_watch *watch)
{
	return shared_act(&watch->shared, SCRIPT_pause, "pause", "look",
	    SPAN(""), SPAN(""));
}

/* Operators do not pause twice in one millisecond. */
static void
heard(struct shared_watch *watch, const struct store_call *call,
    const struct call_reply *reply)
{
	struct pause *pause = CONTAINER_OF(watch, struct pause, watch);
	(void)call;
	bool gone = reply != NULL && reply->verdict == VERDICT_GONE;
	/* Redis has lost it, as nobody has resumed it: it is said once more. */
	if (gone && pause->on) {
		call_start(shared_act(&watch->shared, SCRIPT_pause, "pause",
		    "pause", span_str(pause->who), span_str(pause->note)));
		return;
	}
	if (reply == NULL || (reply->verdict != VERDICT_DONE && !gone)) {
		if (!watch->again)
			timer_set(&watch->timer, PAUSE_RETRY_MS);
		return;
	}
	bool on = reply->n_extra >= 3;
	int64_t since_ms = on ? shared_number(reply, 0) : 0;
	if (pause->known && pause->on == on && pause->since_ms == since_ms)
		return;
	bool said = pause->on || on;
	pause->known = watch->has_last = true;
	pause->on = on;
	pause->since_ms = since_ms;
	free(pause->who);
	free(pause->note);
	pause->who = on ? mem_str(call_reply_text(reply, 1)) : NULL;
	pause->note = on ? mem_str(call_reply_text(reply, 2)) : NULL;
	if (said) {
		struct logline line = log_begin(
		    on ? pause->events.paused : pause->events.resumed);
		log_str(&line, watch->shared.kind, watch->shared.name);
		if (on)
			log_str(&line, "who", pause->who);
		if (on && pause->note[0] != '\0')
			log_str(&line, "note", pause->note);
		log_end(&line);
	}
	pause->events.changed(pause->events.arg);
}

void
pause_start(struct pause *pause, struct store *store, struct loop *loop,
    const char *kind, const char *name, const struct pause_events *events)
{
	*pause = (struct pause){.events = *events,
	    .watch = {.word = "pause", .every_ms = PAUSE_ASK_MS, .ask = ask,
		.heard = heard}};
	shared_watch_start(&pause->watch, store, loop, kind, name);
}

void
pause_stop(struct pause *pause)
{
	shared_watch_stop(&pause->watch);
	free(pause->who);
	free(pause->note);
	*pause = (struct pause){0};
}

/* --- for operators --- */

static void
on_said(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct pause_op *op = CONTAINER_OF(call->op, struct pause_op, op);
	if (how == CALL_ANSWERED) {
		op->op.verdict = reply->verdict;
		op->on = reply->n_extra >= 3;
		op->since_ms = shared_number(reply, 0);
		op->who = arena_dup(op->arena, call_reply_text(reply, 1));
		op->note = arena_dup(op->arena, call_reply_text(reply, 2));
	}
	call_end_op(call, error);
}

void
pause_say(struct pause_op *op, struct store *store, const char *kind,
    const char *name, const char *act, struct span who, struct span note)
{
	struct shared shared;
	shared_init(&shared, store, kind, name);
	call_begin_op(store, &op->op);
	op->on = false;
	struct store_call *call =
	    shared_act(&shared, SCRIPT_pause, "pause", act, who, note);
	call->done = on_said;
	call_join_op(call, &op->op);
	call_start(call);
}
