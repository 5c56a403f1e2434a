/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/loop/log.h"
#include "base/loop/turn.h"
#include "conf/load/conf_load.h"
#include "fuzz/fake_link.h"
#include "fuzz/fuzz.h"
#include "store/claim.h"
#include "store/outcome.h"
#include "store/journal/journal_awaited.h"
#include "store/leases.h"
#include "store/records.h"
#include "store/store.h"
#include "store/topology.h"

/*
 * Whatever Redis replies, each operation of a store ends exactly once, with an
 * error that has a name or with a verdict that Redis has given; and nothing is
 * ours, stored or renewed that a whole reply to that very script did not say.
 * The first line of the input names operations, which are all started, and how
 * the store is configured (words below).  Behind it stand replies as Redis
 * writes them, each for the next command that waits, and between them:
 *
 *   0-9  from here on replies are for the n-th connection of those that wait
 *   !    its connection breaks
 *   ~    and its server stays away
 *   @    a second passes
 *
 * What has to be answered before anything is asked (INFO, the topology, the
 * store's id, ASKING) is answered well, unless the first line has "raw".
 */
enum { ASKED_MAX = 8, RENEWALS = 2, ROUNDS = 1000 };

enum kind { CLAIM, COMPLETE, LARGE, RELEASE, UNKNOWN, RENEW, SHOW, LOOK, FREE,
	DELETE, FINISH, LIST, COUNT, KINDS };

static const struct {
	const char *word;
	enum script script;
} kinds[KINDS] = {
	[CLAIM] = {"claim", SCRIPT_claim},
	[COMPLETE] = {"complete", SCRIPT_complete},
	[LARGE] = {"large", SCRIPT_complete},
	[RELEASE] = {"release", SCRIPT_release},
	[UNKNOWN] = {"unknown", SCRIPT_mark_unknown},
	[RENEW] = {"renew", SCRIPT_renew},
	[SHOW] = {"show", SCRIPT_show},
	[LOOK] = {"look", SCRIPT_show},
	[FREE] = {"free", SCRIPT_operate},
	[DELETE] = {"delete", SCRIPT_operate},
	[FINISH] = {"finish", SCRIPT_operate},
	[LIST] = {"list", SCRIPT_list},
	[COUNT] = {"count", SCRIPT_count},
};

struct asked {
	enum kind kind;
	unsigned woken;
	struct store_op *op; /* of one of these */
	struct store_op plain;
	struct records_op look;
	struct records_list list;
	struct records_count count;
	struct renewal renewals[RENEWALS];
};

struct run {
	struct span input;
	bool cluster, functions, replicas, raw, sweeps;
	bool breaks_off; /* the store is freed while operations are pending */
	struct budget budget;
	struct loop *loop;
	struct arena *arena;
	const struct conf *conf;
	struct store_health *health;
	struct journal_awaited *awaited;
	struct store *store;
	int64_t now_ms;
	size_t which; /* link */
	struct asked asked[ASKED_MAX];
	size_t count;
	bool told[SCRIPT_COUNT_][VERDICT_COUNT_];
	bool odd[SCRIPT_COUNT_]; /* something else than a whole reply came */
};

/* --- what a whole reply is --- */

static bool
is_integer(const redisReply *reply, long long least, long long most)
{
	return reply->type == REDIS_REPLY_INTEGER && reply->integer >= least &&
	    reply->integer <= most;
}

static bool
is_text(const redisReply *reply, size_t least)
{
	return reply->type == REDIS_REPLY_STRING && reply->len >= least;
}

static bool
are_integers(const redisReply *reply, size_t from, size_t count)
{
	if (reply->elements < from + count)
		return false;
	for (size_t i = from; i < from + count; i++)
		if (!is_integer(reply->element[i], 0, INT64_MAX))
			return false;
	return true;
}

/* What comes with the verdicts that would do harm. */
static bool
is_whole(enum script script, enum verdict verdict, const redisReply *reply)
{
	if (verdict == VERDICT_OURS || verdict == VERDICT_RECONCILE)
		return script == SCRIPT_claim &&
		    reply->element[1]->integer > 0;
	if (verdict == VERDICT_COMPLETED)
		return script == SCRIPT_claim && reply->elements > 3 &&
		    is_text(reply->element[3], 100);
	if (verdict != VERDICT_DONE)
		return true;
	switch ((int)script) {
	case SCRIPT_renew:
		return reply->elements == 3 + RENEWALS &&
		    are_integers(reply, 3, RENEWALS);
	case SCRIPT_count:
		return are_integers(reply, 3, 3);
	case SCRIPT_show:
		return reply->elements > 5 && is_text(reply->element[3], 1) &&
		    is_text(reply->element[5], 100);
	case SCRIPT_operate:
		return reply->elements > 3 && is_text(reply->element[3], 1);
	default:
		return true;
	}
}

