/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/redis/slots.h"

/* What a Redis Cluster says of itself, read from any bytes. */

static char asked_host[] = "asked";
static const struct redis_address asked = {asked_host, 7};

/* --- replies out of a notation --- */

/* (a b) is an array, 12 an integer, ~ nil, !a an error, -a an empty a. */
static void
put(FILE *out, const char **at)
{
	while (**at == ' ')
		++*at;
	if (**at == '(') {
		char *list = NULL;
		size_t len, count = 0;
		FILE *inner = open_memstream(&list, &len);
		for (++*at; **at != ')'; count++) {
			put(inner, at);
			while (**at == ' ')
				++*at;
		}
		++*at;
		fclose(inner);
		fprintf(out, "*%zu\r\n%s", count, list);
		free(list);
		return;
	}
	size_t len = strcspn(*at, " ()");
	const char *word = *at;
	*at += len;
	if (*word == '~')
		fputs("$-1\r\n", out);
	else if (*word == '!')
		fprintf(out, "-%.*s\r\n", (int)len - 1, word + 1);
	else if (*word == '-' && !isdigit((unsigned char)word[1]))
		fputs("$0\r\n\r\n", out);
	else if (isdigit((unsigned char)*word) && !memchr(word, '.', len))
		fprintf(out, ":%.*s\r\n", (int)len, word);
	else if (*word == '-')
		fprintf(out, ":%.*s\r\n", (int)len, word);
	else
		fprintf(out, "$%zu\r\n%.*s\r\n", len, (int)len, word);
}

static char *
bytes_of(const char *text, size_t *ret_len)
{
	char *bytes = NULL;
	FILE *out = open_memstream(&bytes, ret_len);
	put(out, &text);
	fclose(out);
	return bytes;
}

/* NULL: the bytes are no reply. */
static redisReply *
reply_of(const char *bytes, size_t len)
{
	redisReader *reader = redisReaderCreate();
	void *reply = NULL;
	if (redisReaderFeed(reader, bytes, len) != REDIS_OK ||
	    redisReaderGetReply(reader, &reply) != REDIS_OK)
		reply = NULL;
	redisReaderFree(reader);
	return reply;
}

static bool
read_text(const char *text, struct slots *ret_slots)
{
	size_t len;
	char *bytes = bytes_of(text, &len);
	redisReply *reply = reply_of(bytes, len);
	assert_non_null(reply);
	bool read = slots_read(reply, &asked, false, ret_slots);
	freeReplyObject(reply);
	free(bytes);
	return read;
}

/* "HOST:PORT", or "" for a slot that nobody has. */
static void
assert_owner(const struct slots *slots, unsigned slot, const char *wanted)
{
	char text[300] = "";
	if (slots->owner[slot] != 0) {
		const struct redis_address *place =
		    &slots->addresses[slots->owner[slot] - 1];
		snprintf(text, sizeof text, "%s:%u", place->host, place->port);
	}
	assert_string_equal(text, wanted);
}

/* --- slots --- */

/* Known values: the specification's, and those of CLUSTER KEYSLOT. */
static void
a_tag_has_the_slot_of_the_specification(void **state)
{
	(void)state;
	assert_int_equal(slots_of_tag(SPAN("")), 0);
	assert_int_equal(slots_of_tag(SPAN("123456789")), 0x31c3);
	assert_int_equal(slots_of_tag(SPAN("foo")), 12182);
	assert_int_equal(slots_of_tag(SPAN("0")), 13907);
	assert_int_equal(slots_of_tag(SPAN("user1000")), 3443);
}

/* --- CLUSTER SHARDS --- */

#define NODE(host, port, role)                                      \
	"(id abc port " port " ip 10.0.0.1 endpoint " host          \
	" role " role " replication-offset 5 health online) "

