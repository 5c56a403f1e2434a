/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/digits.h"
#include "base/mem.h"
#include "base/must.h"
#include "store/function_loader.h"
#include "store/joint.h"
#include "store/node.h"
#include "store/record/record.h"
#include "store/record/script.h"
#include "store/redis/redis_error.h"

enum {
	/* Redis does nothing else meanwhile: about half a millisecond. */
	CALLS_MAX = 64,
	BYTES_MAX = 128 * 1024,
	KEYS_EACH = 2, /* the record, and its shard's leases */
	HEAD = 3,      /* of a reply: the call, Redis' clock, the letters */
	APART_MS = 1000, /* after a refusal each call leaves by itself */
};

struct joint {
	struct link_call link;
	struct line *line;
	enum script script; /* that does all of them */
	bool whole;         /* its text was sent, not only its name */
	bool sent;
	char name[CALL_NAME_CHARS + 1];
	size_t bytes; /* of their arguments */
	size_t n_calls;
	struct store_call *calls[CALLS_MAX];
};

/* --- sending --- */

static bool
in_cluster(const struct joint *joint)
{
	return joint->line->node->store->topology != NULL;
}

static struct span
args_between(const struct store_call *call, size_t from, size_t to)
{
	return span_of(call->args.bytes + from, to - from);
}

/* All that the script touches: some servers let it do nothing else. */
static void
put_keys(const struct joint *joint, struct resp *command)
{
	resp_number(command, (int64_t)(KEYS_EACH * joint->n_calls));
	for (size_t i = 0; i < joint->n_calls; i++) {
		const struct store_call *call = joint->calls[i];
		resp_bytes(command,
		    args_between(call, call->keys_from, call->keys_to));
	}
}

static void
put_args(const struct joint *joint, struct resp *command)
{
	for (size_t i = 0; i < joint->n_calls; i++) {
		struct store_call *call = joint->calls[i];
		if (call->prepare != NULL)
			call->prepare(call);
		resp_bytes(command,
		    args_between(call, call->joint_from, call->joint_to));
	}
}

static void
send_joint(struct joint *joint)
{
	struct line *line = joint->line;
	struct store *store = line->node->store;
	struct resp *command = &line->joints.command;
	size_t each = joint->script == SCRIPT_claims ? 1 : 4;
	call_name(store, joint->name);
	resp_empty(command);
	script_command_begin(command, &store->names, store->library,
	    joint->script,
	    joint->whole ? SCRIPT_AS_TEXT : SCRIPT_AS_NAME,
	    1 + joint->n_calls * (KEYS_EACH + each) + 1);
	put_keys(joint, command);
	put_args(joint, command);
	resp_arg(command, span_of(joint->name, CALL_NAME_CHARS));
	joint->sent = true;
	link_send(line->link, &joint->link, command);
	replicas_sent(line, joint->calls[0]->script);
}

/* What becomes of a joint whose calls are not answered by it. */
static void
end_all_calls(struct joint *joint,
    void (*end)(struct store_call *call, const void *arg), const void *arg)
{
	for (size_t i = 0; i < joint->n_calls; i++) {
		struct store_call *call = joint->calls[i];
		call->joint = NULL;
		end(call, arg);
	}
	free(joint);
}

static void
lose_call(struct store_call *call, const void *unused)
{
	(void)unused;
	call_replied(call, NULL);
}

/* --- replies --- */

/* What a letter of the reply stands for, and what comes with it. */
struct joint_letter {
	char letter;
	enum script script; /* that may say so */
	size_t n_extra;
	int type;         /* of those */
	const char *word; /* a verdict; NULL: it has none */
};

static const struct joint_letter *
letter_of(const struct joint *joint, char letter)
{
	static const struct joint_letter letters[] = {
	    {'O', SCRIPT_claims, 0, 0, "OURS"},
	    {'C', SCRIPT_claims, 1, REDIS_REPLY_STRING, "COMPLETED"},
	    {'B', SCRIPT_claims, 2, REDIS_REPLY_STRING, "COMPLETED"},
	    {'L', SCRIPT_claims, 0, 0, "LATE"},
	    {'E', SCRIPT_claims, 1, REDIS_REPLY_ERROR, NULL},
	    {'S', SCRIPT_claims, 0, 0, NULL},
	    {'D', SCRIPT_completes, 0, 0, "DONE"},
	    {'S', SCRIPT_completes, 0, 0, NULL},
	};
	for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
		if (letters[i].letter == letter &&
		    letters[i].script == joint->script)
			return &letters[i];
	return NULL;
}

