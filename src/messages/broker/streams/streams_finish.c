/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "base/container.h"
#include "messages/broker/streams/streams_private.h"

/*
 * Acknowledgements: where nothing is put with it, of one entry by itself, which
 * costs Redis a fifth of a script.  Else scripts, which put something in the
 * same step, and say of what was not pending whether it is lost.  That is
 * believed as long as nobody else may have finished it.
 */
enum { NOT_PENDING, ACKNOWLEDGED, ELSEWHERE, LOST }; /* as they answer */

/*
 * The command: what is to be acknowledged, or marked, and what is put with it,
 * which goes to a stream of the same slot, as the loader sees to.
 */
static void
write_finish(struct streams *streams, const struct streams_finishing *own,
    struct resp *ret_command)
{
	const struct conf_source *source = streams->core.source;
	const struct broker_finish *finish = own->finishing.finish;
	const struct broker_put *put = finish->put;
	struct span dead = span_str(source->dead_letters);
	struct span target = span_of(NULL, 0);
	if (put != NULL)
		target = put->place == BROKER_RESULTS
		    ? span_str(source->results)
		    : dead;
	size_t n_values =
	    put != NULL ? 2 * (put->fields.count + put->has_body) : 0;
	if (finish->mark) {
		streams_line_script_of(streams, STREAMS_SCRIPT_MARK, dead,
		    put != NULL ? target : dead, 3 + n_values, ret_command);
		resp_arg(ret_command, span_str(source->name));
		resp_arg(ret_command, span_str(streams->core.store_id));
		resp_arg(ret_command, finish->position);
	} else if (put == NULL && !own->asks) {
		resp_begin(ret_command, 4);
		resp_arg(ret_command, SPAN("XACK"));
		resp_arg(ret_command, streams->key);
		resp_arg(ret_command, streams->group);
		resp_arg(ret_command, finish->position);
	} else {
		streams_line_script_of(streams, STREAMS_SCRIPT_PUT,
		    streams->key, target, 4 + n_values, ret_command);
		resp_arg(ret_command, streams->group);
		resp_arg(ret_command, span_str(streams->core.instance));
		resp_arg(ret_command, finish->position);
		if (put != NULL && put->whole)
			resp_number(ret_command, 2 * (int64_t)put->n_kept);
		else
			resp_arg(ret_command, SPAN(""));
	}
	for (size_t i = 0; put != NULL && i < put->fields.count; i++) {
		resp_arg(ret_command, put->fields.list[i].name);
		resp_arg(ret_command, put->fields.list[i].value);
	}
	if (put != NULL && put->has_body) {
		resp_arg(ret_command, SPAN("body"));
		resp_arg(ret_command, put->body);
	}
}

static void
on_finished(struct link_call *call, const redisReply *reply)
{
	struct streams_finishing *own =
	    CONTAINER_OF(call, struct streams_finishing, call);
	struct finishing *f = &own->finishing;
	struct streams *streams = (struct streams *)f->reader;
	const struct flight *message = f->message;
	bool is_mark = f->finish != NULL && f->finish->mark;
	if (reply == NULL) {
		/* Once XACK has found nothing, it is known to be undone. */
		reader_finish_fail(f, own->asks);
		return;
	}
	if (reply->type == REDIS_REPLY_ERROR) {
		struct span words = span_of(reply->str, reply->len);
		/* Nothing has happened. */
		if (streams_line_passes(&streams->teller, reply)) {
			reader_finish_again(f, STREAMS_AGAIN_MS);
			return;
		}
		if (f->finish != NULL)
			reader_trouble_begin(
			    f->reader, STREAMS_TO_FINISH, "", words);
		reader_finish_refuse(f, words, BROKER_FAULT_PLACE);
		return;
	}
	if (reply->type != REDIS_REPLY_INTEGER) {
		streams_line_distrust(&streams->teller);
		reader_finish_fail(f, false);
		return;
	}
	if (reply->integer == NOT_PENDING && !own->asks && f->finish != NULL &&
	    !is_mark && f->finish->put == NULL) {
		own->asks = true;
		reader_finish_again(f, 0);
		return;
	}
	if (reply->integer == ACKNOWLEDGED || is_mark)
		reader_trouble_end(f->reader, STREAMS_TO_FINISH, NULL);
	if (reply->integer == LOST && message != NULL && !message->unsure &&
	    !((const struct streams_flight *)message)->foreign)
		reader_flight_lost(
		    f->reader, BROKER_DELETED, 1, SPAN(""), NULL);
	reader_finish_end(f,
	    reply->integer == ACKNOWLEDGED || is_mark	? BROKER_FINISHED
		: reply->integer == ELSEWHERE ? BROKER_ELSEWHERE
					      : BROKER_NOT_PENDING);
}

void
streams_finish_send_all(struct broker_reader *core)
{
	struct streams *streams = (struct streams *)core;
	struct finishing *f;
	if (!streams_line_is_up(&streams->teller))
		return;
	LIST_EACH(f, &core->waiting, of_reader) {
		struct streams_finishing *own = (struct streams_finishing *)f;
		struct resp command = {0};
		reader_finish_send(f);
		write_finish(streams, own, &command);
		own->call.done = on_finished;
		streams_line_send(&streams->teller, &own->call, &command);
		resp_clear(&command);
	}
}

/* What was sent takes as long as the connection lives. */
int64_t
streams_finish_more_ms(struct finishing *f)
{
	return link_left_ms(((struct streams *)f->reader)->teller.link,
	    &((struct streams_finishing *)f)->call);
}
