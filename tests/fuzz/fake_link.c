/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/must.h"
#include "fuzz/fake_link.h"
#include "store/record/script.h"

enum { NAME_AT = 3 }; /* of the elements of a script's reply */

struct waiting {
	struct waiting *next;
	struct link_call *call;
	enum command command;
	char name[CHANNEL_NAME_CHARS]; /* BATCH: its own, … */
	size_t records;             /* … and of how many records it is */
};

struct link {
	struct link *next;
	const struct conf *conf;
	struct link_events events;
	char *host;
	uint16_t port;
	bool up, away, tried_in_vain;
	bool ending;   /* its calls: nobody may send, or reset it */
	bool replying; /* a call is told: nobody may reset it */
	bool doomed;   /* the call did not believe it */
	struct waiting *commands;
	struct redis_clock clock;
};

static struct link *links;
static bool all_away;

void
fake_link_begin(void)
{
	must(links == NULL);
	all_away = false;
}

/* --- life --- */

struct link *
link_new(struct loop *loop, const struct conf *conf,
    const struct conf_redis *redis, const struct link_to *to,
    const struct link_events *events)
{
	struct link *link = mem_zero(sizeof *link);
	struct link **at = &links;
	must(loop != NULL && to->host != NULL && events->channels == NULL);
	(void)redis;
	link->conf = conf_ref(conf);
	link->events = *events;
	link->host = mem_text(to->host);
	link->port = to->port;
	while (*at != NULL)
		at = &(*at)->next;
	*at = link;
	return link;
}

void
link_free(struct link **link)
{
	struct link *l = *link;
	struct link **at = &links;
	*link = NULL;
	if (l == NULL)
		return;
	link_reset(l, "closed");
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	conf_unref(&l->conf);
	free(l->host);
	free(l);
}

/* --- up and down --- */

/* What was sent, nobody knows of. */
static void
lose_all(struct link *link)
{
	link->ending = true;
	while (link->commands != NULL) {
		struct waiting *w = link->commands;
		struct link_call *call = w->call;
		link->commands = w->next;
		free(w);
		call->done(call, NULL);
	}
	link->ending = false;
}

void
link_reset(struct link *link, const char *message)
{
	must(!link->ending && !link->replying && message != NULL);
	if (!link->up)
		return;
	link->doomed = false;
	lose_all(link);
	link->up = false;
	link->events.changed(link->events.arg, LINK_WENT_DOWN);
}

void
fake_link_cut(struct link *link, bool away)
{
	link->away = away;
	link_reset(link, "cut");
}

void
fake_link_end_all(void)
{
	all_away = true;
	for (bool more = true; more;) {
		struct link *link = links;
		while (link != NULL && !link->up)
			link = link->next;
		more = link != NULL;
		if (more)
			link_reset(link, "ended");
	}
}

/* Links come and go while they are told so. */
static bool
connect_one(void)
{
	for (struct link *link = links; link != NULL; link = link->next) {
		bool away = link->away || all_away;
		if (link->up || (away && link->tried_in_vain))
			continue;
		link->up = !away;
		link->tried_in_vain = away;
		link->events.changed(
		    link->events.arg, away ? LINK_FAILED : LINK_CAME_UP);
		return true;
	}
	return false;
}

