/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "lib/store_bench.h"
#include "messages/shared/letter.h"

/* Letters in Redis, and what two gateways that have the source know of them. */

enum { SLOTS = 16384, IN_TIME = 60 << 20 };

static struct store *others; /* the store of another process */
static struct letters here, there;
static unsigned n_changed, n_left, n_unconfirmed;
static struct letter_name last_left, last_unconfirmed;
static enum letter_act last_act;
static struct owner one, two;

static void
on_changed(void *arg)
{
	(void)arg;
	n_changed++;
}

static void
on_left(void *arg, const struct letter_name *name, enum letter_act act)
{
	(void)arg;
	if (act == LETTER_ACKNOWLEDGE) {
		n_unconfirmed++;
		last_unconfirmed = *name;
		return;
	}
	n_left++;
	last_left = *name;
	last_act = act;
}

static const struct letters_events heard = {
    on_changed, on_left, NULL};

static void
on_record_changed(void *arg, const struct key_id *key_id)
{
	(void)arg;
	(void)key_id;
}

static bool
both_are_known(struct bench *bench)
{
	(void)bench;
	return here.n_unknown == 0 && there.n_unknown == 0;
}

static int
begin(struct bench *bench)
{
	const struct store_listener listener = {
	    on_record_changed, NULL, NULL};
	others = store_new(
	    bench->loop, bench->conf, &bench->budget, bench->health, NULL);
	store_listen(bench->store, &listener);
	store_listen(others, &listener);
	owner_new(&one);
	owner_new(&two);
	letters_start(
	    &here, bench->store, bench->loop, "orders", &heard);
	letters_start(&there, others, bench->loop, "orders", &heard);
	bench_until(bench, both_are_known);
	n_changed = n_left = n_unconfirmed = 0;
	return 0;
}

static int
set_up(void **state)
{
	*state = bench_new(NULL, NULL, "");
	return begin(*state);
}

static bool
is_ready(struct bench *bench)
{
	return store_is_up(bench->store);
}

static int
set_up_cluster(void **state)
{
	struct bench *bench = bench_new_cluster();
	redis_just(bench->redis, "CLUSTER ADDSLOTSRANGE 0 %d", SLOTS - 1);
	bench_until(bench, is_ready);
	*state = bench;
	return begin(bench);
}

static int
tear_down(void **state)
{
	struct bench *bench = *state;
	letters_stop(&here);
	letters_stop(&there);
	letters_stop(&there);
	store_free(&others);
	bench_free(&bench);
	return 0;
}

/* --- letters --- */

static struct letters_lane
lane(unsigned number)
{
	struct letters_lane made = {{0}};
	memcpy(made.bytes, &number, sizeof number);
	return made;
}

/* Of that order; 0: of none. */
static struct letter
letter(const char *position, unsigned order)
{
	const struct letters_lane of = lane(order);
	static struct field fields[] = {{SPAN("a"), SPAN("b")}};
	return (struct letter){
	    .name = letter_stored_name(
		span_str(position), order > 0 ? &of : NULL),
	    .position = span_str(position),
	    .reason = SPAN("refused"),
	    .key_id = SPAN("0123456789abcdef0123456789abcdef"),
	    .route = SPAN("charges"),
	    .detail = SPAN("a: \"b\","),
	    .label = SPAN("\xc3\xa9"),
	    .status = 409,
	    .attempt = UINT32_MAX,
	    .first_ms = 5,
	    .fields = {fields, 1},
	    .has_payload = true,
	    .payload = SPAN("{\"card\":\"4242\"}"),
	    .key = SPAN(""),
	    .type = SPAN("a\0,\n"),
	    .part = SPAN("t/3"),
	    .time_ms = -1,
	    .answer = SPAN("no")};
}

static struct letter_op op;

/* The verdict of what was just started. */
static enum verdict
verdict(struct bench *bench)
{
	assert_int_equal(bench_wait(bench, &op.op), 0);
	return op.op.verdict;
}

static void
ready(struct bench *bench)
{
	arena_free(&op.arena);
	op = (struct letter_op){.arena = arena_new()};
	bench_op(bench, &op.op);
}