/* A string of a reply; the text outlives it. */
static redisReply
string_of(const char *text)
{
	return (redisReply){.type = REDIS_REPLY_STRING,
	    .str = (char *)(uintptr_t)text,
	    .len = strlen(text)};
}

static int64_t
digits_of(struct span digits)
{
	int64_t number;
	return digits_read(digits, INT64_MAX, &number) ? number : -1;
}

/*
 * Whether the reply has a letter for each call, and what comes with each: where
 * one is missing or too many, nobody knows whose the others are.
 */
static bool
is_whole(const struct joint *joint, const redisReply *reply)
{
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements < HEAD ||
	    digits_of(resp_text(reply->element[1])) < 0)
		return false;
	struct span letters = resp_text(reply->element[2]);
	size_t at = HEAD;
	for (size_t i = 0; i < letters.len; i++) {
		const struct joint_letter *letter =
		    letter_of(joint, letters.ptr[i]);
		if (letter == NULL ||
		    letter->n_extra > reply->elements - at)
			return false;
		for (size_t n = 0; n < letter->n_extra; n++)
			if (reply->element[at++]->type != letter->type)
				return false;
	}
	return letters.len == joint->n_calls && at == reply->elements;
}

/* As the call's own script says it: 0 where a damaged record has none. */
static int64_t
attempt_of(const struct store_call *call, char letter, const redisReply *first)
{
	if (letter == 'O')
		return 1;
	if (letter == 'D')
		return call->attempt;
	return first != NULL ? record_attempt(resp_text(first)) : 0;
}

/* Gives the call the reply that its own script would have given. */
static void
tell_call(struct store_call *call, const struct joint_letter *letter,
    const redisReply *reply, int64_t now_ms, redisReply *const *extra)
{
	redisReply word = string_of(letter->word);
	redisReply attempt = {.type = REDIS_REPLY_INTEGER,
	    .integer = attempt_of(
		call, letter->letter, letter->n_extra ? *extra : NULL)};
	redisReply now = {
	    .type = REDIS_REPLY_INTEGER, .integer = now_ms};
	redisReply reason = string_of("-"), tries = string_of("000001");
	redisReply *elements[] = {&word, &attempt, &now, reply->element[0],
	    &reason, &tries, reply->element[1]};
	redisReply own = {.type = REDIS_REPLY_ARRAY,
	    .elements = 4 + letter->n_extra,
	    .element = elements};
	for (size_t i = 0; i < letter->n_extra; i++)
		elements[4 + i] = extra[i];
	if (letter->letter == 'O')
		own.elements = sizeof elements / sizeof *elements;
	call_replied(call, &own);
}

static void
deliver(struct joint *joint, const redisReply *reply)
{
	redisReply *const *extra = reply->element + HEAD;
	int64_t now_ms = digits_of(resp_text(reply->element[1]));
	for (size_t i = 0; i < joint->n_calls; i++) {
		const struct joint_letter *letter =
		    letter_of(joint, reply->element[2]->str[i]);
		struct store_call *call = joint->calls[i];
		must(letter != NULL); /* is_whole has looked */
		call->joint = NULL;
		call->alone = letter->word == NULL;
		if (letter->word != NULL)
			tell_call(call, letter, reply, now_ms, extra);
		else if (letter->n_extra > 0)
			call_replied(call, *extra);
		else
			call_send(call);
		extra += letter->n_extra;
	}
	free(joint);
}

static void
distrust_call(struct store_call *call, const void *message)
{
	call_distrust(call, message);
}

static void
refuse_call(struct store_call *call, const void *reply)
{
	call_replied(call, reply);
}

static void
send_call_alone(struct store_call *call, const void *ran_nothing)
{
	call->alone = true;
	/* Another joint may have left it in doubt before. */
	call->in_doubt |= !*(const bool *)ran_nothing;
	call_send(call);
}

/*
 * What one of them is refused for is no matter of the others, and each has a
 * script that says what is wrong with it.  An owner may say again what was
 * done before the error came.  In a cluster it is about this one, or says where
 * it is to go.
 */
