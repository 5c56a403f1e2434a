/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/hex.h"
#include "messages/source/delivery.h"
#include "messages/source/source_proof.h"
#include "messages/source/sources_view.h"
#include "replay/fakes.h"
#include "replay/messages.h"

enum { ASK_MS = 10000 };

/* What is known of the letters that messages became. */
static struct fate {
	bool there;
	bool ended; /* it was, and its last act was seen */
} fates[MESSAGES_MAX];

/* An operator's word; op is the first. */
static struct asked {
	struct inquiry_op op;
	const struct act *act;
} asked[GATEWAYS_MAX];

static const char *
id_of(unsigned message)
{
	static char hex[DIGEST_HEX + 1];
	char position[16];
	snprintf(position, sizeof position, "%u-0", message + 1);
	const struct letter_name name =
	    letter_stored_name(span_str(position), NULL);
	hex_encode(name.id, sizeof name.id, hex);
	return hex;
}

/* Written, confirmed or begun; '\0': there is none. */
static char
letter_state(unsigned message)
{
	return redis_letter(id_of(message), "state");
}

bool
message_letters_has(unsigned message)
{
	return letter_state(message) != '\0';
}

/* All that Redis had is gone; a failover loses only what nobody relies on. */
static bool
may_be_gone(void)
{
	return (world.scenario->faults & (FAULT_FORGET | FAULT_LOSE)) != 0;
}

void
message_letters_begin(void)
{
	memset(fates, 0, sizeof fates);
}

/* Whoever asked gives up. */
void
messages_end(struct gateway *g)
{
	struct asked *a = &asked[g->index];
	if (world.scenario->source != NULL && a->op.op.loop != NULL)
		inquiry_end(&a->op);
	*a = (struct asked){.act = NULL};
}

/* --- what must be true of them --- */

void
message_letters_check_put(unsigned message)
{
	CHECK(message_letters_has(message) || fates[message].ended ||
		world.forgot || may_be_gone(),
	    "message %u is acknowledged before its letter is written",
	    message + 1);
}

void
messages_check_copy(unsigned message)
{
	CHECK(message_letters_has(message) || may_be_gone(),
	    "message %u is acknowledged, and there is no letter",
	    message + 1);
	CHECK(world.scenario->replicas == 0 || may_be_gone() ||
		redis_has_letter_copied(id_of(message)),
	    "message %u is acknowledged, and no replica has its letter",
	    message + 1);
}

/* What comes before it in its lane. */
static void
check_is_first(unsigned message, const char *what)
{
	for (unsigned i = 0; i < message; i++)
		CHECK(!messages_are_of_one_lane(i, message) ||
			world.confs[0]->sources[0].behind_go_on ||
			world.confs[0]->sources[0].order_by ==
			    SOURCE_ORDER_NONE ||
			!message_letters_has(i),
		    "message %u is %s, and message %u is a letter before it",
		    message + 1, what, i + 1);
}

void
message_letters_check_done(unsigned message)
{
	CHECK(fake_broker_has_ended(message),
	    "a letter is done with, and message %u is still to be finished",
	    message + 1);
}

void
messages_saw_end(const char *id_hex, bool drops)
{
	unsigned message = 0;
	while (message < MESSAGES_MAX && strcmp(id_of(message), id_hex) != 0)
		message++;
	CHECK(message < MESSAGES_MAX, "a letter of no message");
	message_letters_check_done(message);
	CHECK(fake_broker_is_marked(message),
	    "the letter of message %u ends without a mark", message + 1);
	CHECK(!drops || world.dropped, "the letter of message %u is dropped "
	    "by nobody", message + 1);
	if (!drops)
		check_is_first(message, "replayed");
	fates[message] = (struct fate){.ended = true};
}

/* What was put first comes first. */
static void
check_order(unsigned message)
{
	int64_t put_ms = redis_letter_number(id_of(message), "put");
	if (redis_letter(id_of(message), "lane") == '-')
		return;
	for (unsigned i = 0; i < message; i++) {
		if (!messages_are_of_one_lane(i, message) ||
		    !message_letters_has(i) ||
		    redis_letter(id_of(i), "lane") == '-')
			continue;
		CHECK(redis_letter_number(id_of(i), "put") < put_ms,
		    "the letter of message %u is before that of message %u",
		    message + 1, i + 1);
	}
}

/* Each of two gateways may write one beyond at the same moment. */
static void
check_room(void)
{
	int64_t count = 0, most = world.confs[0]->sources[0].keep_dead;
	for (unsigned i = 0; i < MESSAGES_MAX; i++)
		count += message_letters_has(i);
	CHECK(count <= most || world.scenario->gateways > 1,
	    "%lld letters, and room for %lld", (long long)count,
	    (long long)most);
}

static void
check_letter(unsigned message)
{
	struct fate *fate = &fates[message];
	char state = letter_state(message);
	bool copied = fake_broker_has_copy(message);
	CHECK(state != '\0' || !fate->there || may_be_gone() ||
		(world.forgot && !copied),
	    "the letter of message %u is lost", message + 1);
	fate->there = state != '\0';
	if (state == '\0')
		return;
	CHECK(state == 'w' || fake_broker_has_ended(message),
	    "the letter of message %u is confirmed before the message is "
	    "acknowledged",
	    message + 1);
	check_order(message);
}

