/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "replay/choice.h"
#include "replay/fakes.h"
#include "store/call.h"
#include "store/node.h"
#include "store/redis/link.h"

/*
 * In place of src/store/redis/link.c: a connection to a Redis that is a table
 * (fake_redis.c).  Commands and replies keep their order; the scheduler says
 * when each command is executed and when its reply is delivered.  What a cut
 * leaves unexecuted is lost, or is executed at some later time (a ghost).
 * Bytes do not flow: a reply is there or not.  Where Redis is in reach,
 * connecting takes no time.
 */
enum {
	BACKOFF_FIRST_MS = 50,
	BACKOFF_MAX_MS = 1000,
	PULSE_MS = 1000,
};

struct command {
	struct command *next;
	struct link_call *call; /* NULL: a ghost */
	char *bytes;
	size_t len;
	char *reply; /* NULL: it was not executed */
	size_t reply_len;
	bool only_looks;
};

struct published {
	struct published *next;
	char *message;
};

struct link {
	struct gateway *gateway;
	struct loop *loop;
	const struct conf *conf;
	struct link_events events;
	struct link **own; /* what its gateway calls it by */
	bool listens;
	bool up;
	bool tried_in_vain;
	bool ending; /* its calls are being ended now */
	bool doomed; /* its owner has not believed a reply */
	int64_t backoff_ms;
	struct timer timer;   /* to connect */
	struct timer silence; /* a reply must have come by then */
	struct command *commands;
	struct published *published;
	struct redis_clock clock;
	int64_t read_us; /* when the last reply came */
};

static struct command *ghosts;

static void
append(struct command **list, struct command *command)
{
	while (*list != NULL)
		list = &(*list)->next;
	command->next = NULL;
	*list = command;
}

static void
command_free(struct command *command)
{
	free(command->bytes);
	free(command->reply);
	free(command);
}

/* --- up and down --- */

static void
forget_published(struct link *link)
{
	while (link->published != NULL) {
		struct published *p = link->published;
		link->published = p->next;
		free(p->message);
		free(p);
	}
}

static void
went_down(struct link *link)
{
	bool was_up = link->up;
	link->up = false;
	forget_published(link);
	timer_clear(&link->silence);
	timer_set(&link->timer, link->backoff_ms);
	link->backoff_ms = link->backoff_ms ? 2 * link->backoff_ms
					    : BACKOFF_FIRST_MS;
	if (link->backoff_ms > BACKOFF_MAX_MS)
		link->backoff_ms = BACKOFF_MAX_MS;
	if (was_up) {
		world.deeds++;
		link->events.changed(link->events.arg, LINK_WENT_DOWN);
	} else {
		link->tried_in_vain = true;
		link->events.changed(link->events.arg, LINK_FAILED);
	}
}

static void
on_connect(void *arg)
{
	struct link *link = arg;
	if (world.redis_down) {
		went_down(link);
		return;
	}
	world.deeds++;
	link->up = true;
	link->tried_in_vain = false;
	link->backoff_ms = 0;
	redis_clock_heard(
	    &link->clock, redis_now_ms(), world.now_us, world.now_us);
	link->events.changed(link->events.arg, LINK_CAME_UP);
}

static void
on_silence(void *arg)
{
	link_reset(arg, "no answer within store.timeout");
}

/* What becomes of commands that were on their way. */
static void
lose(struct command *lost)
{
	bool haunts = world.scenario->faults & FAULT_GHOST &&
	    !world.healing && lost != NULL && choose(2) == 1;
	while (lost != NULL) {
		struct command *command = lost;
		lost = command->next;
		command->call = NULL;
		if (haunts && !command->only_looks)
			append(&ghosts, command);
		else
			command_free(command);
	}
}

/* All calls end without a reply, in their order. */
static void
end_calls(struct link *link)
{
	struct command *unexecuted = NULL;
	link->ending = true;
	while (link->commands != NULL) {
		struct command *command = link->commands;
		link->commands = command->next;
		struct link_call *call = command->call;
		if (command->reply != NULL)
			command_free(command);
		else
			append(&unexecuted, command);
		call->done(call, NULL);
	}
	link->ending = false;
	lose(unexecuted);
}

void
link_reset(struct link *link, const char *message)
{
	(void)message;
	must(!link->ending);
	if (!link->up)
		return;
	link->doomed = false;
	end_calls(link);
	went_down(link);
}

void
link_distrust(struct link *link, const char *message)
{
	(void)message;
	link->doomed = true;
}

void
link_cut(struct link *link)
{
	link_reset(link, "cut");
}

/* --- life --- */

struct link *
link_new(struct loop *loop, const struct conf *conf,
    const struct conf_redis *redis, const struct link_to *to,
    const struct link_events *events)
{
	struct link *link = mem_zero(sizeof *link);
	link->gateway = loop_gateway(loop);
	link->loop = loop;
	(void)redis;
	link->conf = conf_ref(conf);
	link->events = *events;
	link->listens = events->channels != NULL;
	timer_init(&link->timer, loop, on_connect, link);
	timer_init(&link->silence, loop, on_silence, link);
	timer_set(&link->timer, 0);
	link->own = link->listens ? &link->gateway->subscriber
				  : &link->gateway->links[to->large];
	must(*link->own == NULL);
	*link->own = link;
	return link;
}

