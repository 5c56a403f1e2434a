/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/broker/streams.h"
#include "messages/broker/streams_private.h"

static struct streams *
of_reader(const struct broker_reader *reader)
{
	return (struct streams *)(uintptr_t)reader;
}

/* --- what the owner hears --- */

void
streams_kick(struct streams *streams)
{
	task_ready(streams->loop, &streams->work);
}

void
streams_changed(struct streams *streams)
{
	streams->changed = true;
	streams_kick(streams);
}

void
streams_refused(struct streams *streams, enum streams_trouble what,
    const redisReply *error)
{
	char text[STREAMS_WORDS_BYTES] = "";
	char *before = streams->trouble[what];
	if (error != NULL && error->type == REDIS_REPLY_ERROR)
		snprintf(text, sizeof text, "%s", error->str);
	if (streams->leaving || strcmp(text, before) == 0)
		return;
	memcpy(before, text, sizeof text);
	streams_changed(streams);
	if (text[0] == '\0')
		return;
	struct logline line = log_begin(EV_source_refused);
	log_str(&line, "source", streams->source->name);
	log_str(&line, "error", text);
	log_end(&line);
}

static const char *const losses[BROKER_LOSS_COUNT_] = {
    [BROKER_TRIMMED_UNREAD] = "trimmed-unread",
    [BROKER_TRIMMED_PENDING] = "trimmed-pending",
    [BROKER_DELETED] = "deleted",
};

void
streams_lost(struct streams *streams, enum broker_loss how, uint64_t count,
    const struct streams_id *id)
{
	char text[STREAMS_ID_MAX];
	struct span position = SPAN("");
	if (id != NULL)
		position = span_of(text, streams_hand_put_id(*id, text));
	struct logline line = log_begin(EV_source_lost);
	log_str(&line, "source", streams->source->name);
	log_str(&line, "how", losses[how]);
	log_int(&line, "count", (int64_t)count);
	if (id != NULL)
		log_span(&line, "position", position);
	log_end(&line);
	if (!streams->leaving)
		streams->events.lost(
		    streams->events.arg, how, count, position);
}

unsigned
streams_room(const struct streams *streams)
{
	size_t queued = streams->hand.queued;
	return streams->credit > queued
	    ? streams->credit - (unsigned)queued
	    : 0;
}

static void
hand_over(struct streams *streams)
{
	const struct broker_events *events = &streams->events;
	struct streams_hand *hand = &streams->hand;
	while (!streams->leaving && streams->credit > 0 &&
	    hand->queue != NULL &&
	    streams_take_is_first(
		streams, streams_hand_id_of(hand->queue))) {
		streams->credit--;
		events->took(events->arg, streams_hand_shift(hand));
	}
}

static bool
is_ready(const struct streams *streams)
{
	return streams_line_is_up(&streams->taker) &&
	    streams_line_is_up(&streams->teller) &&
	    streams->standing >= STREAMS_OWN &&
	    streams->trouble[STREAMS_TO_TAKE][0] == '\0';
}

static void
on_work(void *arg)
{
	struct streams *streams = arg;
	hand_over(streams);
	if (!streams->leaving)
		streams_take_go(streams);
	if (!streams->leaving && streams->changed) {
		streams->changed = false;
		streams->events.changed(streams->events.arg);
	}
}

/* --- the line by which all is told --- */

static void
on_teller_up(struct streams *streams)
{
	streams_finish_flush(streams);
}

static void
on_teller_down(struct streams *streams)
{
	streams_finish_down(streams);
}

/* --- what the owner says --- */

static struct broker_reader *
open_reader(const struct broker_start *start)
{
	struct streams *streams = mem_zero(sizeof *streams);
	streams->reader.client = &streams_client;
	streams->age = 1;
	streams->loop = start->loop;
	streams->conf = conf_ref(start->conf);
	streams->source = start->source;
	streams->redis = &start->source->broker->redis;
	streams->key = span_str(start->source->stream);
	streams->group = span_str(start->source->group);
	streams->instance = mem_text(start->instance);
	streams->lease_ms = start->lease_ms;
	streams->most_bytes = start->most_bytes;
	streams->sole = start->sole;
	streams->events = *start->events;
	task_init(&streams->work, on_work, streams);
	streams_hand_init(&streams->hand);
	streams_take_init(streams);
	streams_finish_init(streams);
	streams_beat_init(streams);
	streams_look_init(streams);
	streams->teller.up = on_teller_up;
	streams->teller.down = on_teller_down;
	streams_line_open(streams);
	return &streams->reader;
}

static void
close_reader(struct broker_reader *reader)
{
	streams_leave_begin(of_reader(reader));
}

static void
set_credit(struct broker_reader *reader, unsigned credit)
{
	struct streams *streams = of_reader(reader);
	streams->credit = credit;
	streams_kick(streams);
}

static void
finish_message(struct broker_reader *reader, struct broker_finish *finish)
{
	streams_finish_start(of_reader(reader), finish);
}

static void
read_again(struct broker_reader *reader, struct broker_again *again)
{
	streams_again_start(of_reader(reader), again);
}

static void
ask_letters(struct broker_reader *reader, struct broker_letters *letters)
{
	streams_letters_start(of_reader(reader), letters);
}

static void
give_one_back(
    struct broker_reader *reader, const struct broker_message *message)
{
	struct streams *streams = of_reader(reader);
	struct streams_id id = streams_hand_id_of(message);
	struct streams_held *held = streams_hand_find(&streams->hand, id);
	if (held == NULL)
		return;
	if (!held->foreign)
		streams_beat_return(streams, id);
	streams_hand_remove(&streams->hand, &held);
	streams_look_returned(streams, id);
	streams_before_returned(streams, id);
}

static const char *
health_message(const struct streams *streams)
{
	if (!streams_line_is_up(&streams->teller))
		return link_message(streams->teller.link);
	if (!streams_line_is_up(&streams->taker))
		return link_message(streams->taker.link);
	for (int i = 0; i < STREAMS_TO_COUNT_; i++)
		if (streams->trouble[i][0] != '\0')
			return streams->trouble[i];
	return "";
}

static struct broker_health
reader_health(const struct broker_reader *reader)
{
	const struct streams *streams = of_reader(reader);
	return (struct broker_health){.up = is_ready(streams),
	    .message = health_message(streams),
	    .lag = streams->lag};
}

const struct broker_client streams_client = {
    .open = open_reader,
    .close = close_reader,
    .credit = set_credit,
    .finish = finish_message,
    .read_again = read_again,
    .letters = ask_letters,
    .give_back = give_one_back,
    .health = reader_health,
};