static void
shards_name_each_master_and_its_slots(void **state)
{
	(void)state;
	struct slots slots;
	assert_true(read_text(
	    "((slots (0 10 20 20) nodes ("
	    NODE("10.0.0.9", "2", "replica") NODE("10.0.0.1", "1", "master")
	    ")) (slots () nodes (" NODE("10.0.0.3", "1", "master") ")) "
	    "(slots (11 19) nodes (" NODE("h.example", "1", "master") ")))",
	    &slots));
	assert_owner(&slots, 0, "10.0.0.1:1");
	assert_owner(&slots, 10, "10.0.0.1:1");
	assert_owner(&slots, 11, "h.example:1");
	assert_owner(&slots, 19, "h.example:1");
	assert_owner(&slots, 20, "10.0.0.1:1");
	assert_owner(&slots, 21, "");
	/*
	 * Servers without slots too: they may be asked when others are silent.
	 */
	assert_int_equal(slots.count, 4);
	slots_clear(&slots);
}

static void
a_server_without_a_name_is_its_address_or_who_was_asked(void **state)
{
	static const struct {
		const char *ip, *endpoint, *wanted;
	} rows[] = {
	    {"10.0.0.1", "~", "10.0.0.1:1"},
	    {"10.0.0.1", "?", "10.0.0.1:1"},
	    {"10.0.0.1", "-empty", "10.0.0.1:1"},
	    {"-empty", "-empty", "asked:1"},
	    {"~", "?", "asked:1"},
	    {"10.0.0.1", "(x)", "10.0.0.1:1"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[200];
		struct slots slots;
		snprintf(text, sizeof text,
		    "((slots (0 0) nodes ((port 1 ip %s endpoint %s role "
		    "master))))",
		    rows[i].ip, rows[i].endpoint);
		assert_true(read_text(text, &slots));
		assert_owner(&slots, 0, rows[i].wanted);
		slots_clear(&slots);
	}
}

static void
assert_unread(const char *text)
{
	struct slots slots;
	if (read_text(text, &slots))
		fail_msg("read: %s", text);
}

static void
what_is_no_map_of_shards_is_none(void **state)
{
	(void)state;
	assert_unread("1");
	assert_unread("~");
	assert_unread("!ERR");
	assert_unread("(1)");
	assert_unread("(())");
	assert_unread("((slots (0 1)))");
	assert_unread("((slots (0 1) nodes x))");
	assert_unread("((slots 3 nodes ()))");
	assert_unread("((slots (0) nodes ()))");
	assert_unread("((slots (0 1) nodes ()))");
	assert_unread("((slots (0 1) nodes (x)))");
	assert_unread("((slots (0 1) nodes (" NODE("h", "1", "replica") ")))");
	assert_unread("((slots (0 1) nodes (" NODE("h", "0", "master") ")))");
	assert_unread("((slots (0 1) nodes (" NODE("h", "65536", "master")
		      ")))");
	assert_unread("((slots (0 16384) nodes (" NODE("h", "1", "master")
		      ")))");
	assert_unread("((slots (-1 5) nodes (" NODE("h", "1", "master")
		      ")))");
	assert_unread("((slots (0 x) nodes (" NODE("h", "1", "master")
		      ")))");
}

/* --- any bytes --- */

static uint32_t
next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* Whether it is read or not, nothing breaks, and owners are places. */
static void
try_bytes(const char *bytes, size_t len)
{
	redisReply *reply = reply_of(bytes, len);
	struct slots slots;
	if (reply == NULL)
		return;
	if (slots_read(reply, &asked, false, &slots)) {
		for (unsigned i = 0; i < SLOTS; i++)
			assert_true(slots.owner[i] <= slots.count);
		slots_clear(&slots);
	}
	freeReplyObject(reply);
}

static void
a_damaged_reply_breaks_nothing(void **state)
{
	static const char text[] = "((slots (0 10 20 20) nodes ("
	    NODE("10.0.0.9", "2", "replica") NODE("10.0.0.1", "1", "master")
	    ")))";
	uint32_t seed = 20261122;
	(void)state;
	size_t len;
	char *whole = bytes_of(text, &len);
	for (int i = 0; i < 4000; i++) {
		char *bytes = mem_copy(whole, len);
		unsigned changes = 1 + next_random(&seed) % 3;
		while (changes-- > 0)
			bytes[next_random(&seed) % len] =
			    "0123456789:$*-\r\nabc"[next_random(&seed) % 19];
		try_bytes(bytes, len);
		free(bytes);
	}
	free(whole);
}

/* --- redirects --- */

static void
a_redirect_says_who_has_a_slot(void **state)
{
	static const struct {
		const char *message;
		bool ask;
		unsigned slot;
		const char *host;
		unsigned port;
	} rows[] = {
	    {"MOVED 3999 127.0.0.1:6381", false, 3999, "127.0.0.1", 6381},
	    {"ASK 0 10.0.0.1:1", true, 0, "10.0.0.1", 1},
	    {"MOVED 16383 ::1:6381", false, 16383, "::1", 6381},
	    {"MOVED 1 [::1]:6381", false, 1, "::1", 6381},
	    {"MOVED 1 h.example:65535", false, 1, "h.example", 65535},
	    {"MOVED 1 :6381", false, 1, "asked", 6381},
	    {"MOVED 1 ?:6381", false, 1, "asked", 6381},
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct slots_redirect got;
		assert_true(slots_redirect_read(
		    span_str(rows[i].message), &asked, &got));
		assert_int_equal(got.ask, rows[i].ask);
		assert_int_equal(got.slot, rows[i].slot);
		assert_string_equal(got.address.host, rows[i].host);
		assert_int_equal(got.address.port, rows[i].port);
		redis_address_clear(&got.address);
	}
}

static void
other_words_are_no_redirect(void **state)
{
	static const char *const rows[] = {"", "MOVED", "MOVED 1", "MOVED  ",
	    "MOVED 1 ", "MOVED 1 h", "MOVED 1 h:", "MOVED 1 h:x",
	    "MOVED 1 h:0", "MOVED 1 h:65536", "MOVED 1 h:123456",
	    "MOVED 16384 h:1", "MOVED -1 h:1", "MOVED x h:1", "ASK", "ASK ",
	    "ASK 1 1", "ASKING 1 h:1", "TRYAGAIN 1 h:1", "moved 1 h:1"};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct slots_redirect got;
		if (slots_redirect_read(span_str(rows[i]), &asked, &got))
			fail_msg("read: %s", rows[i]);
	}
}