void
link_free(struct link **link)
{
	struct link *l = *link;
	*link = NULL;
	if (l == NULL)
		return;
	link_reset(l, "closed");
	timer_clear(&l->timer);
	forget_published(l);
	*l->own = NULL;
	conf_unref(&l->conf);
	free(l);
}

bool
link_is_up(const struct link *link)
{
	return link->up;
}

bool
link_is_hopeful(const struct link *link)
{
	return !link->up && !link->tried_in_vain;
}

int64_t
link_left_ms(struct link *link, struct link_call *call)
{
	int64_t moved_us = link->read_us > call->sent_us ? link->read_us
							 : call->sent_us;
	int64_t left_us = moved_us + link->conf->store.redis.timeout_ms * 1000 -
	    world.now_us;
	return left_us > 0 ? (left_us + 999) / 1000 : 0;
}

struct link_to
link_where(const struct link *link)
{
	(void)link;
	return (struct link_to){.host = "redis", .port = 1};
}

const char *
link_message(const struct link *link)
{
	(void)link;
	return "cut";
}

struct redis_clock *
link_clock(struct link *link)
{
	return &link->clock;
}

bool
link_owns_timer(const struct link *link, const struct timer *timer)
{
	return timer == &link->timer;
}

/* It follows no master. */
bool
link_is_behind(const struct link *link)
{
	must(link == NULL);
	return false;
}

/* --- commands --- */

static bool
is_wait(struct span command)
{
	return span_starts(command, SPAN("*3\r\n$4\r\nWAIT\r\n"));
}

static bool
is_script(const struct link *link, struct span command, enum script script)
{
	const struct worker *w = link->gateway->worker;
	return w != NULL && memmem(command.ptr, command.len,
	    w->store->names.sha[script], SHA1_HEX) != NULL;
}

static bool
says(struct span command, const char *word)
{
	return memmem(command.ptr, command.len, word, strlen(word)) != NULL;
}

/*
 * It is no script, or the sweeper asks which leases have expired, or somebody
 * asks which store this is; or a source asks whether it is paused, which
 * letters there are, or whether the turn, or a letter that it replays, is its
 * own, which it asks again and again.
 */
static bool
only_looks(const struct link *link, struct span command)
{
	return (memmem(command.ptr, command.len, "EVALSHA", 7) == NULL &&
		   !is_wait(command)) ||
	    is_script(link, command, SCRIPT_due) ||
	    is_script(link, command, SCRIPT_identify) ||
	    is_script(link, command, SCRIPT_pause) ||
	    (is_script(link, command, SCRIPT_letters) &&
		says(command, "\nlook\r")) ||
	    (is_script(link, command, SCRIPT_letter) &&
		says(command, "\nrenew\r")) ||
	    is_script(link, command, SCRIPT_leadership);
}

void
link_send(
    struct link *link, struct link_call *call, const struct resp *command)
{
	must(link->up && !link->ending && !link->listens);
	struct command *c = mem_zero(sizeof *c);
	c->call = call;
	c->bytes = mem_copy(command->bytes, command->len);
	c->len = command->len;
	c->only_looks = only_looks(link, span_of(c->bytes, c->len));
	call->sent_us = clock_us();
	append(&link->commands, c);
	if (!c->only_looks)
		world.deeds++;
	if (!timer_is_set(&link->silence))
		timer_set(&link->silence,
		    PULSE_MS + link->conf->store.redis.timeout_ms);
}

unsigned
link_pending(const struct link *link)
{
	unsigned count = 0;
	for (struct command *c = link->commands; c != NULL; c = c->next)
		count++;
	return count;
}

unsigned
link_executed(const struct link *link)
{
	unsigned count = 0;
	for (struct command *c = link->commands; c != NULL; c = c->next)
		count += c->reply != NULL;
	return count;
}

bool
link_is_only_looking(const struct link *link)
{
	return link->commands != NULL && link->commands->only_looks;
}

static void
execute(struct command *command)
{
	redis_run(span_of(command->bytes, command->len), &command->reply,
	    &command->reply_len);
}

static struct command *
next_unexecuted(const struct link *link)
{
	struct command *command = link->commands;
	while (command != NULL && command->reply != NULL)
		command = command->next;
	must(command != NULL);
	return command;
}

void
link_execute(struct link *link)
{
	execute(next_unexecuted(link));
}

void
link_refuse(struct link *link)
{
	static const char message[] =
	    "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
	struct command *command = next_unexecuted(link);
	command->reply_len = sizeof message - 1;
	command->reply = mem_copy(message, command->reply_len);
}