static void
note(struct run *run, const struct link *link, const redisReply *reply)
{
	enum verdict verdict;
	if (fake_link_command(link) != COMMAND_SCRIPT)
		return;
	enum script script = fake_link_call(link)->run.script;
	bool before = run->odd[script];
	run->odd[script] = before || reply->type != REDIS_REPLY_ERROR;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 3 ||
	    !is_text(reply->element[0], 1) ||
	    !is_integer(reply->element[1], 0, 999999) ||
	    !is_integer(reply->element[2], INT64_MIN, INT64_MAX) ||
	    !verdict_of(span_of(reply->element[0]->str,
			    reply->element[0]->len), &verdict))
		return;
	if (is_whole(script, verdict, reply)) {
		run->odd[script] = before;
		run->told[script][verdict] = true;
	}
}

/* --- the store's surroundings --- */

static const struct conf *
make_conf(const struct run *run)
{
	struct complaints complaints = {0};
	char *text = mem_printf("{\"listen\": [\"127.0.0.1:0\"],"
		"\"store\": {%s, \"timeout\": \"10s\", \"shards\": 3%s%s},"
		"\"upstreams\": {\"u\": \"http://127.0.0.1:9\"},"
		"\"routes\": [{\"path\": \"/*\", \"upstream\": \"u\","
		"\"idempotency\": {}}]}",
	    run->cluster ? "\"cluster\": [\"127.0.0.1:7000\"]"
			 : "\"redis\": \"redis://127.0.0.1:7000\"",
	    run->functions ? ", \"scripting\": \"function\"" : "",
	    run->replicas ? ", \"wait_replicas\": 1" : "");
	const struct conf *conf =
	    conf_load_text("fuzz", span_str(text), false, &complaints);
	must(conf != NULL);
	complaints_free(&complaints);
	free(text);
	return conf;
}

/* hiredis takes memory for as many elements as an array says that it has. */
static bool
has_huge_array(struct span text)
{
	unsigned digits = 0;
	for (size_t i = 0; i < text.len && digits < 6; i++)
		digits = text.ptr[i] == '*' ? 1
		    : digits > 0 && text.ptr[i] >= '0' && text.ptr[i] <= '9'
		    ? digits + 1 : 0;
	return digits >= 6;
}

/* A reply that is text; how much of it was read, 0: it is none. */
static size_t
read_resp(struct span text, redisReply **ret_reply)
{
	redisReader *reader = redisReaderCreate();
	void *reply = NULL;
	must(reader != NULL);
	reader->maxbuf = 0;
	bool read = redisReaderFeed(reader, text.ptr, text.len) == REDIS_OK &&
	    redisReaderGetReply(reader, &reply) == REDIS_OK && reply != NULL;
	size_t left = reader->len - reader->pos;
	*ret_reply = reply;
	redisReaderFree(reader);
	return read ? text.len - left : 0;
}

static const char *
usual_reply(const struct link *link)
{
	switch (fake_link_command(link)) {
	case COMMAND_INFO:
		return "$75\r\nredis_version:7.0.0\r\nrole:master\r\n"
		       "maxmemory:0\r\nrun_id:0000000000000000000\r\n\r\n";
	case COMMAND_CLUSTER_INFO:
		return "$16\r\ncluster_state:ok\r\n";
	case COMMAND_CLUSTER_SHARDS:
		return "*1\r\n*4\r\n$5\r\nslots\r\n*2\r\n:0\r\n:16383\r\n"
		       "$5\r\nnodes\r\n*1\r\n*6\r\n$4\r\nport\r\n:7000\r\n"
		       "$2\r\nip\r\n$9\r\n127.0.0.1\r\n"
		       "$4\r\nrole\r\n$6\r\nmaster\r\n";
	case COMMAND_ASKING:
		return "+OK\r\n";
	case COMMAND_SCRIPT:
		if (fake_link_call(link)->run.script == SCRIPT_identify)
			return "*4\r\n$4\r\nDONE\r\n:0\r\n:1700000000000\r\n"
			       "$2\r\nid\r\n";
		break;
	case COMMAND_BATCH:
	case COMMAND_OTHER:
		break;
	}
	return NULL;
}

/* Answers one command that is answered well. */
static bool
reply_as_usual(struct run *run)
{
	for (size_t n = 0; n < ASKED_MAX && !run->raw; n++) {
		struct link *link = fake_link_asked(n);
		const char *text = link != NULL ? usual_reply(link) : NULL;
		redisReply *reply;
		if (link != NULL && fake_link_command(link) == COMMAND_BATCH) {
			fake_link_reply(link, NULL);
			return true;
		}
		if (text == NULL)
			continue;
		must(read_resp(span_str(text), &reply) == strlen(text));
		fake_link_reply(link, reply);
		freeReplyObject(reply);
		return true;
	}
	return false;
}