static void
a_place_is_a_host_and_a_port(void **state)
{
	struct span host;
	uint16_t port;
	(void)state;
	assert_true(
	    redis_address_split(SPAN("[2001:db8::1]:7000"), &host, &port));
	assert_true(span_eq(host, SPAN("2001:db8::1")));
	assert_int_equal(port, 7000);
	assert_true(redis_address_is_host(host));
	assert_false(redis_address_is_host(SPAN("")));
	assert_false(redis_address_is_host(SPAN("?")));
	assert_false(redis_address_is_host(SPAN("a b")));
}

static void
a_cluster_says_whether_it_serves(void **state)
{
	(void)state;
	assert_true(slots_serve(SPAN("cluster_state:ok\r\na:b\r\n")));
	assert_false(slots_serve(SPAN("cluster_state:fail\r\n")));
	assert_false(slots_serve(SPAN("")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_tag_has_the_slot_of_the_specification),
	    cmocka_unit_test(shards_name_each_master_and_its_slots),
	    cmocka_unit_test(
		a_server_without_a_name_is_its_address_or_who_was_asked),
	    cmocka_unit_test(what_is_no_map_of_shards_is_none),
	    cmocka_unit_test(a_damaged_reply_breaks_nothing),
	    cmocka_unit_test(a_redirect_says_who_has_a_slot),
	    cmocka_unit_test(other_words_are_no_redirect),
	    cmocka_unit_test(a_place_is_a_host_and_a_port),
	    cmocka_unit_test(a_cluster_says_whether_it_serves),
	};
	return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