/* Puts it, which is DONE. */
static void
puts_it(struct bench *bench, const char *position, unsigned order,
    bool behind, bool confirmed)
{
	const struct letter one_more = letter(position, order);
	ready(bench);
	letter_put(&here, &op, &one_more, behind,
	    letter_until_us(clock_us(), IN_TIME));
	assert_int_equal(verdict(bench), VERDICT_DONE);
	assert_int_equal(op.letter.state, LETTER_WRITTEN);
	if (!confirmed)
		return;
	ready(bench);
	letter_do(&here, &op, LETTER_CONFIRM, &one_more.name, LETTER_REPLAY,
	    NULL);
	assert_int_equal(verdict(bench), VERDICT_DONE);
	assert_int_equal(op.letter.state, LETTER_CONFIRMED);
}

static struct letter_name
name_of(const char *position, unsigned order)
{
	return letter(position, order).name;
}

static enum verdict
begins(struct bench *bench, const char *position, unsigned order,
    enum letter_act act, const struct owner *owner)
{
	const struct letter_name name = name_of(position, order);
	ready(bench);
	letter_do(&there, &op, LETTER_BEGIN, &name, act, owner);
	return verdict(bench);
}

static enum verdict
ends(struct bench *bench, const char *position, unsigned order,
    const struct owner *owner)
{
	const struct letter_name name = name_of(position, order);
	ready(bench);
	letter_do(&there, &op, LETTER_END, &name, LETTER_REPLAY, owner);
	return verdict(bench);
}

static bool
was_left(struct bench *bench)
{
	(void)bench;
	return n_left > 0;
}

static void
nothing_is_left(struct bench *bench)
{
	redisReply *keys = redis_do(bench->redis, "KEYS *:source:orders*");
	assert_int_equal(keys->elements, 0);
	freeReplyObject(keys);
}

static struct letters_lane watched;

static bool
there_has_lane(struct bench *bench)
{
	(void)bench;
	return letters_have_lane(&there, &watched);
}

static bool
here_has_no_lane(struct bench *bench)
{
	(void)bench;
	return !letters_have_lane(&here, &watched);
}

/* --- tests --- */

static void
a_letter_is_read_as_it_was_written(void **state)
{
	struct bench *bench = *state;
	puts_it(bench, "1-0", 0, false, true);
	assert_int_equal(
	    begins(bench, "1-0", 0, LETTER_REPLAY, &one), VERDICT_DONE);
	const struct letter *read = &op.letter;
	assert_true(span_eq(read->position, SPAN("1-0")));
	assert_true(span_eq(read->reason, SPAN("refused")));
	assert_true(span_eq(
	    read->key_id, SPAN("0123456789abcdef0123456789abcdef")));
	assert_true(span_eq(read->route, SPAN("charges")));
	assert_true(span_eq(read->detail, SPAN("a: \"b\",")));
	assert_true(span_eq(read->label, SPAN("\xc3\xa9")));
	assert_int_equal(read->status, 409);
	assert_true(read->attempt == UINT32_MAX);
	assert_true(read->first_ms == 5);
	assert_true(read->has_payload);
	assert_true(span_eq(read->payload, SPAN("{\"card\":\"4242\"}")));
	assert_non_null(read->key.ptr);
	assert_int_equal(read->key.len, 0);
	assert_null(read->entity.ptr);
	assert_true(span_eq(read->type, SPAN("a\0,\n")));
	assert_true(span_eq(read->part, SPAN("t/3")));
	assert_true(read->time_ms == -1);
	assert_true(span_eq(read->answer, SPAN("no")));
	assert_int_equal(read->fields.count, 1);
	assert_true(span_eq(read->fields.list[0].name, SPAN("a")));
	assert_true(span_eq(read->fields.list[0].value, SPAN("b")));
	assert_true(read->put_ms > 0);
	assert_int_equal(read->state, LETTER_CONFIRMED); /* until then */
	assert_false(op.sealed_shut);
	assert_false(read->name.in_order);
	/* Another head, and the same body. */
	struct letter head = letter("1-0", 0);
	head.reason = SPAN("exhausted");
	head.detail = SPAN("ten times");
	ready(bench);
	letter_put_back(&there, &op, &head.name, &one, &head);
	assert_int_equal(verdict(bench), VERDICT_DONE);
	ready(bench);
	letter_do(&here, &op, LETTER_SHOW, &head.name, LETTER_REPLAY, NULL);
	assert_int_equal(verdict(bench), VERDICT_DONE);
	assert_true(span_eq(read->reason, SPAN("exhausted")));
	assert_true(span_eq(read->detail, SPAN("ten times")));
	assert_true(span_eq(read->payload, SPAN("{\"card\":\"4242\"}")));
	assert_int_equal(
	    begins(bench, "1-0", 0, LETTER_DROP, &one), VERDICT_DONE);
	assert_int_equal(ends(bench, "1-0", 0, &one), VERDICT_DONE);
	assert_false(op.has_next);
	ready(bench);
	letter_do(&here, &op, LETTER_SHOW, &head.name, LETTER_REPLAY, NULL);
	assert_int_equal(verdict(bench), VERDICT_GONE);
	nothing_is_left(bench);
}