/* All that follows without another reply. */
static void
settle(struct run *run)
{
	bool more = true;
	for (int round = 0; more && round < ROUNDS; round++) {
		more = turn_run_ready(loop_state_of(run->loop));
		more |= fake_link_connect();
		more |= reply_as_usual(run);
	}
	must(!more);
}

static void
pass_time(struct run *run, int64_t ms)
{
	run->now_ms += ms;
	timer_fire(&loop_state_of(run->loop)->timers, run->now_ms);
	settle(run);
}

/* --- operations --- */

static void
on_woken(void *owner)
{
	struct asked *asked = owner;
	asked->woken++;
}

static struct owned_claim
make_owned(const struct run *run)
{
	struct owned_claim owned = {.attempt = 1,
	    .policy = run->conf->routes[0].idempotency,
	    .provenance = SPAN("r")};
	memset(owned.key_id.bytes, 'k', sizeof owned.key_id.bytes);
	memset(owned.owner.bytes, 'o', sizeof owned.owner.bytes);
	return owned;
}

static void
claim(struct run *run, struct asked *asked, const struct owned_claim *owned)
{
	struct claim claim = {.key_id = owned->key_id, .policy = owned->policy,
	    .max_attempts = owned->policy->max_attempts,
	    .provenance = owned->provenance};
	memset(claim.owner.bytes, (int)run->count, sizeof claim.owner.bytes);
	claim_start(run->store, asked->op, &claim);
}

static void
complete(struct run *run, struct asked *asked, const struct owned_claim *owned)
{
	size_t len = asked->kind == LARGE ? STORE_LARGE_BYTES : 1;
	char *bytes = mem_zero(len);
	outcome_store(run->store, asked->op, owned,
	    &(struct owned_outcome){
		.stored = span_of(bytes, len), .status = 201});
	free(bytes);
}

static void
operate(struct run *run, struct asked *asked, const struct owned_claim *owned)
{
	const struct fields none = {NULL, 0};
	struct answer *answer = asked->kind == FINISH
	    ? answer_new(200, &none, NULL, SPAN(""))
	    : NULL;
	const struct records_order order = {
	    .act = asked->kind == FREE ? ACT_RELEASE
		: asked->kind == DELETE ? ACT_DELETE : ACT_COMPLETE,
	    .attempt = 1,
	    .fingerprint = SPAN("pppppppppppppppppppppp"),
	    .retention_ms = 1000,
	    .answer = answer};
	records_operate(run->store, &asked->look, &owned->key_id, &order);
	answer_unref(&answer);
}

static void
list(struct run *run, struct asked *asked)
{
	asked->list.arena = run->arena;
	asked->list.limit = 2;
	asked->list.wanted[STATE_UNKNOWN] = true;
	records_list(run->store, &asked->list);
}

static struct store_op *
op_of(struct asked *asked)
{
	switch ((int)asked->kind) {
	case SHOW:
	case LOOK:
	case FREE:
	case DELETE:
	case FINISH:
		return &asked->look.op;
	case LIST:
		return &asked->list.op;
	case COUNT:
		return &asked->count.op;
	default:
		return &asked->plain;
	}
}

static void
start(struct run *run, enum kind kind)
{
	struct asked *asked = &run->asked[run->count++];
	const struct owned_claim owned = make_owned(run);
	asked->kind = kind;
	asked->op = op_of(asked);
	asked->look.arena = asked->count.arena = run->arena;
	op_init(&asked->op->op, run->loop, on_woken, asked);
	if (kind == CLAIM)
		claim(run, asked, &owned);
	else if (kind == COMPLETE || kind == LARGE)
		complete(run, asked, &owned);
	else if (kind == RELEASE)
		outcome_store(run->store, asked->op, &owned,
		    &(struct owned_outcome){
			JOURNAL_RELEASE, .release = RELEASE_COUNTED});
	else if (kind == UNKNOWN)
		outcome_store(run->store, asked->op, &owned,
		    &(struct owned_outcome){
			JOURNAL_UNKNOWN, .reason = REASON_TIMEOUT});
	else if (kind == SHOW || kind == LOOK)
		records_show(run->store, &asked->look, &owned.key_id,
		    kind == SHOW ? RECORDS_WHOLE : RECORDS_HEAD);
	else if (kind == LIST)
		list(run, asked);
	else if (kind == COUNT)
		records_count(run->store, &asked->count);
	else if (kind != RENEW)
		operate(run, asked, &owned);
	else {
		for (int i = 0; i < RENEWALS; i++)
			asked->renewals[i].owned = owned;
		leases_renew(
		    run->store, asked->op, asked->renewals, RENEWALS);
	}
}

/* --- how they end --- */

static bool
has_a_name(int error)
{
	return error == E_STORE_DOWN || error == E_STORE_REFUSED ||
	    error == E_TIMEOUT || error == E_NO_MEMORY;
}

