/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "messages/broker/kafka/kafka_private.h"
#include "messages/broker/kafka/kafka_scan_private.h"

/*
 * A job: partition after partition of the topics of dead letters, each from
 * where something may be unfinished up to its end, or until there is enough.
 * The message at the anchor of what is known is passed first: where another one
 * is there, the topic was made again, and all of it is new.
 */
enum {
	POLL_MS = 100,
	JOB_MS = 8000,
	RECORDS_MAX = 50000, /* of one job */
	BYTES_MAX = 16 * 1024 * 1024,
};

/* What is being read. */
struct sweep {
	rd_kafka_t *consumer;
	struct kafka_scan_job *job;
	unsigned topic;
	int32_t number;
	int64_t from; /* all from here on is looked at */
	int64_t to;   /* up to here it has been */
	size_t pending; /* anchors that were not seen yet */
};

enum sweep_end {
	SWEEP_ON,
	SWEEP_OVER,   /* it was read to its end */
	SWEEP_ENOUGH, /* the job has all that it wants now */
	SWEEP_AGAIN,  /* something that was known is wrong */
	SWEEP_FAILED,
};

static int64_t
scan_now_ms(void)
{
	return clock_us() / 1000;
}

void
kafka_scan_run_drop(struct kafka_scan_job *job, struct broker_message **from)
{
	struct broker_message *m = *from, *next;
	*from = NULL;
	job->last = from;
	for (; m != NULL; m = next) {
		next = m->next;
		broker_message_free(&m);
	}
}

/* --- one partition --- */

static struct kafka_known *
known_of(const struct sweep *sweep, struct span part)
{
	struct kafka_known *known = sweep->job->known;
	while (known != NULL &&
	    (known->topic != sweep->topic || known->number != sweep->number ||
		!span_eq(known->part, part)))
		known = known->next;
	return known;
}

/* Where there is something of what is wanted that is not finished. */
static int64_t
first_wanted(const struct sweep *sweep)
{
	const struct kafka_scan_job *job = sweep->job;
	if (job->goes_on && job->after.topic == sweep->topic &&
	    job->after.number == sweep->number)
		return job->after.offset + 1;
	if (job->position.len == 0)
		return 0;
	const struct kafka_known *known =
	    known_of(sweep, kafka_scan_part(job->position));
	if (known == NULL)
		return 0;
	int64_t anchor = known->stand.anchor.offset;
	return anchor >= 0 && anchor < known->stand.low ? anchor
							: known->stand.low;
}

/* Those whose anchor is still to come. */
static void
await_anchors(struct sweep *sweep, int64_t start)
{
	sweep->pending = 0;
	for (struct kafka_known *k = sweep->job->known; k != NULL;
	     k = k->next) {
		k->pending = !k->wrong && k->topic == sweep->topic &&
		    k->number == sweep->number &&
		    k->stand.anchor.offset >= start;
		sweep->pending += k->pending;
	}
}

static void
disprove(struct kafka_known *known)
{
	kafka_ring_forget(&known->stand);
	known->stand.low = 0;
	known->stand.anchor.offset = -1;
	known->wrong = true;
}

/* Whether any is wrong now: no message stands below that but the one given. */
static bool
pass_anchors(struct sweep *sweep, int64_t offset, uint32_t mark)
{
	bool wrong = false;
	for (struct kafka_known *k = sweep->job->known;
	     k != NULL && sweep->pending > 0; k = k->next) {
		if (!k->pending || k->stand.anchor.offset > offset)
			continue;
		k->pending = false;
		sweep->pending--;
		if (k->stand.anchor.offset == offset &&
		    k->stand.anchor.mark == mark)
			continue;
		disprove(k);
		wrong = true;
	}
	return wrong;
}

static struct span
place_text(struct kafka_scan_job *job, const struct sweep *sweep,
    int64_t offset)
{
	return arena_printf(job->arena, "%u-%" PRId32 "-%" PRId64,
	    sweep->topic, sweep->number, offset);
}

static void
note_seen(struct sweep *sweep, struct span part, int64_t offset, uint32_t mark)
{
	struct kafka_scan_job *job = sweep->job;
	struct kafka_seen *seen = arena_alloc(job->arena, sizeof *seen);
	seen->part = arena_dup(job->arena, part);
	seen->place =
	    (struct kafka_place){sweep->topic, sweep->number, offset};
	seen->mark = mark;
	*job->last_seen = seen;
	job->last_seen = &seen->next;
}

