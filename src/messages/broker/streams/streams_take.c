/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/broker/streams/streams_private.h"

/*
 * One step after the other: the group, whose copies are there, a pass over what
 * is pending for our name, and then what is new, with a pass over what others
 * have left now and then.  A pass asks for ids first, and then for the entries
 * of those that are not in flight, as many as there is room for.
 */
enum {
	GATHER_MS = 1,    /* credit that comes in drops is gathered */
	GATHER_SHARE = 4, /* until so much of in_flight is there */
	OTHERS_EVERY_MS = 1000, /* at most */
	LOOK_EVERY_MS = 5000,   /* the lag grows without credit, too */
	BLOCK_MS = 1000,        /* at most */
	SOON_MS = 2000, /* what does not pass in that is no such thing */
	MOST = 512,     /* entries that are asked for at once, … */
	MOST_BYTES = 128 * 1024 * 1024, /* … and bytes, before the last */
};

/* --- a step --- */

static bool read_new(struct streams *streams, const redisReply *reply);

static void
tell_unread(struct streams *streams, int64_t count)
{
	if (count > 0)
		reader_flight_lost(&streams->core, BROKER_TRIMMED_UNREAD,
		    (uint64_t)count, SPAN(""), NULL);
}

static void
on_step(struct link_call *call, const redisReply *reply)
{
	struct streams *streams = CONTAINER_OF(call, struct streams, take.call);
	struct streams_take *take = &streams->take;
	struct broker_reader *core = &streams->core;
	int64_t now_ms = loop_now_ms(core->loop);
	take->awaited = take->waits = false;
	timer_clear(&take->silence);
	reader_kick(core);
	if (reply == NULL) {
		/* Nobody else will tell of what was to be told. */
		if (take->read == read_new) {
			tell_unread(streams, take->to_tell);
			take->to_tell = 0;
		}
		return;
	}
	if (reply->type != REDIS_REPLY_ERROR) {
		if (take->passing == take->what)
			take->passing_ms = 0;
		reader_trouble_end(core, STREAMS_TO_TAKE, take->what);
		if (take->read != NULL && !take->read(streams, reply))
			streams_line_distrust(&streams->taker);
		return;
	}
	bool later = streams_line_passes(&streams->taker, reply);
	if (later && take->passing_ms == 0) {
		take->passing_ms = now_ms;
		take->passing = take->what;
	}
	/* A replica that stays one has nothing for us, whatever it was. */
	if (later && now_ms - take->passing_ms < SOON_MS) {
		timer_set(&core->pause, STREAMS_AGAIN_MS);
		return;
	}
	reader_trouble_begin(core, STREAMS_TO_TAKE, take->what,
	    span_of(reply->str, reply->len));
	timer_set(&core->pause, STREAMS_PAUSE_MS);
}

/*
 * Clears the command; block_ms: the step may wait so long.  read is given an
 * answer that is no error (NULL: nobody wants it); false: it is none to that
 * command.
 */
static void
send_step(struct streams *streams, const char *what,
    struct resp *command, int64_t block_ms,
    bool (*read)(struct streams *streams, const redisReply *reply))
{
	struct streams_take *take = &streams->take;
	take->awaited = true;
	take->waits = block_ms > 0;
	take->what = what;
	take->read = read;
	take->call.done = on_step;
	/* The silence that is allowed begins when the block is over. */
	timer_set(&take->silence, block_ms + streams->redis->timeout_ms);
	streams_line_send(&streams->taker, &take->call, command);
	resp_clear(command);
}

static void
on_silence(void *arg)
{
	struct streams *streams = arg;
	struct streams_take *take = &streams->take;
	int64_t left_ms = link_left_ms(streams->taker.link, &take->call);
	if (left_ms > 0)
		timer_set(&take->silence, left_ms);
	else
		link_reset(streams->taker.link,
		    "no answer within the broker's timeout");
}