static void
check(const struct run *run, struct asked *asked)
{
	const struct store_op *op = asked->op;
	const bool *told = run->told[kinds[asked->kind].script];
	bool has_answer = op->answer != NULL;
	must(asked->woken == 1 && op->op.state == OP_DONE);
	must(list_empty(&op->calls));
	must(op->op.error == 0 || has_a_name(op->op.error) ||
	    (op->fetches && op->op.error == E_NOT_FETCHED));
	if (op->op.error == 0) {
		must(op->verdict == VERDICT_BROKEN || told[op->verdict]);
		must(asked->kind != COUNT ||
		    !run->odd[kinds[asked->kind].script]);
		must(op->verdict != VERDICT_OURS || op->attempt > 0);
		must(op->verdict != VERDICT_COMPLETED || has_answer);
	}
	must(!has_answer || op->op.error == 0);
	answer_unref(&asked->op->answer);
	if (asked->kind == LIST && op->op.error == 0)
		must(asked->list.count <= asked->list.limit);
	for (int state = 0; state < STATE_COUNT_ && asked->kind == COUNT;
	     state++)
		must(asked->count.records[state] <= 3 * (uint64_t)INT64_MAX);
}

/* --- a run --- */

static void
read_words(struct run *run, struct span line, enum kind list[], size_t *count)
{
	struct span word;
	while (span_next(&line, ' ', &word)) {
		run->cluster |= span_eq(word, SPAN("cluster"));
		run->functions |= span_eq(word, SPAN("functions"));
		run->replicas |= span_eq(word, SPAN("replicas"));
		run->raw |= span_eq(word, SPAN("raw"));
		run->sweeps |= span_eq(word, SPAN("sweeps"));
		run->breaks_off |= span_eq(word, SPAN("breaks"));
		for (enum kind kind = 0; kind < KINDS; kind++)
			if (*count < ASKED_MAX &&
			    span_eq(word, span_str(kinds[kind].word)))
				list[(*count)++] = kind;
	}
}

static void
begin(struct run *run)
{
	enum kind list[ASKED_MAX];
	size_t count = 0;
	read_words(run, fuzz_cut(&run->input, '\n'), list, &count);
	log_level = LOG_ERROR + 1;
	fake_link_begin();
	atomic_init(&run->budget.used, 0);
	atomic_init(&run->budget.limit, 1 << 20);
	run->loop = loop_new();
	run->now_ms = loop_now_ms(run->loop);
	run->arena = arena_new();
	run->conf = make_conf(run);
	run->health = store_health_new();
	run->awaited = journal_awaited_new();
	run->store = store_new(
	    run->loop, run->conf, &run->budget, run->health, NULL);
	if (run->sweeps)
		leases_sweep(run->store, run->awaited);
	for (size_t i = 0; i < count; i++)
		start(run, list[i]);
	settle(run);
}

/* The next piece of the input happens; false: there is none. */
static bool
go_on(struct run *run)
{
	struct link *link = fake_link_asked(run->which);
	redisReply *reply;
	if (run->input.len == 0)
		return false;
	size_t len = 1;
	char first = *run->input.ptr;
	if (first >= '0' && first <= '9')
		run->which = (size_t)(first - '0');
	else if (first == '@')
		pass_time(run, 1000);
	else if ((first == '!' || first == '~') && link != NULL)
		fake_link_cut(link, first == '~');
	else if (memchr("+-:$*", first, 5) != NULL && link != NULL) {
		len = has_huge_array(run->input)
		    ? 0
		    : read_resp(run->input, &reply);
		if (len == 0)
			return false;
		note(run, link, reply);
		fake_link_reply(link, reply);
		freeReplyObject(reply);
	}
	run->input = span_from(run->input, len);
	settle(run);
	return true;
}

/* No server is there any more; then time is up. */
static void
end_all(struct run *run)
{
	run->raw = true;
	fake_link_end_all();
	settle(run);
	store_hurry(run->store);
	pass_time(run, 60 * 1000);
	for (size_t i = 0; i < run->count; i++)
		must(run->asked[i].woken == 1);
}

void
fuzz_store(struct span input)
{
	struct run *run = mem_zero(sizeof *run);
	run->input = input;
	begin(run);
	while (go_on(run))
		continue;
	if (!run->breaks_off)
		end_all(run);
	store_free(&run->store);
	turn_run_ready(loop_state_of(run->loop));
	for (size_t i = 0; i < run->count; i++)
		check(run, &run->asked[i]);
	store_health_free(&run->health);
	journal_awaited_free(&run->awaited);
	conf_unref(&run->conf);
	loop_free(&run->loop);
	arena_free(&run->arena);
	must(atomic_load(&run->budget.used) == 0);
	free(run);
}
