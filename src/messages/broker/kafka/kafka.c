/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/kafka/kafka.h"
#include "messages/broker/kafka/kafka_private.h"

enum {
	SECOND_MS = 1000,
	SOON_MS = 20,      /* until one that leaves is looked at */
	EVENTS_MAX = 1000, /* of one turn */
	FENCED_AGAIN_MS = 600000,
};

static struct kafka *
kafka_behind(struct broker_reader *reader)
{
	return (struct kafka *)(void *)reader;
}

/* --- what the owner is told --- */

void
kafka_kick(struct kafka *kafka)
{
	task_ready(kafka->loop, &kafka->work);
}

void
kafka_changed(struct kafka *kafka)
{
	kafka->changed = true;
	kafka_kick(kafka);
}

static struct logline
log_of(const struct kafka *kafka, enum event event)
{
	struct logline line = log_begin(event);
	log_str(&line, "source", kafka->source->name);
	log_str(&line, "broker", kafka->source->broker->name);
	return line;
}

void
kafka_is_up(struct kafka *kafka)
{
	if (kafka->up || kafka->leaving)
		return;
	kafka->up = true;
	kafka->wait_s = KAFKA_REMAKE_FIRST_S;
	kafka->message[0] = '\0';
	/* It may have lost the end of a log, and have written on since. */
	kafka->again |= kafka->assigned;
	kafka_trouble_back(kafka);
	struct logline line = log_of(kafka, EV_source_broker_up);
	log_end(&line);
	kafka_changed(kafka);
}

/* The same trouble again is not said again. */
static bool
is_news(struct kafka *kafka, const char *words)
{
	char text[KAFKA_WORDS_BYTES];
	snprintf(text, sizeof text, "%s", words);
	if (kafka->leaving || !strcmp(text, kafka->message))
		return false;
	memcpy(kafka->message, text, sizeof text);
	kafka_changed(kafka);
	return true;
}

void
kafka_is_down(struct kafka *kafka, const char *why)
{
	bool was_up = kafka->up;
	kafka->up = false;
	/* What is in a transaction goes on, and nobody waits for it. */
	if (was_up)
		kafka_put_drop(kafka, E_BROKER_DOWN);
	if (!is_news(kafka, why) && !was_up)
		return;
	struct logline line = log_of(kafka, EV_source_broker_down);
	log_str(&line, "error", why);
	log_end(&line);
	kafka_changed(kafka);
}

void
kafka_remake(struct kafka *kafka, const char *why)
{
	kafka_is_down(kafka, why);
	kafka->remake = true;
	kafka_kick(kafka);
}

void
kafka_lost(struct kafka *kafka, const struct kafka_part *part, uint64_t count)
{
	struct logline line = log_begin(EV_source_lost);
	log_str(&line, "source", kafka->source->name);
	log_str(&line, "how", "trimmed-unread");
	log_int(&line, "count", (int64_t)count);
	log_str(&line, "partition", part->name);
	log_end(&line);
	kafka->events.lost(
	    kafka->events.arg, BROKER_TRIMMED_UNREAD, count, SPAN(""));
}

/* --- events --- */

/*
 * Fenced: another member has come under our name.  That may have been this one
 * itself, whose commit was told late, under an id that it had before it lost
 * its session: so it comes back once.  The second time it is another gateway of
 * this instance, and that one keeps the name: else they would throw each other
 * out for ever.
 */
static void
on_name_lost(struct kafka *kafka)
{
	int64_t before_ms = kafka->fenced_ms, now = loop_now_ms(kafka->loop);
	kafka->fenced_ms = now;
	kafka->remake = true;
	kafka_kick(kafka);
	if (before_ms == 0 || now - before_ms > FENCED_AGAIN_MS)
		return;
	kafka->nameless = true;
	struct logline line = log_of(kafka, EV_source_name_taken);
	log_str(&line, "instance", kafka->instance);
	log_end(&line);
}

/* True: the consumer is of no use any more. */
static bool
is_fatal(struct kafka *kafka)
{
	char words[KAFKA_WORDS_BYTES];
	rd_kafka_resp_err_t error =
	    rd_kafka_fatal_error(kafka->consumer, words, sizeof words);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		return false;
	if (kafka->remake || kafka->leaving)
		return true;
	if (error == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID)
		on_name_lost(kafka);
	else
		kafka_remake(kafka, words);
	return true;
}

