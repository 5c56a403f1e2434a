/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/shared/pause.h"

static struct store_call *
pause_call(const struct shared *shared, const char *act, struct span who,
    struct span note)
{
	struct store_call *call = shared_call(shared, SCRIPT_pause, 6);
	resp_number(&call->args, 1);
	shared_arg_key(shared, call, "pause", "");
	resp_arg(&call->args, span_str(act));
	resp_arg(&call->args, who);
	resp_arg(&call->args, note);
	shared_arg_notice(shared, call);
	return call;
}

/* --- for those who keep to it --- */

bool
pause_stands(const struct pause *pause)
{
	return !pause->known || pause->on;
}

static void
forget_words(struct pause *pause)
{
	free(pause->who);
	free(pause->note);
	pause->who = pause->note = NULL;
}

/* Operators do not pause twice in one millisecond. */
static bool
is_same(const struct pause *pause, const struct call_reply *reply)
{
	bool on = reply->n_extra >= 3;
	return pause->known && pause->on == on &&
	    (!on || pause->since_ms == shared_number(reply, 0));
}

static void
learn(struct pause *pause, const struct call_reply *reply)
{
	if (is_same(pause, reply))
		return;
	forget_words(pause);
	pause->known = true;
	pause->on = reply->n_extra >= 3;
	if (pause->on) {
		pause->since_ms = shared_number(reply, 0);
		pause->who = mem_str(call_reply_text(reply, 1));
		pause->note = mem_str(call_reply_text(reply, 2));
	}
	pause->changed(pause->arg);
}

static void
on_asked(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct pause *pause = call->arg;
	if (pause == NULL)
		return;
	pause->call = NULL;
	shared_ended(&pause->shared, "pause", call, error, pause->known);
	bool answered =
	    how == CALL_ANSWERED && reply->verdict == VERDICT_DONE;
	timer_set(&pause->timer, pause->again ? 0
		: answered ? PAUSE_ASK_MS
			   : PAUSE_RETRY_MS);
	if (answered)
		learn(pause, reply);
}

static void
on_ask_timer(void *arg)
{
	struct pause *pause = arg;
	if (pause->call != NULL)
		return; /* its end sets the timer */
	pause->again = false;
	pause->call =
	    pause_call(&pause->shared, "look", SPAN(""), SPAN(""));
	pause->call->done = on_asked;
	pause->call->arg = pause;
	call_start(pause->call);
}

static void
on_pause_notice(void *arg, struct span notice)
{
	struct pause *pause = arg;
	struct span what;
	if (!shared_notice(&pause->shared, notice, &what) ||
	    (what.len > 0 && !span_eq(what, SPAN("pause"))))
		return;
	pause->again = true;
	timer_set(&pause->timer, 0);
}

void
pause_start(struct pause *pause, struct store *store, struct loop *loop,
    const char *kind, const char *name, void (*changed)(void *arg),
    void *arg)
{
	*pause = (struct pause){.changed = changed, .arg = arg};
	shared_init(&pause->shared, store, kind, name);
	timer_init(&pause->timer, loop, on_ask_timer, pause);
	pause->hearing = (struct subscriber_hearing){
	    .heard = on_pause_notice, .arg = pause};
	subscriber_hear(store, &pause->hearing);
	timer_set(&pause->timer, 0);
}

void
pause_stop(struct pause *pause)
{
	if (pause->shared.store == NULL)
		return;
	timer_clear(&pause->timer);
	subscriber_unhear(&pause->hearing);
	if (pause->call != NULL)
		pause->call->arg = NULL;
	forget_words(pause);
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
	}
	if (how == CALL_ANSWERED && op->on) {
		op->since_ms = shared_number(reply, 0);
		op->who = arena_dup(op->arena, call_reply_text(reply, 1));
		op->note = arena_dup(op->arena, call_reply_text(reply, 2));
	}
	call_end_op(call, error);
}

static void
say(struct pause_op *op, struct store *store, const char *kind,
    const char *name, const char *act, struct span who, struct span note)
{
	struct shared shared;
	shared_init(&shared, store, kind, name);
	call_begin_op(store, &op->op);
	op->on = false;
	struct store_call *call = pause_call(&shared, act, who, note);
	call->done = on_said;
	call_join_op(call, &op->op);
	call_start(call);
}

void
pause_begin(struct pause_op *op, struct store *store, const char *kind,
    const char *name, struct span who, struct span note)
{
	say(op, store, kind, name, "pause", who, note);
}

void
pause_resume(struct pause_op *op, struct store *store, const char *kind,
    const char *name)
{
	say(op, store, kind, name, "resume", SPAN(""), SPAN(""));
}

void
pause_look(struct pause_op *op, struct store *store, const char *kind,
    const char *name)
{
	say(op, store, kind, name, "look", SPAN(""), SPAN(""));
}