static void
refuse_all(struct joint *joint, const redisReply *reply)
{
	bool ran_nothing =
	    redis_error_ran_nothing(redis_error_of_reply(reply));
	if (in_cluster(joint)) {
		end_all_calls(joint, refuse_call, reply);
		return;
	}
	joint->line->joints.refused_us = clock_us();
	end_all_calls(joint, send_call_alone, &ran_nothing);
}

/* Redis does not have the script, or the library that it is in. */
static bool
send_whole(struct joint *joint, const redisReply *reply)
{
	if (reply == NULL || reply->type != REDIS_REPLY_ERROR || joint->whole)
		return false;
	enum redis_error error = redis_error_of_reply(reply);
	if (error != REDIS_ERROR_NOSCRIPT && error != REDIS_ERROR_NO_FUNCTION)
		return false;
	joint->whole = true;
	if (error == REDIS_ERROR_NO_FUNCTION)
		function_loader_send(joint->line);
	send_joint(joint);
	return true;
}

static void
on_reply(struct link_call *link, const redisReply *reply)
{
	struct joint *joint = CONTAINER_OF(link, struct joint, link);
	if (send_whole(joint, reply))
		return;
	for (size_t i = 0; i < joint->n_calls; i++) {
		struct store_call *call = joint->calls[i];
		call->link.sent_us = link->sent_us;
		memcpy(call->name, joint->name, sizeof call->name);
	}
	if (reply == NULL)
		end_all_calls(joint, lose_call, NULL);
	else if (reply->type == REDIS_REPLY_ERROR)
		refuse_all(joint, reply);
	else if (!is_whole(joint, reply))
		end_all_calls(
		    joint, distrust_call, "a reply of an unexpected form");
	else if (!call_is_own(joint->calls[0], resp_text(reply->element[0])))
		end_all_calls(joint, distrust_call, "a reply to another call");
	else
		deliver(joint, reply);
}

/* --- gathering --- */

/* One goes: it is sent, or its line is down, and it is lost. */
static void
leave_line(struct joint **open)
{
	struct joint *joint = *open;
	*open = NULL;
	if (joint == NULL)
		return;
	if (joint->line->link != NULL && link_is_up(joint->line->link))
		send_joint(joint);
	else
		end_all_calls(joint, lose_call, NULL);
}

bool
joint_takes(const struct store_call *call)
{
	if (call->joint_to == 0 || call->events_maxlen > 0 || call->alone ||
	    call->asking || call->whole || call->reads || call->large)
		return false;
	int64_t refused_us = call->line->joints.refused_us;
	return refused_us == 0 || clock_us() - refused_us > APART_MS * 1000;
}

static struct joint *
joint_new(struct line *line, enum script script)
{
	struct joint *joint = mem_zero(sizeof *joint);
	joint->link.done = on_reply;
	joint->line = line;
	joint->script =
	    script == SCRIPT_claim ? SCRIPT_claims : SCRIPT_completes;
	return joint;
}

static bool
on_flush_leave(void *arg)
{
	struct line *line = arg;
	for (size_t i = 0; i < JOINT_KINDS; i++)
		leave_line(&line->joints.open[i]);
	return false;
}

/* After its replicas' hook, and so run before: WAIT follows what was sent. */
static void
hook_line(struct line *line)
{
	if (line->joints.hooked)
		return;
	line->joints.hooked = true;
	loop_hook(line->node->store->loop, HOOK_FLUSH, &line->joints.flush,
	    on_flush_leave, line);
}

void
joint_add(struct store_call *call)
{
	struct line *line = call->line;
	struct joint **open =
	    &line->joints.open[call->script == SCRIPT_complete];
	size_t bytes = call->joint_to - call->joint_from;
	if (*open != NULL && (*open)->bytes + bytes > BYTES_MAX)
		leave_line(open);
	hook_line(line);
	if (*open == NULL)
		*open = joint_new(line, call->script);
	struct joint *joint = call->joint = *open;
	joint->bytes += bytes;
	joint->calls[joint->n_calls++] = call;
	if (joint->n_calls == CALLS_MAX || in_cluster(joint))
		leave_line(open);
}

struct link_call *
joint_link_call(struct store_call *call)
{
	if (call->joint == NULL)
		return &call->link;
	return call->joint->sent ? &call->joint->link : NULL;
}

void
joint_end(struct line *line)
{
	(void)on_flush_leave(line);
	if (line->joints.hooked)
		loop_unhook(line->node->store->loop, HOOK_FLUSH,
		    &line->joints.flush);
	line->joints.hooked = false;
	resp_clear(&line->joints.command);
}
