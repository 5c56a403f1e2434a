/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/kafka/kafka_ledger_private.h"
#include "messages/broker/kafka/kafka_private.h"

enum {
	SLICE_MS = 500, /* of a call that blocks */
	PATIENCE_MS = 30000, /* for one call, with all its slices */
	STALL_MS = 3000, /* so long may it go wrong before it is told */
	QUICK_MS = 50,   /* a call that fails faster has not waited */
};

/* --- what goes wrong --- */

/* What librdkafka says of how often and how long is not for operators. */
static void
on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque)
{
	struct kafka_ledger *l = opaque;
	(void)rk;
	if (err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
		l->beats = true;
		return;
	}
	/* A call tells that by itself. */
	if (err == RD_KAFKA_RESP_ERR__FATAL)
		return;
	int len = (int)strcspn(reason, "(");
	if (len > 0 && reason[len] == '(')
		len--;
	snprintf(l->broke, sizeof l->broke, "%.*s", len, reason);
}

void
kafka_ledger_client_is_well(struct kafka_ledger *l)
{
	l->fails = false;
	l->broke[0] = '\0';
}

/* A call has failed with that; only after a while the owner hears of it. */
static void
stalls(struct kafka_ledger *l, const char *words)
{
	if (!l->fails)
		l->fails_ms = kafka_ledger_now_ms();
	l->fails = true;
	if (kafka_ledger_now_ms() - l->fails_ms >= STALL_MS)
		kafka_ledger_say(
		    l, false, l->broke[0] != '\0' ? l->broke : words);
}

/* What is behind an error that is fatal. */
static rd_kafka_resp_err_t
cause_of(const struct kafka_ledger *l, const rd_kafka_error_t *error)
{
	rd_kafka_resp_err_t code = rd_kafka_error_code(error);
	return code == RD_KAFKA_RESP_ERR__FATAL
	    ? rd_kafka_fatal_error(l->producer, NULL, 0)
	    : code;
}

/* What will not be better by waiting; name: of the topic or group. */
static void
fails(struct kafka_ledger *l, const char *name, const char *right,
    rd_kafka_resp_err_t err, const char *words)
{
	char text[KAFKA_LEDGER_WORDS];
	switch ((int)err) {
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
		snprintf(text, sizeof text, "there is no topic \"%s\": make it",
		    l->topic);
		break;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		snprintf(text, sizeof text,
		    "no right to %s the topic \"%s\": %s",
		    !strcmp(right, "Read") ? "keep its place in" : "write to",
		    l->topic, right);
		break;
	case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
		snprintf(text, sizeof text,
		    "no right to read as the group \"%s\": Read", name);
		break;
	case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
		snprintf(text, sizeof text,
		    "no right to use the transactional id \"%s\": Describe, "
		    "Write",
		    l->id);
		break;
	default:
		snprintf(text, sizeof text, "%s: %.*s", name,
		    (int)(strstr(words, " (after ") != NULL
			    ? strstr(words, " (after ") - words
			    : (ptrdiff_t)strlen(words)),
		    words);
		break;
	}
	kafka_ledger_say(l, false, text);
}

void
kafka_ledger_client_refused(
    struct kafka_ledger *l, rd_kafka_resp_err_t err, const char *words)
{
	fails(l, l->topic, "Describe, Write", err, words);
}

/* The same, of a call whose offsets, or messages, are refused. */
static void
fails_by(struct kafka_ledger *l, const rd_kafka_error_t *error)
{
	const char *words = rd_kafka_error_string(error);
	bool puts = strstr(words, "add partitions") != NULL;
	/* Offsets of a topic are for those who may read it. */
	fails(l, l->id, puts ? "Write" : "Read", cause_of(l, error), words);
}

static bool
is_fence(rd_kafka_resp_err_t code)
{
	return code == RD_KAFKA_RESP_ERR__FENCED ||
	    code == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
	    code == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
}

void
kafka_ledger_client_listen(struct kafka_ledger *l)
{
	if (l->producer != NULL)
		rd_kafka_poll(l->producer, 0);
}

/* --- calls that block --- */

/* Whether it is to be called again; else error, freed, has said what it is. */
static bool
goes_again(struct kafka_ledger *l, rd_kafka_error_t *error, int64_t began_ms,
    int64_t called_ms)
{
	int64_t now = kafka_ledger_now_ms();
	if (!rd_kafka_error_is_retriable(error) || atomic_load(&l->closed) ||
	    now - began_ms > PATIENCE_MS)
		return false;
	stalls(l, rd_kafka_error_string(error));
	if (now - called_ms < QUICK_MS)
		kafka_ledger_rest(l, QUICK_MS);
	return true;
}

static enum kafka_ledger_result
judge_error(struct kafka_ledger *l, const rd_kafka_error_t *error)
{
	if (is_fence(cause_of(l, error))) {
		l->is_fenced = true;
		return KAFKA_LEDGER_BROKEN;
	}
	if (atomic_load(&l->closed))
		return KAFKA_LEDGER_BROKEN;
	if (rd_kafka_error_is_retriable(error))
		stalls(l, rd_kafka_error_string(error));
	else if (l->refused == RD_KAFKA_RESP_ERR_NO_ERROR)
		fails_by(l, error);
	return rd_kafka_error_txn_requires_abort(error) ? KAFKA_LEDGER_ABORT
							: KAFKA_LEDGER_BROKEN;
}