/* How many bytes are wanted, and one entry beyond. */
static void
add_budget(const struct streams *streams, struct resp *command)
{
	const struct broker_reader *core = &streams->core;
	size_t bytes = core->credit_bytes > core->queued_bytes
	    ? core->credit_bytes - core->queued_bytes
	    : 1;
	resp_number(command,
	    bytes < MOST_BYTES ? (int64_t)bytes : (int64_t)MOST_BYTES);
}

/* --- the first steps after each connection --- */

enum made { THERE, MADE, MADE_STREAM };

static bool
read_made(struct streams *streams, const redisReply *reply)
{
	const struct conf_source *source = streams->core.source;
	struct streams_take *take = &streams->take;
	struct streams_id last;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
	    !streams_entry_id_read(resp_text(reply->element[1]), &last))
		return false;
	int64_t how = reply->element[0]->integer;
	if (how != THERE) {
		struct logline line = log_begin(take->was_ready
			? EV_source_group_made_again
			: EV_source_group_made);
		log_str(&line, "source", source->name);
		log_str(&line, "stream", source->stream);
		log_str(&line, "group", source->group);
		log_word(&line, "stream_was_missing",
		    how == MADE_STREAM ? "true" : "false");
		log_end(&line);
	}
	/* As it had been seen last. */
	if (how == MADE_STREAM)
		tell_unread(streams, take->unread);
	if (how != THERE || !take->was_ready) {
		take->last = last;
		take->taken = (struct streams_id){0, 0};
		take->read_count = -1;
		take->to_tell = take->unread = 0;
	}
	take->was_ready = true;
	take->step = STREAMS_ORIGIN;
	return true;
}

static void
make_group(struct streams *streams)
{
	const struct streams_take *take = &streams->take;
	struct resp command = {0};
	streams_line_script(streams, STREAMS_SCRIPT_GROUP, 2, &command);
	resp_arg(&command, streams->core.source->start_latest
		? SPAN("$")
		: SPAN("0-0"));
	if (take->was_ready)
		streams_line_id(&command, take->last);
	else
		resp_arg(&command, SPAN(""));
	send_step(streams, "group", &command, 0, read_made);
}

static bool
read_origin(struct streams *streams, const redisReply *reply)
{
	if (reply->type != REDIS_REPLY_STRING)
		return false;
	streams->take.step = STREAMS_NEW;
	streams->take.looks = true;
	streams_take_look_again(&streams->core);
	reader_origin(&streams->core, resp_text(reply));
	reader_changed(&streams->core);
	return true;
}

/* Whose copies are there. */
static void
ask_origin(struct streams *streams)
{
	const struct conf_source *source = streams->core.source;
	struct resp command = {0};
	streams_line_script_of(streams, STREAMS_SCRIPT_ORIGIN,
	    span_str(source->dead_letters), span_of(NULL, 0), 1, &command);
	resp_arg(&command, span_str(source->name));
	send_step(streams, "origin", &command, 0, read_origin);
}

/* --- a pass: which ids --- */

static void
begin_pass(struct streams *streams, enum streams_pass pass,
    struct streams_id behind)
{
	struct streams_take *take = &streams->take;
	take->step = STREAMS_PASS;
	take->pass = pass;
	take->cursor = behind;
	take->page_was_full = true;
	take->n_ids = take->at = 0;
	take->at_end = false;
	if (pass == STREAMS_OWN)
		take->pass_again = false;
}

void
streams_take_look_again(struct broker_reader *core)
{
	struct streams *streams = (struct streams *)core;
	if (streams->take.step == STREAMS_NEW)
		begin_pass(streams, STREAMS_OWN, (struct streams_id){0, 0});
	else
		streams->take.pass_again = true;
	reader_kick(core);
}