bool
link_is_waiting(const struct link *link)
{
	const struct command *command = next_unexecuted(link);
	return is_wait(span_of(command->bytes, command->len));
}

/* They may hear of it all the same, later. */
void
link_count_few(struct link *link)
{
	static const char message[] = ":0\r\n";
	struct command *command = next_unexecuted(link);
	command->reply_len = sizeof message - 1;
	command->reply = mem_copy(message, command->reply_len);
	redis_copy(REPLICA_MAY_HAVE);
}

void
link_deliver(struct link *link)
{
	struct command *command = link->commands;
	must(link->up && command != NULL && command->reply != NULL);
	link->commands = command->next;
	redisReader *reader = redisReaderCreate();
	void *reply = NULL;
	must(redisReaderFeed(reader, command->reply, command->reply_len) ==
	    REDIS_OK);
	must(redisReaderGetReply(reader, &reply) == REDIS_OK && reply != NULL);
	timer_clear(&link->silence);
	link->read_us = world.now_us;
	if (link->commands != NULL)
		timer_set(&link->silence,
		    PULSE_MS + link->conf->store.redis.timeout_ms);
	fake_loop_turn(link->loop);
	command->call->done(command->call, reply);
	freeReplyObject(reply);
	redisReaderFree(reader);
	command_free(command);
	if (link->doomed)
		link_cut(link);
}

/* --- listening --- */

void
redis_publish(struct span channel, struct span message)
{
	must(span_eq(span_from(channel, channel.len - 8), SPAN(":changes")));
	for (unsigned i = 0; i < GATEWAYS_MAX; i++) {
		struct link *subscriber = world.gateways[i].subscriber;
		if (subscriber == NULL || !subscriber->up ||
		    world.gateways[i].dead)
			continue;
		struct published **end = &subscriber->published;
		while (*end != NULL)
			end = &(*end)->next;
		*end = mem_zero(sizeof **end);
		(*end)->message = mem_str(message);
	}
}

bool
link_is_proving(const struct link *link)
{
	return link->published != NULL && link->published->message[0] == '@';
}

unsigned
link_messages(const struct link *link)
{
	unsigned count = 0;
	for (struct published *p = link->published; p != NULL; p = p->next)
		count++;
	return count;
}

void
link_tell(struct link *link)
{
	struct published *p = link->published;
	link->published = p->next;
	link->events.heard(link->events.arg, span_str(p->message));
	free(p->message);
	free(p);
}

/* --- ghosts --- */

unsigned
ghosts_count(void)
{
	unsigned count = 0;
	for (struct command *c = ghosts; c != NULL; c = c->next)
		count++;
	return count;
}

void
ghosts_execute(void)
{
	struct command *command = ghosts;
	ghosts = command->next;
	execute(command);
	command_free(command);
}

void
ghosts_clear(void)
{
	while (ghosts != NULL) {
		struct command *command = ghosts;
		ghosts = command->next;
		command_free(command);
	}
}

/* --- hashing --- */

/*
 * Where the name of a call stands in text, which decides nothing and is another
 * one each time (store/call.h); len: nowhere.
 */
static size_t
name_in(const struct command *c, const char *text, size_t len)
{
	enum { END = CHANNEL_NAME_CHARS + 2 };
	if (memmem(c->bytes, c->len, "EVALSHA", 7) == NULL)
		return len;
	const char *name = c->bytes + c->len - END;
	const char *at = memmem(text, len, name, CHANNEL_NAME_CHARS);
	return at != NULL ? (size_t)(at - text) : len;
}

static uint64_t
hash_but_name(uint64_t hash, const struct command *c, const char *text,
    size_t len)
{
	size_t at = name_in(c, text, len);
	hash = mix_bytes(hash, text, at);
	if (at == len)
		return hash;
	at += CHANNEL_NAME_CHARS;
	return mix_bytes(hash, text + at, len - at);
}

static uint64_t
hash_commands(uint64_t hash, const struct command *list)
{
	for (const struct command *c = list; c != NULL; c = c->next) {
		hash = hash_but_name(hash, c, c->bytes, c->len);
		hash = mix(hash, c->reply != NULL);
		if (c->reply != NULL)
			hash = hash_but_name(
			    hash, c, c->reply, c->reply_len);
	}
	return hash;
}

uint64_t
link_hash(const struct link *link)
{
	uint64_t hash = mix(link->up, (uint64_t)link->tried_in_vain);
	hash = mix(hash, (uint64_t)link->backoff_ms);
	hash = mix(hash, (uint64_t)link->clock.apart_us);
	hash = mix(hash, (uint64_t)link->clock.apart_most_us);
	if (link->commands != NULL)
		hash = mix(hash, (uint64_t)link->read_us);
	hash = hash_commands(hash, link->commands);
	for (struct published *p = link->published; p != NULL; p = p->next)
		hash = mix_bytes(hash, p->message, strlen(p->message));
	return hash;
}

uint64_t
ghosts_hash(void)
{
	return hash_commands(0, ghosts);
}