/* The last value of that header; "": none. */
static struct span
header_of(const rd_kafka_message_t *message, const char *name)
{
	rd_kafka_headers_t *headers;
	const void *value;
	size_t size;
	if (rd_kafka_message_headers(message, &headers) !=
		RD_KAFKA_RESP_ERR_NO_ERROR ||
	    rd_kafka_header_get_last(headers, name, &value, &size) !=
		RD_KAFKA_RESP_ERR_NO_ERROR ||
	    value == NULL)
		return SPAN("");
	return span_of(value, size);
}

static enum sweep_end
enough(struct sweep *sweep, struct span id)
{
	struct kafka_scan_job *job = sweep->job;
	snprintf(job->next, sizeof job->next, "%.*s", SPAN_FMT(id));
	return SWEEP_ENOUGH;
}

/* One that is wanted; one more than that says that there are more. */
static enum sweep_end
take_letter(struct sweep *sweep, const rd_kafka_message_t *message,
    struct span position)
{
	struct kafka_scan_job *job = sweep->job;
	if (job->count == job->limit)
		return SWEEP_ENOUGH;
	struct span id = place_text(job, sweep, message->offset);
	struct broker_message *m = kafka_message_letter(
	    message, id, position, job->brief, job->most_bytes);
	*job->last = m;
	job->last = &m->next;
	job->count++;
	job->bytes += m->bytes;
	snprintf(job->next, sizeof job->next, "%.*s", SPAN_FMT(id));
	return SWEEP_ON;
}

static enum sweep_end
look_at_letter(struct sweep *sweep, const rd_kafka_message_t *message,
    uint32_t mark)
{
	struct kafka_scan_job *job = sweep->job;
	struct span position = header_of(message, "onceproxy-position");
	if (!span_eq(header_of(message, "onceproxy-source"), job->source) ||
	    position.len == 0)
		return SWEEP_ON;
	struct span part = kafka_scan_part(position);
	const struct kafka_known *known = known_of(sweep, part);
	if (kafka_scan_topic_is_ours(job, part))
		note_seen(sweep, part, message->offset, mark);
	if (known != NULL &&
	    kafka_scan_is_finished(&known->stand, message->offset))
		return SWEEP_ON;
	if (job->position.len > 0 && !span_eq(position, job->position))
		return SWEEP_ON;
	return take_letter(sweep, message, position);
}

static enum sweep_end
take_record(struct sweep *sweep, const rd_kafka_message_t *message)
{
	struct kafka_scan_job *job = sweep->job;
	uint32_t mark = kafka_message_mark(message);
	if (pass_anchors(sweep, message->offset, mark))
		return SWEEP_AGAIN;
	enum sweep_end end = look_at_letter(sweep, message, mark);
	if (end != SWEEP_ON)
		return end;
	sweep->to = message->offset + 1;
	job->bytes += message->len;
	if (++job->records < RECORDS_MAX && job->bytes < BYTES_MAX)
		return SWEEP_ON;
	return enough(sweep, place_text(job, sweep, message->offset));
}

/* Behind it there may be what is not committed yet. */
static enum sweep_end
take_last(struct sweep *sweep, const rd_kafka_message_t *message)
{
	int64_t first, next;
	if (pass_anchors(sweep, INT64_MAX, 0))
		return SWEEP_AGAIN;
	if (rd_kafka_get_watermark_offsets(sweep->consumer,
		sweep->job->topics[sweep->topic].name, sweep->number, &first,
		&next) == RD_KAFKA_RESP_ERR_NO_ERROR &&
	    next > message->offset)
		sweep->job->open = true;
	if (message->offset > sweep->to)
		sweep->to = message->offset;
	return SWEEP_OVER;
}

static enum sweep_end
take_any(struct sweep *sweep, const rd_kafka_message_t *message)
{
	const char *name = sweep->job->topics[sweep->topic].name;
	if (message->rkt != NULL && message->partition != sweep->number)
		return SWEEP_ON;
	switch ((int)message->err) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		return take_record(sweep, message);
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
		return take_last(sweep, message);
	case RD_KAFKA_RESP_ERR__TRANSPORT:
	case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
	case RD_KAFKA_RESP_ERR__RESOLVE:
		return SWEEP_ON;
	default:
		kafka_scan_topic_fail(sweep->job, name, message->err);
		return SWEEP_FAILED;
	}
}