/* What is in flight is taken back from who has claimed it. */
static bool
read_ids(struct streams *streams, const redisReply *reply)
{
	const struct broker_reader *core = &streams->core;
	struct streams_take *take = &streams->take;
	if (reply->type != REDIS_REPLY_ARRAY ||
	    reply->elements > STREAMS_LIST_MAX)
		return false;
	take->n_ids = take->at = 0;
	take->page_was_full = reply->elements == STREAMS_LIST_MAX;
	for (size_t i = 0; i < reply->elements; i++) {
		const redisReply *each = reply->element[i];
		if (each->type != REDIS_REPLY_ARRAY || each->elements < 2 ||
		    !streams_entry_id_read(
			resp_text(each->element[0]), &take->cursor))
			return false;
		bool own = span_eq(
		    resp_text(each->element[1]), span_str(core->instance));
		if (!own ||
		    reader_flight_find(core, resp_text(each->element[0])) ==
			NULL)
			take->ids[take->n_ids++] = take->cursor;
	}
	return true;
}

static void
ask_list(struct streams *streams)
{
	const struct streams_take *take = &streams->take;
	bool others = take->pass == STREAMS_OTHERS;
	bool own = !others && !streams->core.sole;
	char cursor[STREAMS_ID_BYTES];
	const struct span behind[] = {
	    SPAN("("), streams_entry_id_text(take->cursor, cursor)};
	struct resp command = {0};
	resp_begin(&command, 6 + (others ? 2 : 0) + own);
	resp_arg(&command, SPAN("XPENDING"));
	resp_arg(&command, streams->key);
	resp_arg(&command, streams->group);
	if (others) {
		resp_arg(&command, SPAN("IDLE"));
		resp_number(&command, 2 * streams->core.lease_ms);
	}
	resp_joined(&command, behind, 2);
	resp_arg(&command, SPAN("+"));
	resp_number(&command, STREAMS_LIST_MAX);
	if (own)
		resp_arg(&command, span_str(streams->core.instance));
	send_step(streams, "list", &command, 0, read_ids);
}

/* --- a pass: their entries --- */

/*
 * An entry whose bytes are gone.  It is counted by the reply of its XACK; where
 * there is none, whether that had found it or not.  So a loss may be told
 * twice; never by nobody.
 */
struct streams_drop {
	struct link_call call;
	struct streams *streams;
	char id[STREAMS_ID_BYTES];
};

static void
on_dropped(struct link_call *call, const redisReply *reply)
{
	struct streams_drop *d = CONTAINER_OF(call, struct streams_drop, call);
	struct streams *streams = d->streams;
	if (reply != NULL && reply->type == REDIS_REPLY_ERROR)
		(void)streams_line_passes(&streams->taker, reply);
	else if (reply == NULL || reply->integer == 1)
		reader_flight_lost(&streams->core, BROKER_TRIMMED_PENDING, 1,
		    span_str(d->id), NULL);
	streams->owed--;
	reader_kick(&streams->core);
	free(d);
}

static void
drop(struct streams *streams, struct streams_id id)
{
	struct resp command = {0};
	struct streams_drop *d = mem_zero(sizeof *d);
	d->streams = streams;
	d->call.done = on_dropped;
	streams->owed++;
	resp_begin(&command, 4);
	resp_arg(&command, SPAN("XACK"));
	resp_arg(&command, streams->key);
	resp_arg(&command, streams->group);
	resp_arg(&command, streams_entry_id_text(id, d->id));
	streams_line_send(&streams->taker, &d->call, &command);
	resp_clear(&command);
}

static bool
read_claimed(struct streams *streams, const redisReply *reply)
{
	struct streams_take *take = &streams->take;
	struct streams_id id;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3 ||
	    reply->element[0]->type != REDIS_REPLY_ARRAY ||
	    reply->element[1]->type != REDIS_REPLY_ARRAY ||
	    reply->element[2]->integer < 1 ||
	    (size_t)reply->element[2]->integer > take->n_ids - take->at)
		return false;
	const redisReply *entries = reply->element[0];
	const redisReply *gone = reply->element[1];
	for (size_t i = 0; i < entries->elements; i++)
		if (!streams_entry_take(streams, entries->element[i], true))
			return true;
	for (size_t i = 0; i < gone->elements; i++)
		if (streams_entry_id_read(resp_text(gone->element[i]), &id))
			drop(streams, id);
	take->at += (size_t)reply->element[2]->integer;
	return true;
}