enum kafka_ledger_result
kafka_ledger_client_insist(struct kafka_ledger *l,
    rd_kafka_error_t *(*call)(struct kafka_ledger *l, void *arg), void *arg)
{
	int64_t began_ms = kafka_ledger_now_ms();
	for (;;) {
		int64_t called_ms = kafka_ledger_now_ms();
		rd_kafka_error_t *error = call(l, arg);
		kafka_ledger_client_listen(l);
		if (error == NULL)
			return KAFKA_LEDGER_DONE;
		bool again = goes_again(l, error, began_ms, called_ms);
		enum kafka_ledger_result result =
		    again ? KAFKA_LEDGER_DONE : judge_error(l, error);
		rd_kafka_error_destroy(error);
		if (!again)
			return result;
	}
}

static rd_kafka_error_t *
call_init(struct kafka_ledger *l, void *arg)
{
	(void)arg;
	return rd_kafka_init_transactions(l->producer, SLICE_MS);
}

/* --- the producer --- */

void
kafka_ledger_client_drop(struct kafka_ledger *l)
{
	if (l->rkt != NULL)
		rd_kafka_topic_destroy(l->rkt);
	if (l->producer != NULL)
		rd_kafka_destroy(l->producer);
	l->rkt = NULL;
	l->producer = NULL;
}

static bool
make_producer(struct kafka_ledger *l)
{
	char words[KAFKA_LEDGER_WORDS];
	rd_kafka_conf_t *conf =
	    kafka_conf_transactions(l->broker, l->client, l->id);
	must(rd_kafka_conf_set(conf, "delivery.report.only.error", "true",
		words, sizeof words) == RD_KAFKA_CONF_OK);
	if (l->apart)
		must(rd_kafka_conf_set(conf, "batch.num.messages", "1", words,
			 sizeof words) == RD_KAFKA_CONF_OK);
	rd_kafka_conf_set_opaque(conf, l);
	rd_kafka_conf_set_error_cb(conf, on_error);
	rd_kafka_conf_set_dr_msg_cb(conf, kafka_ledger_write_failed);
	l->producer =
	    rd_kafka_new(RD_KAFKA_PRODUCER, conf, words, sizeof words);
	if (l->producer == NULL) {
		rd_kafka_conf_destroy(conf);
		kafka_ledger_say(l, false, words);
		return false;
	}
	l->rkt = rd_kafka_topic_new(l->producer, l->topic, NULL);
	must(l->rkt != NULL);
	return kafka_ledger_client_insist(l, call_init, NULL) ==
	    KAFKA_LEDGER_DONE;
}

/* --- its topic --- */

static rd_kafka_resp_err_t
ask_topic(struct kafka_ledger *l)
{
	const struct rd_kafka_metadata *all;
	rd_kafka_resp_err_t err =
	    rd_kafka_metadata(l->producer, 0, l->rkt, &all, SLICE_MS);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return err;
	err = all->topic_cnt == 1 ? all->topics[0].err
				  : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR &&
	    all->topics[0].partition_cnt == 0)
		err = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	rd_kafka_metadata_destroy(all);
	return err;
}

/* Whether that passes by itself. */
static bool
passes(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR__TIMED_OUT ||
	    err == RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE ||
	    err == RD_KAFKA_RESP_ERR__TRANSPORT ||
	    err == RD_KAFKA_RESP_ERR__WAIT_COORD ||
	    err == RD_KAFKA_RESP_ERR__WAIT_CACHE ||
	    err == RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT ||
	    err == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
	    err == RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS ||
	    err == RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE ||
	    err == RD_KAFKA_RESP_ERR_NOT_COORDINATOR ||
	    err == RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT;
}

static bool
finds_topic(struct kafka_ledger *l)
{
	rd_kafka_resp_err_t err = ask_topic(l);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return true;
	if (passes(err))
		stalls(l, rd_kafka_err2str(err));
	else
		fails(l, l->topic, "Describe, Write, Read", err,
		    rd_kafka_err2str(err));
	return false;
}

/* --- what is committed --- */

size_t
kafka_ledger_client_shards(const struct kafka_ledger *l, unsigned group)
{
	size_t rest = l->shards - group * KAFKA_LEDGER_SHARDS;
	return rest < KAFKA_LEDGER_SHARDS ? rest : KAFKA_LEDGER_SHARDS;
}

char *
kafka_ledger_client_group(const struct kafka_ledger *l, unsigned group)
{
	return group == 0 ? mem_str(span_str(l->id))
			  : mem_printf("%s.%u", l->id, group);
}