static enum sweep_end
read_on(struct sweep *sweep, int64_t start)
{
	struct kafka_scan_job *job = sweep->job;
	const char *name = job->topics[sweep->topic].name;
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, name, sweep->number)->offset =
	    start;
	rd_kafka_resp_err_t error = rd_kafka_assign(sweep->consumer, list);
	rd_kafka_topic_partition_list_destroy(list);
	enum sweep_end end = SWEEP_ON;
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
		kafka_scan_topic_fail(job, name, error);
		end = SWEEP_FAILED;
	}
	while (end == SWEEP_ON && scan_now_ms() < job->until_ms) {
		rd_kafka_message_t *message =
		    rd_kafka_consumer_poll(sweep->consumer, POLL_MS);
		if (message == NULL)
			continue;
		end = take_any(sweep, message);
		rd_kafka_message_destroy(message);
	}
	if (end != SWEEP_ON)
		return end;
	kafka_scan_topic_fail(job, name, RD_KAFKA_RESP_ERR__TIMED_OUT);
	return SWEEP_FAILED;
}

/* A log that was read so far does not end before that. */
static bool
disprove_beyond(struct sweep *sweep, int64_t next)
{
	bool wrong = false;
	for (struct kafka_known *k = sweep->job->known; k != NULL;
	     k = k->next) {
		if (k->wrong || k->topic != sweep->topic ||
		    k->number != sweep->number || k->stand.low <= next)
			continue;
		disprove(k);
		wrong = true;
	}
	return wrong;
}

/* From its first offset on, or from where something is wanted. */
static enum sweep_end
sweep_once(struct sweep *sweep)
{
	struct kafka_scan_job *job = sweep->job;
	const char *name = job->topics[sweep->topic].name;
	int64_t first, next, start = first_wanted(sweep);
	rd_kafka_resp_err_t error = rd_kafka_query_watermark_offsets(
	    sweep->consumer, name, sweep->number, &first, &next,
	    KAFKA_SCAN_ASK_MS);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
		kafka_scan_topic_fail(job, name, error);
		return SWEEP_FAILED;
	}
	sweep->from = sweep->to = start;
	if (start < first)
		start = sweep->to = first;
	await_anchors(sweep, start);
	if (start < next)
		return read_on(sweep, start);
	bool wrong = pass_anchors(sweep, INT64_MAX, 0);
	if (start > next && !job->goes_on)
		wrong |= disprove_beyond(sweep, next);
	return wrong ? SWEEP_AGAIN : SWEEP_OVER;
}

static void
note_swept(const struct sweep *sweep)
{
	struct kafka_scan_job *job = sweep->job;
	struct kafka_swept *swept = arena_alloc(job->arena, sizeof *swept);
	*swept = (struct kafka_swept){job->swept, sweep->topic, sweep->number,
	    sweep->from, sweep->to};
	job->swept = swept;
}

/* False: there is enough, or an error. */
static bool
sweep_partition(struct sweep *sweep)
{
	struct kafka_scan_job *job = sweep->job;
	struct broker_message **last = job->last;
	struct kafka_seen **last_seen = job->last_seen;
	size_t count = job->count;
	enum sweep_end end;
	while ((end = sweep_once(sweep)) == SWEEP_AGAIN) {
		kafka_scan_run_drop(job, last);
		*last_seen = NULL;
		job->last_seen = last_seen;
		job->count = count;
	}
	if (end != SWEEP_FAILED)
		note_swept(sweep);
	return end == SWEEP_OVER;
}

static bool
is_passed(const struct kafka_scan_job *job, unsigned topic, int32_t number)
{
	return job->goes_on &&
	    (topic < job->after.topic ||
		(topic == job->after.topic && number < job->after.number));
}

static void
sweep_all(rd_kafka_t *consumer, struct kafka_scan_job *job)
{
	for (unsigned t = 0; t < job->n_topics; t++)
		for (int32_t n = 0; n < job->topics[t].count; n++) {
			struct sweep sweep = {.consumer = consumer,
			    .job = job, .topic = t, .number = n};
			if (!is_passed(job, t, n) && !sweep_partition(&sweep))
				return;
		}
	job->next[0] = '\0';
}

void
kafka_scan_run(rd_kafka_t *consumer, struct kafka_scan_job *job)
{
	job->until_ms = scan_now_ms() + JOB_MS;
	if (kafka_scan_topic_look(consumer, job) && !job->look &&
	    kafka_scan_topic_learn(consumer, job))
		sweep_all(consumer, job);
	rd_kafka_assign(consumer, NULL);
	if (job->words[0] != '\0')
		kafka_scan_run_drop(job, &job->messages);
}