static void
go_on_passing(struct streams *streams, size_t room)
{
	struct streams_take *take = &streams->take;
	struct resp command = {0};
	if (take->at < take->n_ids) {
		size_t left = take->n_ids - take->at;
		size_t n = room < left ? room : left;
		streams_line_script(
		    streams, STREAMS_SCRIPT_CLAIM, 3 + n, &command);
		resp_arg(&command, span_str(streams->core.instance));
		resp_number(&command, take->pass == STREAMS_OTHERS
			? 2 * streams->core.lease_ms
			: 0);
		add_budget(streams, &command);
		for (size_t i = 0; i < n; i++)
			streams_line_id(&command, take->ids[take->at + i]);
		send_step(streams, "claim", &command, 0, read_claimed);
	} else if (take->page_was_full) {
		ask_list(streams);
	} else {
		take->step = STREAMS_NEW;
		if (take->pass_again)
			streams_take_look_again(&streams->core);
		reader_kick(&streams->core);
	}
}

/* --- what is new --- */

enum {
	TAKEN_BEFORE,
	TAKEN_ENTRIES,
	TAKEN_FOUND,
	TAKEN_TOLD,
	TAKEN_UNREAD,
	TAKEN_READ,
	TAKEN_LAST,
	TAKEN_COUNT_,
};

/* What the group has read is pending, or finished, whoever has read it. */
static bool
read_new(struct streams *streams, const redisReply *reply)
{
	static const int types[TAKEN_COUNT_] = {REDIS_REPLY_INTEGER,
	    REDIS_REPLY_ARRAY, REDIS_REPLY_INTEGER, REDIS_REPLY_INTEGER,
	    REDIS_REPLY_INTEGER, 0, REDIS_REPLY_STRING};
	struct streams_take *take = &streams->take;
	if (reply->type != REDIS_REPLY_ARRAY ||
	    reply->elements != TAKEN_COUNT_)
		return false;
	for (size_t i = 0; i < TAKEN_COUNT_; i++)
		if (types[i] != 0 && reply->element[i]->type != types[i])
			return false;
	const redisReply *entries = reply->element[TAKEN_ENTRIES];
	const redisReply *count = reply->element[TAKEN_READ];
	int64_t before = reply->element[TAKEN_BEFORE]->integer;
	int64_t unread = reply->element[TAKEN_UNREAD]->integer;
	for (size_t i = 0; i < entries->elements; i++)
		if (!streams_entry_take(streams, entries->element[i], false))
			return true;
	take->to_tell = reply->element[TAKEN_FOUND]->integer;
	take->read_count =
	    count->type == REDIS_REPLY_INTEGER ? count->integer : -1;
	(void)streams_entry_id_read(
	    resp_text(reply->element[TAKEN_LAST]), &take->last);
	if (unread != take->unread)
		reader_changed(&streams->core);
	take->unread = unread;
	tell_unread(streams, reply->element[TAKEN_TOLD]->integer);
	take->at_end = entries->elements < take->asked && take->to_tell == 0;
	/* It goes before what is new. */
	struct streams_id behind =
	    before == 1 ? take->taken : (struct streams_id){0, 0};
	if (entries->elements > 0)
		(void)streams_entry_id_read(resp_text(entries->element[
			entries->elements - 1]->element[0]), &behind);
	if (before != 0 && take->step == STREAMS_NEW)
		begin_pass(streams, STREAMS_OWN, behind);
	return true;
}

/* 0: it only looks. */
static void
ask_new(struct streams *streams, size_t count)
{
	struct streams_take *take = &streams->take;
	struct resp command = {0};
	take->asked = count < MOST ? count : MOST;
	take->looks = false;
	streams_line_script(streams, STREAMS_SCRIPT_TAKE, 7, &command);
	resp_arg(&command, span_str(streams->core.instance));
	resp_number(&command, (int64_t)take->asked);
	if (take->read_count >= 0)
		resp_number(&command, take->read_count);
	else
		resp_arg(&command, SPAN(""));
	streams_line_id(&command, take->last);
	resp_number(&command, take->to_tell);
	add_budget(streams, &command);
	if (streams->core.sole)
		streams_line_id(&command, take->taken);
	else
		resp_arg(&command, SPAN(""));
	send_step(streams, "take", &command, 0, read_new);
}