static void
a_letter_is_put_once(void **state)
{
	struct bench *bench = *state;
	const struct letter again = letter("1-0", 7);
	puts_it(bench, "1-0", 7, false, true);
	for (unsigned behind = 0; behind < 2; behind++) {
		ready(bench);
		letter_put(&here, &op, &again, behind,
		    letter_until_us(clock_us(), IN_TIME));
		assert_int_equal(verdict(bench), VERDICT_DONE);
		assert_int_equal(op.letter.state, LETTER_CONFIRMED);
		assert_false(op.letter.parked);
	}
	assert_int_equal(here.dead, 1);
	assert_int_equal(here.parked, 0);
}

static void
what_was_done_here_is_known_at_once(void **state)
{
	struct bench *bench = *state;
	watched = lane(7);
	assert_false(letters_have_lane(&here, &watched));
	assert_false(letters_may_be_written(&here, SPAN("1-0")));
	puts_it(bench, "1-0", 7, false, false);
	assert_true(letters_have_lane(&here, &watched));
	assert_true(letters_may_be_written(&here, SPAN("1-0")));
	assert_int_equal(here.dead, 1);
	puts_it(bench, "2-0", 7, true, true);
	assert_false(letters_may_be_written(&here, SPAN("2-0")));
	assert_int_equal(here.dead, 1);
	assert_int_equal(here.parked, 1);
	assert_true(n_changed > 0);
}

static void
others_hear_of_a_lane_that_is_made_and_freed(void **state)
{
	struct bench *bench = *state;
	watched = lane(7);
	puts_it(bench, "1-0", 7, false, true);
	bench_until(bench, there_has_lane);
	assert_int_equal(
	    begins(bench, "1-0", 7, LETTER_DROP, &one), VERDICT_DONE);
	assert_int_equal(ends(bench, "1-0", 7, &one), VERDICT_DONE);
	bench_until(bench, here_has_no_lane);
	const struct letter late = letter("2-0", 7);
	ready(bench);
	letter_put(&here, &op, &late, true,
	    letter_until_us(clock_us(), IN_TIME));
	assert_int_equal(verdict(bench), VERDICT_GONE);
	nothing_is_left(bench);
}

/* Whoever leads next has asked by then which letters there are. */
static void
what_comes_to_redis_too_late_is_no_letter(void **state)
{
	struct bench *bench = *state;
	const struct letter one_more = letter("1-0", 7);
	const struct letter late = letter("2-0", 8);
	puts_it(bench, "1-0", 7, false, true);
	ready(bench);
	letter_put(&here, &op, &late, false, clock_us() - 1000);
	assert_int_equal(verdict(bench), VERDICT_LATE);
	ready(bench);
	letter_do(&here, &op, LETTER_FIND, &late.name, LETTER_REPLAY, NULL);
	assert_int_equal(verdict(bench), VERDICT_GONE);
	/* One that is there stays as it is, whoever asks. */
	ready(bench);
	letter_put(&here, &op, &one_more, false, clock_us() - 1000);
	assert_int_equal(verdict(bench), VERDICT_DONE);
}

static void
a_lane_is_brought_back_by_one_owner(void **state)
{
	struct bench *bench = *state;
	puts_it(bench, "1-0", 7, false, true);
	puts_it(bench, "2-0", 7, true, true);
	assert_int_equal(
	    begins(bench, "2-0", 7, LETTER_REPLAY, &one), VERDICT_REFUSED);
	assert_int_equal(op.letter.state, LETTER_CONFIRMED);
	assert_true(op.letter.parked);
	assert_int_equal(
	    begins(bench, "1-0", 7, LETTER_REPLAY, &one), VERDICT_DONE);
	assert_int_equal(
	    begins(bench, "1-0", 7, LETTER_REPLAY, &two), VERDICT_REFUSED);
	assert_int_equal(op.letter.state, LETTER_BEGUN);
	assert_int_equal(ends(bench, "1-0", 7, &one), VERDICT_DONE);
	assert_true(op.has_next);
	assert_true(span_eq(op.letter.position, SPAN("2-0")));
	const struct letter_name next = name_of("2-0", 7);
	assert_memory_equal(op.letter.name.id, next.id, sizeof next.id);
	assert_int_equal(ends(bench, "2-0", 7, &two), VERDICT_FENCED);
	assert_false(op.has_next);
	assert_int_equal(ends(bench, "2-0", 7, &one), VERDICT_DONE);
	assert_false(op.has_next);
	assert_int_equal(ends(bench, "2-0", 7, &one), VERDICT_GONE);
}