bool
fake_link_connect(void)
{
	bool any = false;
	while (connect_one())
		any = true;
	return any;
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

/* --- commands --- */

static bool
has(const struct resp *command, struct span text)
{
	return memmem(command->bytes, command->len, text.ptr, text.len);
}

static bool
runs(const struct resp *command, enum script script, struct span function)
{
	struct script_names names;
	script_names(&names);
	return has(command, span_str(names.sha[script])) ||
	    has(command, function) || has(command, script_text(script));
}

static enum command
kind_of(const struct resp *command)
{
	struct span bytes = span_of(command->bytes, command->len);
	if (runs(command, SCRIPT_claims, SPAN("_claims\r\n")) ||
	    runs(command, SCRIPT_completes, SPAN("_completes\r\n")))
		return COMMAND_BATCH;
	if (has(command, SPAN("\r\nEVALSHA\r\n")) ||
	    has(command, SPAN("\r\nEVAL\r\n")) ||
	    has(command, SPAN("\r\nFCALL\r\n")))
		return COMMAND_SCRIPT;
	if (span_eq(bytes, SPAN("*1\r\n$4\r\nINFO\r\n")))
		return COMMAND_INFO;
	if (span_eq(bytes, SPAN("*1\r\n$6\r\nASKING\r\n")))
		return COMMAND_ASKING;
	if (has(command, SPAN("\r\nCLUSTER\r\n$4\r\nINFO\r\n")))
		return COMMAND_CLUSTER_INFO;
	if (has(command, SPAN("\r\nCLUSTER\r\n$6\r\nSHARDS\r\n")))
		return COMMAND_CLUSTER_SHARDS;
	return COMMAND_OTHER;
}

/* A batch's name is its last argument. */
static void
read_batch(const struct resp *command, struct waiting *w)
{
	const char *end = command->bytes + command->len - 2;
	memcpy(w->name, end - CHANNEL_NAME_CHARS, CHANNEL_NAME_CHARS);
	const char *key = command->bytes;
	size_t left = command->len;
	const struct span mark = SPAN("}:r:");
	while ((key = memmem(key, left, mark.ptr, mark.len)) != NULL) {
		w->records++;
		key += mark.len;
		left = (size_t)(command->bytes + command->len - key);
	}
}

void
link_send(
    struct link *link, struct link_call *call, const struct resp *command)
{
	must(link->up && !link->ending);
	struct waiting *w = mem_zero(sizeof *w);
	struct waiting **at = &link->commands;
	w->call = call;
	w->command = kind_of(command);
	if (w->command == COMMAND_BATCH)
		read_batch(command, w);
	call->sent_us = clock_us();
	while (*at != NULL)
		at = &(*at)->next;
	*at = w;
}

static size_t
count_asked(void)
{
	size_t count = 0;
	for (struct link *link = links; link != NULL; link = link->next)
		count += link->commands != NULL;
	return count;
}

struct link *
fake_link_asked(size_t n)
{
	size_t count = count_asked();
	for (struct link *link = links; link != NULL; link = link->next)
		if (link->commands != NULL && n-- % count == 0)
			return link;
	return NULL;
}

enum command
fake_link_command(const struct link *link)
{
	return link->commands->command;
}

struct store_call *
fake_link_call(const struct link *link)
{
	must(link->commands->command == COMMAND_SCRIPT);
	return CONTAINER_OF(link->commands->call, struct store_call, run.link);
}

/* The reply with the name of its call, which no corpus can know. */
static void
tell(struct link_call *call, const redisReply *reply)
{
	struct store_call *named =
	    CONTAINER_OF(call, struct store_call, run.link);
	redisReply name = {.type = REDIS_REPLY_STRING, .str = named->run.name,
	    .len = CHANNEL_NAME_CHARS};
	redisReply whole = *reply;
	whole.element = mem_zero((reply->elements + 1) * sizeof reply);
	for (size_t i = 0; i < reply->elements; i++)
		whole.element[i + (i >= NAME_AT)] = reply->element[i];
	whole.element[NAME_AT] = &name;
	whole.elements++;
	call->done(call, &whole);
	free(whole.element);
}

/* Of each record nothing was done: its call comes by itself. */
static void
tell_batch(struct link_call *call, struct waiting *w)
{
	char letters[256], now_digits[] = "1700000000000";
	must(w->records <= sizeof letters);
	memset(letters, 'S', w->records);
	redisReply parts[] = {
	    {.type = REDIS_REPLY_STRING, .str = w->name,
		.len = CHANNEL_NAME_CHARS},
	    {.type = REDIS_REPLY_STRING, .str = now_digits, .len = 13},
	    {.type = REDIS_REPLY_STRING, .str = letters, .len = w->records},
	};
	redisReply *elements[] = {&parts[0], &parts[1], &parts[2]};
	const redisReply reply = {.type = REDIS_REPLY_ARRAY,
	    .elements = 3, .element = elements};
	call->done(call, &reply);
}

void
fake_link_reply(struct link *link, const struct redisReply *reply)
{
	struct waiting *w = link->commands;
	struct link_call *call = w->call;
	bool named = w->command == COMMAND_SCRIPT && reply != NULL &&
	    reply->type == REDIS_REPLY_ARRAY && reply->elements >= NAME_AT;
	link->commands = w->next;
	link->replying = true;
	if (w->command == COMMAND_BATCH && reply == NULL)
		tell_batch(call, w);
	else if (named)
		tell(call, reply);
	else
		call->done(call, reply);
	free(w);
	link->replying = false;
	if (link->doomed)
		link_reset(link, "distrusted");
}

void
link_distrust(struct link *link, const char *message)
{
	must(link->replying && message != NULL);
	link->doomed = true;
}

/* --- what else there is to ask --- */

/* Whoever asks is out of time: it is silent. */
int64_t
link_left_ms(struct link *link, struct link_call *call)
{
	must(link != NULL && call != NULL);
	return 0;
}

struct link_to
link_where(const struct link *link)
{
	return (struct link_to){.host = link->host, .port = link->port};
}

const char *
link_message(const struct link *link)
{
	must(link != NULL);
	return "cut";
}

struct redis_clock *
link_clock(struct link *link)
{
	return &link->clock;
}

/* It follows no master. */
bool
link_is_behind(const struct link *link)
{
	must(link == NULL);
	return false;
}