/* Until something comes; what that is, the next step takes. */
static void
wait_for_new(struct streams *streams)
{
	struct resp command = {0};
	int64_t ms = streams->core.lease_ms / 2;
	if (ms > streams->redis->timeout_ms / 2)
		ms = streams->redis->timeout_ms / 2;
	if (ms > BLOCK_MS)
		ms = BLOCK_MS;
	ms += ms == 0;
	streams->take.at_end = false;
	resp_begin(&command, 8);
	resp_arg(&command, SPAN("XREAD"));
	resp_arg(&command, SPAN("COUNT"));
	resp_arg(&command, SPAN("1"));
	resp_arg(&command, SPAN("BLOCK"));
	resp_number(&command, ms);
	resp_arg(&command, SPAN("STREAMS"));
	resp_arg(&command, streams->key);
	streams_line_id(&command, streams->take.last);
	send_step(streams, "wait", &command, ms, NULL);
}

static void
go_on_taking(struct streams *streams, size_t room)
{
	struct streams_take *take = &streams->take;
	if (take->others_due && !streams->core.sole) {
		take->others_due = false;
		begin_pass(streams, STREAMS_OTHERS, (struct streams_id){0, 0});
		go_on_passing(streams, room);
	} else if (take->at_end) {
		wait_for_new(streams);
	} else if (take->gathering || list_empty(&streams->core.in_flight) ||
	    room * GATHER_SHARE >= (size_t)streams->core.source->in_flight) {
		take->gathering = false;
		ask_new(streams, room);
	} else {
		/* Few credits at a time would make a step of each. */
		take->gathering = true;
		timer_set(&streams->core.pause, GATHER_MS);
	}
}

/* --- one after the other --- */

void
streams_take_go(struct broker_reader *core)
{
	struct streams *streams = (struct streams *)core;
	struct streams_take *take = &streams->take;
	if (take->awaited || !streams_line_is_up(&streams->taker))
		return;
	/*
	 * Whoever owns it gives no credit while it is refused what it needs: so
	 * it tries with one entry, which stays in the queue, to find out when
	 * that ends.
	 */
	size_t room = reader_trouble_is(core, STREAMS_TO_TAKE, NULL)
	    ? 1
	    : reader_room(core);
	if (take->step == STREAMS_GROUP)
		make_group(streams);
	else if (take->step == STREAMS_ORIGIN)
		ask_origin(streams);
	else if (take->looks || (room == 0 && take->to_tell > 0))
		ask_new(streams, 0);
	else if (room > 0 && take->step == STREAMS_PASS)
		go_on_passing(streams, room);
	else if (room > 0)
		go_on_taking(streams, room);
}

static void
on_others(void *arg)
{
	struct streams *streams = arg;
	int64_t ms = streams->core.lease_ms / 2;
	timer_set(&streams->take.others,
	    ms < OTHERS_EVERY_MS ? ms + 1 : OTHERS_EVERY_MS);
	streams->take.others_due = true;
	reader_kick(&streams->core);
}

static void
on_look(void *arg)
{
	struct streams *streams = arg;
	timer_set(&streams->take.look, LOOK_EVERY_MS);
	streams->take.looks = true;
	reader_kick(&streams->core);
}

void
streams_take_init(struct streams *streams)
{
	struct streams_take *take = &streams->take;
	struct loop *loop = streams->core.loop;
	take->read_count = take->unread = -1;
	timer_init(&take->silence, loop, on_silence, streams);
	timer_init(&take->look, loop, on_look, streams);
	timer_init(&take->others, loop, on_others, streams);
	on_look(streams);
	on_others(streams);
}