static void
an_operators_word_reaches_who_has_the_source(void **state)
{
	struct bench *bench = *state;
	struct letters admin;
	const struct letter_name name = name_of("1-0", 7);
	letters_init(&admin, others, "orders");
	puts_it(bench, "1-0", 7, false, false);
	ready(bench);
	letter_do(&admin, &op, LETTER_ASK, &name, LETTER_REPLAY, NULL);
	assert_int_equal(verdict(bench), VERDICT_REFUSED);
	assert_int_equal(op.letter.state, LETTER_WRITTEN);
	ready(bench);
	letter_do(&here, &op, LETTER_CONFIRM, &name, LETTER_REPLAY, NULL);
	assert_int_equal(verdict(bench), VERDICT_DONE);
	ready(bench);
	letter_do(&admin, &op, LETTER_ASK, &name, LETTER_DROP, NULL);
	assert_int_equal(verdict(bench), VERDICT_DONE);
	bench_until(bench, was_left);
	assert_memory_equal(last_left.id, name.id, sizeof name.id);
	assert_memory_equal(last_left.lane, name.lane, sizeof name.lane);
	assert_true(last_left.in_order);
	assert_int_equal(last_act, LETTER_DROP);
	letters_stop(&admin);
}

static void
what_was_left_and_what_is_unconfirmed_is_told_of(void **state)
{
	struct bench *bench = *state;
	const struct letter_name name = name_of("1-0", 0);
	puts_it(bench, "1-0", 0, false, true);
	assert_int_equal(
	    begins(bench, "1-0", 0, LETTER_REPLAY, &one), VERDICT_DONE);
	letters_load(&here);
	bench_until(bench, both_are_known);
	assert_int_equal(n_left, 0);
	redis_just(bench->redis, "EVAL %s 0",
	    "local k = redis.call('KEYS', '*:begun:source:orders')[1]\n"
	    "redis.call('ZADD', k, 5, redis.call('ZRANGE', k, 0, 0)[1])");
	letters_load(&here);
	bench_until(bench, was_left);
	assert_memory_equal(last_left.id, name.id, sizeof name.id);
	assert_false(last_left.in_order);
	assert_int_equal(last_act, LETTER_REPLAY);
	bench_until(bench, both_are_known);
	puts_it(bench, "2-0", 0, false, false);
	letters_load(&here);
	assert_true(letters_may_be_written(&here, SPAN("3-0")));
	bench_until(bench, both_are_known);
	assert_int_equal(n_unconfirmed, 0);
	assert_true(letters_may_be_written(&here, SPAN("2-0")));
	assert_false(letters_may_be_written(&here, SPAN("3-0")));
	redis_just(bench->redis, "EVAL %s 0",
	    "local l = redis.call('KEYS', '*:written:source:orders')[1]\n"
	    "local id = redis.call('ZRANGE', l, 0, 0)[1]\n"
	    "local k = redis.call('KEYS', '*:letter:source:orders:' .. id)\n"
	    "redis.call('HSET', k[1], 'put', 5)");
	letters_load(&here);
	bench_until(bench, both_are_known);
	assert_int_equal(n_unconfirmed, 1);
	const struct letter_name second = name_of("2-0", 0);
	assert_memory_equal(
	    last_unconfirmed.id, second.id, sizeof second.id);
}

static bool
there_is_trouble(struct bench *bench)
{
	(void)bench;
	return *here.shared.trouble != '\0';
}

static void
nothing_is_known_where_redis_cannot_say(void **state)
{
	struct bench *bench = *state;
	assert_string_equal(here.shared.trouble, "");
	puts_it(bench, "1-0", 7, false, true);
	redis_just(bench->redis, "EVAL %s 0",
	    "local k = redis.call('KEYS', '*:letters:source:orders')[1]\n"
	    "redis.call('SET', k, 'x')");
	letters_load(&here);
	bench_until(bench, there_is_trouble);
	assert_true(here.n_unknown > 0);
	assert_non_null(strstr(here.shared.trouble, "WRONGTYPE"));
}