static void
on_error(struct kafka *kafka, rd_kafka_event_t *event)
{
	rd_kafka_resp_err_t error = rd_kafka_event_error(event);
	const char *words = rd_kafka_event_error_string(event);
	if (is_fatal(kafka))
		return;
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
		kafka_trouble_away(kafka);
		break;
	case RD_KAFKA_RESP_ERR__AUTHENTICATION:
	case RD_KAFKA_RESP_ERR__SSL:
		kafka_trouble_broke(kafka, true, words);
		break;
	case RD_KAFKA_RESP_ERR__TRANSPORT:
	case RD_KAFKA_RESP_ERR__RESOLVE:
	case RD_KAFKA_RESP_ERR__TIMED_OUT:
		/* It goes on by itself, elsewhere or again. */
		kafka_trouble_broke(kafka, false, words);
		break;
	case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED:
		break;
	default:
		if (!kafka_group_error(kafka, error))
			kafka_trouble_begin(
			    kafka, KAFKA_OF_ELSE, words, words);
		break;
	}
}

static void
on_log(struct kafka *kafka, rd_kafka_event_t *event)
{
	const char *fac, *words;
	int level;
	if (!log_wants(EV_source_library) ||
	    rd_kafka_event_log(event, &fac, &words, &level) != 0)
		return;
	struct logline line = log_begin(EV_source_library);
	log_str(&line, "source", kafka->source->name);
	log_str(&line, "message", words);
	log_end(&line);
}

static void
on_event(struct kafka *kafka, rd_kafka_event_t *event)
{
	switch (rd_kafka_event_type(event)) {
	case RD_KAFKA_EVENT_REBALANCE:
		kafka_group_rebalance(kafka, event);
		break;
	case RD_KAFKA_EVENT_OFFSET_COMMIT:
		kafka_commit_answered(kafka, event);
		break;
	case RD_KAFKA_EVENT_ERROR:
		on_error(kafka, event);
		break;
	case RD_KAFKA_EVENT_LOG:
		on_log(kafka, event);
		break;
	default:
		break;
	}
}

/* True: there may be more. */
static bool
read_events(struct kafka *kafka)
{
	rd_kafka_event_t *event;
	for (int i = 0; i < EVENTS_MAX; i++) {
		if (kafka->queue == NULL)
			return false;
		event = rd_kafka_queue_poll(kafka->queue, 0);
		if (event == NULL)
			return false;
		on_event(kafka, event);
		rd_kafka_event_destroy(event);
	}
	return true;
}

/* --- its work --- */

static void
count_lag(struct kafka *kafka)
{
	int64_t lag = kafka->assigned ? 0 : -1;
	for (struct kafka_part *part = kafka->parts; part != NULL && lag >= 0;
	     part = part->next) {
		int64_t from, to;
		kafka_part_ends(part, &from, &to);
		if (part->end > to)
			to = part->end;
		if (part->step != KAFKA_READING || to < 0 ||
		    part->ring.next < 0)
			lag = -1;
		else if (to > part->ring.next)
			lag += to - part->ring.next;
	}
	if (lag != kafka->lag)
		kafka_changed(kafka);
	kafka->lag = lag;
}

static void
tell_change(struct kafka *kafka)
{
	if (!kafka->changed || kafka->leaving)
		return;
	kafka->changed = false;
	kafka->events.changed(kafka->events.arg);
}

static void
on_due(void *arg)
{
	struct kafka *kafka = arg;
	if (kafka->queue != NULL && read_events(kafka))
		kafka_kick(kafka);
	if (kafka->leaving) {
		kafka_leave_go_on(kafka);
		return;
	}
	kafka_still_go_on(kafka);
	if (kafka->consumer != NULL && kafka->remake)
		kafka_make_again(kafka);
	if (kafka->consumer != NULL) {
		kafka_group_go_on(kafka);
		kafka_topics_look(kafka);
		if (kafka_take_all(kafka))
			kafka_kick(kafka);
		kafka_put_go_on(kafka);
		if (kafka->tells)
			kafka_commit_go_on(kafka);
	}
	tell_change(kafka);
}

