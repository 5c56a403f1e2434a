/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "base/container.h"
#include "messages/broker/streams/streams_private.h"

/*
 * Acknowledgements: an XACK, or a script where something is put in the same
 * step.  Where nothing was pending this reader asks why, as long as nobody else
 * may have finished it: a message may be lost.
 */

static const char *
target_of(const struct streams *streams, const struct broker_put *put)
{
	return put->place == BROKER_RESULTS
	    ? streams->core.source->results
	    : streams->core.source->dead_letters;
}

static bool
puts_something(const struct broker_finish *finish)
{
	return finish->put != NULL && finish->put->place != BROKER_NOWHERE;
}

static const char *
why_not_into(const struct streams *streams, const char *target)
{
	if (target == NULL)
		return "no stream is configured for it";
	return streams_line_is_apart(streams, target)
	    ? "its stream is in another slot of the cluster"
	    : NULL;
}

const char *
streams_finish_impossible(
    const struct broker_reader *core, const struct broker_finish *finish)
{
	const struct streams *streams = streams_of(core);
	const char *why = NULL;
	if (finish->mark)
		why = why_not_into(streams, core->source->dead_letters);
	if (why == NULL && puts_something(finish))
		why = why_not_into(streams, target_of(streams, finish->put));
	return why;
}

/* --- the commands --- */

static size_t
count_values(const struct broker_put *put)
{
	return put != NULL ? 2 * (put->fields.count + put->has_body) : 0;
}

static void
add_values(const struct broker_put *put, struct resp *command)
{
	for (size_t i = 0; put != NULL && i < put->fields.count; i++) {
		resp_arg(command, put->fields.list[i].name);
		resp_arg(command, put->fields.list[i].value);
	}
	if (put != NULL && put->has_body) {
		resp_arg(command, SPAN("body"));
		resp_arg(command, put->body);
	}
}

static void
write_ack(const struct streams *streams, struct span position,
    struct resp *ret_command)
{
	resp_begin(ret_command, 4);
	resp_arg(ret_command, SPAN("XACK"));
	resp_arg(ret_command, streams->key);
	resp_arg(ret_command, streams->group);
	resp_arg(ret_command, position);
}

static void
write_put(struct streams *streams, const struct broker_finish *finish,
    struct resp *ret_command)
{
	const struct broker_put *put = finish->put;
	streams_script_begin(&streams->scripts, STREAMS_SCRIPT_PUT,
	    streams->key, span_str(target_of(streams, put)),
	    4 + count_values(put), ret_command);
	resp_arg(ret_command, streams->group);
	resp_arg(ret_command, span_str(streams->core.instance));
	resp_arg(ret_command, finish->position);
	if (put->whole)
		resp_number(ret_command, 2 * (int64_t)put->n_kept);
	else
		resp_arg(ret_command, SPAN(""));
	add_values(put, ret_command);
}

static void
write_mark(struct streams *streams, const struct broker_finish *finish,
    struct resp *ret_command)
{
	const struct broker_put *put =
	    puts_something(finish) ? finish->put : NULL;
	const char *dead = streams->core.source->dead_letters;
	const char *target = put != NULL ? target_of(streams, put) : dead;
	streams_script_begin(&streams->scripts, STREAMS_SCRIPT_MARK,
	    span_str(dead), span_str(target), 3 + count_values(put),
	    ret_command);
	resp_arg(ret_command, span_str(streams->core.source->name));
	resp_arg(ret_command, span_str(streams->core.store_id));
	resp_arg(ret_command, finish->position);
	add_values(put, ret_command);
}

/* --- nothing was pending --- */

static struct streams_finishing *
of_call(struct link_call *call)
{
	return CONTAINER_OF(call, struct streams_finishing, call);
}

static void
on_missing(struct link_call *call, const redisReply *reply)
{
	struct finishing *f = &of_call(call)->finishing;
	if (reply == NULL) {
		reader_finish_fail(f, true);
		return;
	}
	if (reply->type == REDIS_REPLY_ERROR)
		streams_line_error(&streams_of(f->reader)->teller, reply);
	else if (reply->integer == 1 && f->message != NULL)
		reader_flight_lost(
		    f->reader, BROKER_DELETED, 1, SPAN(""), NULL);
	reader_finish_end(f, BROKER_NOT_PENDING);
}

static void
take_nothing(struct streams *streams, struct streams_finishing *f)
{
	const struct flight *message = f->finishing.message;
	struct resp command = {0};
	if (message == NULL || message->unsure ||
	    ((const struct streams_flight *)message)->foreign) {
		reader_finish_end(&f->finishing, BROKER_NOT_PENDING);
		return;
	}
	streams_line_script(
	    streams, STREAMS_SCRIPT_MISSING, 2, &command);
	resp_arg(&command, span_str(streams->core.instance));
	resp_arg(&command, message->position);
	f->call.done = on_missing;
	streams_line_send(&streams->teller, &f->call, &command);
	resp_clear(&command);
}

/* --- sending --- */

/* Nothing has happened. */
static void
take_error(struct streams *streams, struct finishing *f,
    const redisReply *reply)
{
	struct span words = span_of(reply->str, reply->len);
	if (streams_line_error(&streams->teller, reply) == STREAMS_LATER) {
		reader_finish_again(f, STREAMS_AGAIN_MS);
		return;
	}
	if (f->finish != NULL)
		reader_trouble_begin(
		    f->reader, STREAMS_TO_FINISH, "", words);
	reader_finish_refuse(f, words, BROKER_FAULT_PLACE);
}

static void
on_finished(struct link_call *call, const redisReply *reply)
{
	struct finishing *f = &of_call(call)->finishing;
	struct streams *streams = streams_of(f->reader);
	bool is_mark = f->finish != NULL && f->finish->mark;
	if (reply == NULL) {
		reader_finish_fail(f, false);
	} else if (reply->type == REDIS_REPLY_ERROR) {
		take_error(streams, f, reply);
	} else if (reply->type != REDIS_REPLY_INTEGER) {
		streams_line_distrust(&streams->teller);
		reader_finish_fail(f, false);
	} else if (reply->integer == 0 && !is_mark) {
		take_nothing(streams, of_call(call));
	} else if (reply->integer == 2) {
		reader_finish_end(f, BROKER_ELSEWHERE);
	} else {
		reader_trouble_end(f->reader, STREAMS_TO_FINISH, NULL);
		reader_finish_end(f, BROKER_FINISHED);
	}
}

static void
send_one(struct streams *streams, struct streams_finishing *f)
{
	const struct broker_finish *finish = f->finishing.finish;
	struct resp command = {0};
	reader_finish_send(&f->finishing);
	if (finish->mark)
		write_mark(streams, finish, &command);
	else if (puts_something(finish))
		write_put(streams, finish, &command);
	else
		write_ack(streams, finish->position, &command);
	f->call.done = on_finished;
	streams_line_send(&streams->teller, &f->call, &command);
	resp_clear(&command);
}

void
streams_finish_send_all(struct broker_reader *core)
{
	struct streams *streams = streams_of(core);
	struct finishing *f;
	if (!streams_line_is_up(&streams->teller))
		return;
	LIST_EACH(f, &core->waiting, of_reader)
		send_one(streams, (struct streams_finishing *)f);
}

/* What was sent takes as long as the connection lives. */
int64_t
streams_finish_more_ms(struct finishing *f)
{
	return link_left_ms(streams_of(f->reader)->teller.link,
	    &((struct streams_finishing *)f)->call);
}