/* By when they were put, and of one millisecond by their ids. */
static bool
comes_after(const struct letter *letter, const struct letter *before)
{
	if (letter->put_ms != before->put_ms)
		return letter->put_ms > before->put_ms;
	return memcmp(letter->name.id, before->name.id, DIGEST_BYTES) > 0;
}

/* Of one order, and of others in other shards: each once. */
static void
a_list_is_of_all_shards(void **state)
{
	struct bench *bench = *state;
	char position[16];
	struct letters_list list = {.limit = 3, .dead = true, .parked = true};
	struct letter last = {.put_ms = 0};
	unsigned seen = 0;
	for (unsigned i = 0; i < 8; i++) {
		snprintf(position, sizeof position, "%u-0", i);
		puts_it(bench, position, i < 4 ? 0 : 7, i > 4, true);
		/* Of one millisecond, shards have no order. */
		for (int64_t ms = clock_wall_ms(); clock_wall_ms() <= ms;)
			continue;
	}
	do {
		list.arena = arena_new();
		bench_op(bench, &list.op);
		letters_list(&here, &list);
		assert_int_equal(bench_wait(bench, &list.op), 0);
		for (size_t i = 0; i < list.count; i++) {
			const struct letter *letter = &list.letters[i];
			unsigned number =
			    (unsigned)(letter->position.ptr[0] - '0');
			assert_true(comes_after(letter, &last));
			assert_int_equal(letter->parked, number > 4);
			assert_int_equal(seen & 1u << number, 0);
			seen |= 1u << number;
			last = *letter;
		}
		snprintf(list.after, sizeof list.after, "%s", list.next);
		assert_true(list.next[0] == '\0' ||
		    letters_list_is_next(span_str(list.next)));
		arena_free(&list.arena);
	} while (list.next[0] != '\0');
	assert_int_equal(seen, 0xff);
	assert_false(letters_list_is_next(SPAN("1700000000000")));
	list.dead = false;
	list.after[0] = '\0';
	list.arena = arena_new();
	bench_op(bench, &list.op);
	letters_list(&here, &list);
	assert_int_equal(bench_wait(bench, &list.op), 0);
	assert_int_equal(list.count, 3);
	assert_string_equal(list.next, "");
	arena_free(&list.arena);
}

static void
a_letter_is_sought_by_its_position_alone(void **state)
{
	struct bench *bench = *state;
	puts_it(bench, "1-0", 7, false, true);
	puts_it(bench, "2-0", 0, false, true);
	ready(bench);
	letter_seek(&there, &op, SPAN("1-0"));
	assert_int_equal(verdict(bench), VERDICT_DONE);
	assert_true(span_eq(op.letter.position, SPAN("1-0")));
	assert_true(op.letter.name.in_order);
	assert_true(span_eq(op.letter.payload, SPAN("{\"card\":\"4242\"}")));
	ready(bench);
	letter_seek(&there, &op, SPAN("2-0"));
	assert_int_equal(verdict(bench), VERDICT_DONE);
	assert_true(span_eq(op.letter.position, SPAN("2-0")));
	assert_false(op.letter.name.in_order);
	ready(bench);
	letter_seek(&there, &op, SPAN("3-0"));
	assert_int_equal(verdict(bench), VERDICT_GONE);
	/* What cannot be read may be one. */
	redis_just(bench->redis, "EVAL %s 0",
	    "for _, k in ipairs(redis.call('KEYS', '*:letter:*')) do\n"
	    "redis.call('SET', k, 'x') end");
	ready(bench);
	letter_seek(&there, &op, SPAN("2-0"));
	assert_int_equal(bench_wait(bench, &op.op), E_STORE_REFUSED);
}

static void
a_lane_and_its_letters_share_one_slot(void **state)
{
	struct bench *bench = *state;
	for (unsigned order = 0; order < 20; order++) {
		char first[16], second[16];
		snprintf(first, sizeof first, "%u-1", order);
		snprintf(second, sizeof second, "%u-2", order);
		puts_it(bench, first, order, false, true);
		puts_it(bench, second, order, order > 0, true);
	}
	assert_int_equal(here.dead, 21);
	assert_int_equal(here.parked, 19);
	/* A cluster would have refused them elsewhere. */
	assert_int_equal(ends(bench, "1-1", 1, &one), VERDICT_FENCED);
	assert_int_equal(
	    begins(bench, "1-1", 1, LETTER_REPLAY, &one), VERDICT_DONE);
	assert_int_equal(ends(bench, "1-1", 1, &one), VERDICT_DONE);
	assert_true(span_eq(op.letter.position, SPAN("1-2")));
}