/* Whatever was told, all is looked at. */
static void
on_second(void *arg)
{
	struct kafka *kafka = arg;
	timer_set(&kafka->second, kafka->leaving ? SOON_MS : SECOND_MS);
	if (kafka->leaving) {
		kafka_kick(kafka);
		return;
	}
	if (kafka->consumer == NULL && !kafka_make(kafka))
		return;
	kafka_take_again(kafka);
	if (!kafka->up)
		kafka_group_ping(kafka);
	count_lag(kafka);
	kafka_still_look(kafka);
	kafka_letters_page_look(kafka);
	kafka_trouble_look(kafka);
	kafka_commit_go_on(kafka);
	kafka_kick(kafka);
}

/* --- the client --- */

static struct broker_reader *
reader_open(const struct broker_start *start)
{
	struct kafka *kafka = mem_zero(sizeof *kafka);
	kafka->reader.client = &kafka_client;
	kafka->loop = start->loop;
	kafka->conf = start->conf != NULL ? conf_ref(start->conf) : NULL;
	kafka->source = start->source;
	kafka->instance = mem_text(start->instance);
	kafka->events = *start->events;
	kafka->most_bytes = start->most_bytes;
	kafka->lag = -1;
	kafka->wait_s = KAFKA_REMAKE_FIRST_S;
	task_init(&kafka->work, on_due, kafka);
	timer_init(&kafka->second, kafka->loop, on_second, kafka);
	timer_set(&kafka->second, SECOND_MS);
	kafka_put_init(kafka);
	kafka_letters_init(kafka);
	kafka_topics_init(kafka);
	kafka_still_init(kafka);
	kafka_make(kafka);
	kafka_kick(kafka);
	return &kafka->reader;
}

static void
reader_close(struct broker_reader *base)
{
	kafka_leave_begin(kafka_behind(base));
}

static void
reader_credit(struct broker_reader *base, unsigned credit)
{
	kafka_behind(base)->credit = credit;
	kafka_kick(kafka_behind(base));
}

static void
reader_finish(struct broker_reader *base, struct broker_finish *finish)
{
	struct kafka *kafka = kafka_behind(base);
	if (kafka->up) {
		kafka_put_finish(kafka, finish);
		return;
	}
	op_start(&finish->op, 0, NULL);
	op_done(&finish->op, E_BROKER_DOWN);
}

static void
reader_letters(struct broker_reader *base, struct broker_letters *letters)
{
	kafka_letters_page(kafka_behind(base), letters);
}

/* It comes again: all is read anew, from what is committed. */
static void
reader_give_back(
    struct broker_reader *base, const struct broker_message *message)
{
	struct kafka *kafka = kafka_behind(base);
	if (kafka_group_part(kafka, message->token) == NULL)
		return;
	kafka->again = true;
	kafka_kick(kafka);
}

static void
reader_floor(struct broker_reader *base, const char *name, struct span floor,
    bool lowered)
{
	struct kafka *kafka = kafka_behind(base);
	for (struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next)
		if (!strcmp(part->name, name) && !part->has_floor)
			kafka_part_set_floor(part, floor, lowered);
		else if (!strcmp(part->shelved.name, name) &&
		    !part->has_letters)
			kafka_letters_floor_set(part, floor);
	kafka_kick(kafka);
}

static struct broker_health
health_of_reader(const struct broker_reader *base)
{
	const struct kafka *kafka = (const struct kafka *)(const void *)base;
	return (struct broker_health){.up = kafka->up,
	    .stands = kafka_trouble_stands(kafka),
	    .parts_standing = kafka_trouble_parts(kafka),
	    .message = kafka->up ? kafka_trouble_words(kafka)
				 : kafka->message,
	    .lag = kafka->up ? kafka->lag : -1,
	    .rebalances = kafka->rebalances};
}

static void
reader_tell(struct broker_reader *base)
{
	kafka_behind(base)->tells = true;
	kafka_kick(kafka_behind(base));
}

static bool
reader_is_told(const struct broker_reader *base)
{
	const struct kafka *kafka = (const struct kafka *)(const void *)base;
	return !kafka->up || kafka_commit_is_over(kafka);
}

const struct broker_client kafka_client = {
    .open = reader_open,
    .close = reader_close,
    .credit = reader_credit,
    .finish = reader_finish,
    .letters = reader_letters,
    .give_back = reader_give_back,
    .health = health_of_reader,
    .floor = reader_floor,
    .tell = reader_tell,
    .is_told = reader_is_told,
};