/* A coordinator that may not be asked for is waited for in vain. */
static bool
is_forbidden(rd_kafka_t *asker)
{
	rd_kafka_message_t *message = rd_kafka_consumer_poll(asker, 0);
	if (message == NULL)
		return false;
	bool forbidden =
	    message->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
	rd_kafka_message_destroy(message);
	return forbidden;
}

/* The offset of the first partition, with all that is told by it. */
static rd_kafka_resp_err_t
ask_offset(struct kafka_ledger *l, rd_kafka_t *asker,
    rd_kafka_topic_partition_list_t *list)
{
	int64_t began_ms = kafka_ledger_now_ms();
	for (;;) {
		rd_kafka_resp_err_t err =
		    rd_kafka_committed(asker, list, SLICE_MS);
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
			err = list->elems[0].err;
		if (is_forbidden(asker))
			return RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
		if (!passes(err) || atomic_load(&l->closed) ||
		    kafka_ledger_now_ms() - began_ms > PATIENCE_MS)
			return err;
		stalls(l, rd_kafka_err2str(err));
	}
}

/* Nothing is known where nothing, or nothing of ours, is committed. */
static void
take_offset(const rd_kafka_topic_partition_t *offset, size_t n,
    struct kafka_ledger_place *places, int64_t *turn)
{
	struct span text = offset->offset >= 0
	    ? span_of(offset->metadata, offset->metadata_size)
	    : SPAN("");
	int64_t told;
	if (kafka_ledger_place_read(text, &told, places, n) && told > *turn)
		*turn = told;
}

static rd_kafka_t *
make_asker(struct kafka_ledger *l, const char *group)
{
	char words[KAFKA_LEDGER_WORDS];
	rd_kafka_conf_t *conf =
	    kafka_conf_asker(l->broker, l->client, group);
	rd_kafka_conf_set_opaque(conf, l);
	rd_kafka_conf_set_error_cb(conf, on_error);
	rd_kafka_t *asker =
	    rd_kafka_new(RD_KAFKA_CONSUMER, conf, words, sizeof words);
	if (asker == NULL) {
		rd_kafka_conf_destroy(conf);
		kafka_ledger_say(l, false, words);
	} else {
		rd_kafka_poll_set_consumer(asker);
	}
	return asker;
}

/* places: of its shards; *turn: the latest, of all that were read. */
static bool
read_group(struct kafka_ledger *l, unsigned group,
    struct kafka_ledger_place *places, int64_t *turn)
{
	char *name = kafka_ledger_client_group(l, group);
	rd_kafka_t *asker = make_asker(l, name);
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, l->topic, 0);
	rd_kafka_resp_err_t err = asker != NULL
	    ? ask_offset(l, asker, list)
	    : RD_KAFKA_RESP_ERR__FAIL;
	bool good = err == RD_KAFKA_RESP_ERR_NO_ERROR;
	if (good)
		take_offset(&list->elems[0],
		    kafka_ledger_client_shards(l, group), places, turn);
	else if (asker != NULL && !passes(err))
		fails(l, name, "Read", err, rd_kafka_err2str(err));
	rd_kafka_topic_partition_list_destroy(list);
	if (asker != NULL)
		rd_kafka_destroy_flags(
		    asker, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	free(name);
	return good;
}

static bool
read_groups(struct kafka_ledger *l, struct kafka_ledger_place *places,
    int64_t *ret_turn)
{
	*ret_turn = 0;
	for (unsigned i = 0; i < l->groups; i++)
		if (!read_group(
			l, i, places + i * KAFKA_LEDGER_SHARDS, ret_turn))
			return false;
	return true;
}

/* --- what became of the last attempt --- */

static bool
stand_alike(const struct kafka_ledger *l, const struct kafka_ledger_place *a,
    const struct kafka_ledger_place *b)
{
	for (unsigned i = 0; i < l->shards; i++)
		if (a[i].known != b[i].known || a[i].ms != b[i].ms ||
		    a[i].seq != b[i].seq)
			return false;
	return true;
}

static void
open_at(struct kafka_ledger *l, const struct kafka_ledger_place *places)
{
	size_t size = l->shards * sizeof *places;
	memcpy(l->kept, places, size);
	memcpy(l->found, places, size);
	l->is_open = l->beats = true;
}

/* Another one has written where what is committed is nothing of ours. */
static void
settle_at(struct kafka_ledger *l, const struct kafka_ledger_place *places)
{
	if (!l->is_open)
		open_at(l, places);
	else if (l->batch != NULL && stand_alike(l, places, l->ahead))
		kafka_ledger_write_settled(l);
	else if (!stand_alike(l, places, l->kept))
		l->is_fenced = true;
}

bool
kafka_ledger_client_make(struct kafka_ledger *l)
{
	int64_t turn;
	struct kafka_ledger_place *places =
	    mem_zero(l->shards * sizeof *places);
	bool good = make_producer(l) && finds_topic(l) &&
	    read_groups(l, places, &turn);
	if (good && turn > l->turn)
		l->is_fenced = true;
	else if (good)
		settle_at(l, places);
	free(places);
	if (good && !l->is_fenced)
		return true;
	kafka_ledger_client_drop(l);
	return false;
}