/* --- sealed --- */

static char first_id[] = "2026", other_id[] = "2027";
static uint8_t first_bytes[] = "01234567890123456789012345678901",
	       other_bytes[] = "01234567890123456789012345678902";
static struct conf_encryption_key first_key = {first_id, first_bytes};
static struct conf_encryption_key other_key = {other_id, other_bytes};

static void
use_key(struct bench *bench, struct conf_encryption_key *key)
{
	struct conf *all = (struct conf *)(uintptr_t)bench->conf;
	struct conf_store *conf = &all->store;
	conf->encryption_keys = key;
	conf->n_encryption_keys = key != NULL;
}

static bool
redis_has(struct bench *bench, const char *text)
{
	redisReply *reply = redis_do(bench->redis, "EVAL %s 0 %s",
	    "for _, k in ipairs(redis.call('KEYS', '*:letter:*')) do\n"
	    "for _, v in ipairs(redis.call('HGETALL', k)) do\n"
	    "if string.find(v, ARGV[1], 1, true) then return 1 end\n"
	    "end end return 0", text);
	bool has = reply->integer == 1;
	freeReplyObject(reply);
	return has;
}

static void
what_is_sealed_opens_with_its_key_and_as_itself_alone(void **state)
{
	struct bench *bench = *state;
	const struct letter_name first = name_of("1-0", 0);
	use_key(bench, &first_key);
	puts_it(bench, "1-0", 0, false, true);
	puts_it(bench, "2-0", 0, false, true);
	assert_false(redis_has(bench, "4242"));
	assert_false(redis_has(bench, "1-0"));
	assert_true(redis_has(bench, "refused"));
	ready(bench);
	letter_do(&here, &op, LETTER_SHOW, &first, LETTER_REPLAY, NULL);
	assert_int_equal(verdict(bench), VERDICT_DONE);
	assert_false(op.sealed_shut);
	assert_true(span_eq(op.letter.payload, SPAN("{\"card\":\"4242\"}")));
	use_key(bench, &other_key);
	ready(bench);
	letter_do(&here, &op, LETTER_SHOW, &first, LETTER_REPLAY, NULL);
	assert_int_equal(verdict(bench), VERDICT_DONE);
	assert_true(op.sealed_shut);
	assert_int_equal(op.letter.position.len, 0);
	assert_true(span_eq(op.letter.reason, SPAN("refused")));
	use_key(bench, &first_key);
	/* The one's head and body in the other one's place. */
	redis_just(bench->redis, "EVAL %s 0",
	    "local k = redis.call('KEYS', '*:letter:*')\n"
	    "for _, f in ipairs({'head', 'body'}) do\n"
	    "local a = redis.call('HGET', k[1], f)\n"
	    "redis.call('HSET', k[1], f, redis.call('HGET', k[2], f))\n"
	    "redis.call('HSET', k[2], f, a) end");
	ready(bench);
	letter_do(&here, &op, LETTER_SHOW, &first, LETTER_REPLAY, NULL);
	assert_int_equal(verdict(bench), VERDICT_DONE);
	assert_true(op.sealed_shut);
	use_key(bench, NULL);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(a_letter_is_read_as_it_was_written),
	    TEST(a_letter_is_put_once),
	    TEST(what_was_done_here_is_known_at_once),
	    TEST(others_hear_of_a_lane_that_is_made_and_freed),
	    TEST(what_comes_to_redis_too_late_is_no_letter),
	    TEST(a_lane_is_brought_back_by_one_owner),
	    TEST(an_operators_word_reaches_who_has_the_source),
	    TEST(what_was_left_and_what_is_unconfirmed_is_told_of),
	    TEST(nothing_is_known_where_redis_cannot_say),
	    TEST(a_list_is_of_all_shards),
	    TEST(a_letter_is_sought_by_its_position_alone),
	    TEST(a_lane_and_its_letters_share_one_slot),
	    {"the same in a cluster", a_lane_and_its_letters_share_one_slot,
		set_up_cluster, tear_down, NULL},
	    TEST(what_is_sealed_opens_with_its_key_and_as_itself_alone),
	};
	int failed = cmocka_run_group_tests_name("letters", tests, NULL, NULL);
	arena_free(&op.arena);
	return failed;
}