void
message_letters_check_now(void)
{
	for (unsigned i = 0; i < MESSAGES_MAX; i++)
		if (world.scenario->messages[i].key != NULL)
			check_letter(i);
	check_room();
}

/* Of a lane somebody has to have the first one. */
static bool
is_behind(unsigned message)
{
	for (unsigned i = 0; i < MESSAGES_MAX; i++)
		if (i != message && world.scenario->messages[i].key != NULL &&
		    messages_are_of_one_lane(i, message) &&
		    message_letters_has(i))
			return true;
	return false;
}

void
message_letters_check_rest(void)
{
	for (unsigned i = 0; i < MESSAGES_MAX; i++) {
		if (world.scenario->messages[i].key == NULL)
			return;
		char state = letter_state(i);
		CHECK(state != 'w', "the letter of message %u is never "
		    "confirmed", i + 1);
		CHECK(state != 'b', "nobody goes on with the letter of message "
		    "%u", i + 1);
		CHECK(state == '\0' || is_behind(i) ||
			redis_letter(id_of(i), "reason") != 'b',
		    "message %u is parked behind nothing", i + 1);
	}
}

/* --- what is left to be done --- */

static bool
is_of(const struct letter_name *name, unsigned message)
{
	char hex[DIGEST_HEX + 1];
	hex_encode(name->id, sizeof name->id, hex);
	return strcmp(hex, id_of(message)) == 0;
}

/* Whether that gateway is at it. */
static bool
has(const struct gateway *g, unsigned message)
{
	const struct source *s = messages_source(g);
	struct machine *m;
	char position[16];
	if (s == NULL || g->stalled)
		return false;
	LIST_EACH(m, &s->replays.list, item)
		if (is_of(&messages_replay_of(m)->name, message))
			return true;
	snprintf(position, sizeof position, "%u-0", message + 1);
	return delivery_find(s, span_str(position)) != NULL;
}

bool
messages_are_left(void)
{
	if (world.scenario->source == NULL)
		return false;
	for (unsigned i = 0; i < MESSAGES_MAX; i++) {
		bool any = false;
		if (world.scenario->messages[i].key == NULL)
			return false;
		char state = letter_state(i);
		for (unsigned k = 0; k < world.scenario->gateways; k++)
			any |= has(&world.gateways[k], i);
		if ((state == 'w' || state == 'b') && !any)
			return true;
	}
	return false;
}

/* --- an operator --- */

/* Where no gateway has the message it may be a letter. */
static void
on_answered(void *arg)
{
	struct asked *a = arg;
	const struct act *act = a->act;
	bool found =
	    a->op.inquiry == NULL || a->op.inquiry->found;
	if (!found && !world.redis_down && message_letters_has(act->message)) {
		world.deeds++;
		redis_ask(id_of(act->message), act->kind == ACT_DROP);
	}
	inquiry_end(&a->op);
}

bool
messages_may_tell(const struct gateway *g, const struct act *act)
{
	if (act->kind != ACT_DROP && act->kind != ACT_REPLAY)
		return true;
	return asked[g->index].op.op.state != OP_PENDING &&
	    ((act->kind == ACT_DROP && has(g, act->message)) ||
		letter_state(act->message) == 'c');
}

void
messages_tell(struct gateway *g, const struct act *act)
{
	struct asked *a = &asked[g->index];
	a->act = act;
	op_init(&a->op.op, g->loop, on_answered, a);
	struct inquiry *inquiry = inquiry_new(&a->op,
	    act->kind == ACT_DROP ? INQUIRY_DROP : INQUIRY_REPLAY);
	inquiry->source = SPAN("s");
	inquiry->position =
	    arena_printf(inquiry->arena, "%u-0", act->message + 1);
	world.dropped |= act->kind == ACT_DROP;
	world.replays += act->kind == ACT_REPLAY;
	inquiry_ask(&a->op, sources_view, &g->worker, 1, ASK_MS);
}

bool
messages_may_prove(const struct gateway *g)
{
	const struct source *s = messages_source(g);
	return s != NULL && source_proof_is_doubted(s);
}

/* The first that may be dropped; MESSAGES_MAX: none. */
static unsigned
confirmed(void)
{
	unsigned message = 0;
	while (message < MESSAGES_MAX && letter_state(message) != 'c')
		message++;
	return message;
}

bool
messages_lack_room(const struct gateway *g)
{
	const struct source *s = messages_source(g);
	return s != NULL && (s->standing & 1u << STANDING_DEAD_LETTERS) != 0 &&
	    s->source->keep_dead < MESSAGES_MAX && !world.redis_down &&
	    confirmed() < MESSAGES_MAX;
}

void
messages_make_room(void)
{
	world.dropped = true;
	world.deeds++;
	redis_ask(id_of(confirmed()), true);
}

void
messages_prove(struct gateway *g)
{
	source_proof_accept(messages_source(g));
}

uint64_t
message_letters_hash(void)
{
	uint64_t hash = mix_bytes(0, fates, sizeof fates);
	for (unsigned i = 0; i < GATEWAYS_MAX; i++)
		hash = mix(hash, asked[i].op.op.state);
	return hash;
}
