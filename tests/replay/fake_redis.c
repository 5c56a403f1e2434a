/* SPDX-License-Identifier: BSD-2-Clause */
#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "messages/shared/leadership.h"
#include "replay/fake_redis.h"
#include "replay/fakes.h"
#include "replay/messages.h"

/*
 * The commands of Redis that the scripts use, on a table of keys and the
 * world's clock.  Any other ends the test: add it here when a script needs it.
 * Replies are pushed as Lua has them.
 */
enum { RECORD_BYTES = 100 }; /* at least, and more than an entity has */

/* Of a sorted set; or a field of a hash, which has a value. */
struct member {
	char *name;
	double score;
	struct span value; /* ptr NULL: it is no field */
};

struct entry {
	struct entry *next;
	char *key;
	int64_t expires_ms; /* 0: never */
	char *string;       /* NULL: a sorted set or a hash */
	size_t len;
	struct member *members; /* by score, then name */
	size_t n_members;
};

static struct entry *entries;
static struct entry *copies[REPLICA_COPIES]; /* what replicas have */
static bool copied[REPLICA_COPIES];

int64_t
redis_now_ms(void)
{
	return (int64_t)REDIS_EPOCH_MS * 1000 + world.now_us / 1000;
}

/* --- the table --- */

static void
entry_clear(struct entry *entry)
{
	free(entry->string);
	for (size_t i = 0; i < entry->n_members; i++) {
		free(entry->members[i].name);
		free((void *)(uintptr_t)entry->members[i].value.ptr);
	}
	free(entry->members);
	entry->string = NULL;
	entry->members = NULL;
	entry->len = entry->n_members = 0;
	entry->expires_ms = 0;
}

static void
entry_drop(struct entry **at)
{
	struct entry *entry = *at;
	*at = entry->next;
	entry_clear(entry);
	free(entry->key);
	free(entry);
}

static struct entry **
place_of(const char *key)
{
	struct entry **at = &entries;
	while (*at != NULL && strcmp((*at)->key, key) != 0)
		at = &(*at)->next;
	if (*at != NULL && (*at)->expires_ms > 0 &&
	    (*at)->expires_ms <= redis_now_ms()) {
		entry_drop(at);
		return place_of(key);
	}
	return at;
}

static struct entry *
find(const char *key)
{
	return *place_of(key);
}

static struct entry *
make(const char *key)
{
	struct entry **at = place_of(key);
	if (*at == NULL) {
		*at = mem_zero(sizeof **at);
		(*at)->key = mem_str(span_str(key));
	}
	return *at;
}

static void
drop_all(struct entry **list)
{
	while (*list != NULL)
		entry_drop(list);
}

void
redis_clear(void)
{
	drop_all(&entries);
	for (int i = 0; i < REPLICA_COPIES; i++) {
		drop_all(&copies[i]);
		copied[i] = false;
	}
}

/* --- replicas --- */

static struct entry *
copy_all(const struct entry *from)
{
	struct entry *all = NULL, **end = &all;
	for (; from != NULL; from = from->next) {
		struct entry *entry = mem_copy(from, sizeof *from);
		entry->next = NULL;
		entry->key = mem_str(span_str(from->key));
		if (from->members != NULL)
			entry->members = mem_copy(from->members,
			    from->n_members * sizeof *from->members);
		for (size_t i = 0; i < from->n_members; i++) {
			struct member *m = &entry->members[i];
			m->name = mem_str(span_str(from->members[i].name));
			if (m->value.ptr != NULL)
				m->value.ptr = mem_str(m->value);
		}
		if (from->string != NULL)
			entry->string = mem_copy(from->string, from->len);
		*end = entry;
		end = &entry->next;
	}
	return all;
}

void
redis_copy(enum replica_copy copy)
{
	drop_all(&copies[copy]);
	copies[copy] = copy_all(entries);
	copied[copy] = true;
	/* What replicas may have is never older than what they have. */
	if (copy == REPLICA_HAS) {
		drop_all(&copies[REPLICA_MAY_HAVE]);
		copied[REPLICA_MAY_HAVE] = false;
	}
}

bool
redis_has_copy(enum replica_copy copy)
{
	return copy == REPLICA_HAS || copied[copy];
}

void
redis_fail_over(enum replica_copy copy)
{
	drop_all(&entries);
	entries = copy_all(copies[copy]);
	redis_copy(REPLICA_HAS);
}

void
redis_records(void (*see)(const char *name, struct span value))
{
	for (struct entry *e = entries; e != NULL; e = e->next)
		if (e->string != NULL)
			see(e->key, span_of(e->string, e->len));
}

static struct entry *
find_record(const char *begin, char state)
{
	struct entry *e = entries;
	while (e != NULL &&
	    (e->string == NULL || e->len < RECORD_BYTES ||
		strncmp(e->string, begin, 1) != 0 || e->string[2] != state))
		e = e->next;
	return e;
}

const char *
redis_in_flight(void)
{
	struct entry *e = find_record("o", 'P');
	return e ? e->key : NULL;
}

const char *
redis_damaged(void)
{
	struct entry *e = find_record("?", 'P');
	return e ? e->key : NULL;
}

void
redis_damage(void)
{
	struct entry *e = find_record("o", 'P');
	must(e != NULL);
	e->string[0] = '?';
}

char
redis_state_of(const char *key_hex)
{
	size_t len = strlen(key_hex);
	for (const struct entry *e = entries; e != NULL; e = e->next) {
		size_t at = strlen(e->key);
		if (e->string != NULL && e->len >= RECORD_BYTES && at > len &&
		    strcmp(e->key + at - len, key_hex) == 0)
			return e->string[2];
	}
	return '\0';
}

/* Of what is a letter the name's end, in hex; else NULL. */
static const char *
letter_id(const struct entry *e)
{
	static const char word[] = ":letter:source:s:";
	const char *at = strstr(e->key, word);
	return at != NULL ? at + sizeof word - 1 : NULL;
}

static const struct entry *
find_letter(const struct entry *list, const char *id_hex)
{
	for (const struct entry *e = list; e != NULL; e = e->next) {
		const char *id = letter_id(e);
		if (id != NULL && strcmp(id, id_hex) == 0)
			return e;
	}
	return NULL;
}

/* ptr NULL: there is none. */
static struct span
letter_value(const struct entry *e, const char *member)
{
	for (size_t i = 0; e != NULL && i < e->n_members; i++)
		if (strcmp(e->members[i].name, member) == 0)
			return e->members[i].value;
	return span_of(NULL, 0);
}

static char
letter_char(const struct entry *e, const char *member)
{
	struct span value = letter_value(e, member);
	if (value.ptr == NULL)
		return '\0';
	return value.len > 0 ? value.ptr[0] : '-';
}

char
redis_letter(const char *id_hex, const char *member)
{
	return letter_char(find_letter(entries, id_hex), member);
}

int64_t
redis_letter_number(const char *id_hex, const char *member)
{
	struct span value =
	    letter_value(find_letter(entries, id_hex), member);
	return value.len > 0 ? atoll(value.ptr) : 0;
}

bool
redis_has_letter_copied(const char *id_hex)
{
	return find_letter(copies[REPLICA_HAS], id_hex) != NULL;
}

void
redis_seize_leadership(void)
{
	struct entry *e = entries;
	while (e != NULL && strstr(e->key, ":leadership:") == NULL)
		e = e->next;
	if (e == NULL)
		return;
	char *text = mem_printf("%lld %lld somebody-else",
	    atoll(e->string) + 1,
	    (long long)redis_now_ms() + LEADERSHIP_LEASE_MS);
	free(e->string);
	e->string = text;
	e->len = strlen(text);
}

/* In any order of the keys. */
static uint64_t
hash_all(const struct entry *list)
{
	uint64_t sum = 0;
	for (const struct entry *e = list; e != NULL; e = e->next) {
		uint64_t hash = mix_bytes(
		    (uint64_t)e->expires_ms, e->key, strlen(e->key));
		if (e->string != NULL)
			hash = mix_bytes(hash, e->string, e->len);
		for (size_t i = 0; i < e->n_members; i++) {
			const struct member *m = &e->members[i];
			hash = mix_bytes(hash, m->name, strlen(m->name));
			hash = mix(hash, (uint64_t)m->score);
			if (m->value.ptr != NULL)
				hash = mix_bytes(
				    hash, m->value.ptr, m->value.len);
		}
		sum += hash;
	}
	return sum;
}

uint64_t
redis_hash(void)
{
	uint64_t hash = hash_all(entries);
	for (int i = 0; i < REPLICA_COPIES; i++)
		hash = mix(hash, mix(hash_all(copies[i]), copied[i]));
	return hash;
}

/* --- strings --- */

static void
set_string(struct entry *entry, struct span value)
{
	char *copy = mem_copy(value.ptr, value.len);
	free(entry->string);
	entry->string = copy;
	entry->len = value.len;
}

static void
do_get(lua_State *lua, const struct words *w)
{
	const struct entry *entry = find(w->list[1].ptr);
	must(entry == NULL || entry->string != NULL);
	if (entry != NULL)
		lua_pushlstring(lua, entry->string, entry->len);
	else
		lua_pushboolean(lua, false);
}

static void
push_status(lua_State *lua)
{
	lua_newtable(lua);
	lua_pushliteral(lua, "OK");
	lua_setfield(lua, -2, "ok");
}

/*
 * SET key value, and perhaps KEEPTTL; or NX, and GET, which answers what is
 * there; and PX ms or PXAT ms at the end.
 */
static void
do_set(lua_State *lua, const struct words *w)
{
	size_t count = w->count;
	int64_t ms = 0;
	bool at = count > 4 && span_eq(w->list[count - 2], SPAN("PXAT"));
	if (at || (count > 4 && span_eq(w->list[count - 2], SPAN("PX")))) {
		ms = atoll(w->list[count - 1].ptr);
		ms -= at ? redis_now_ms() : 0;
		must(ms > 0);
		count -= 2;
	}
	bool gets = count == 5 && span_eq(w->list[4], SPAN("GET"));
	bool once = count > 3 && span_eq(w->list[3], SPAN("NX"));
	bool keeps = count == 4 && span_eq(w->list[3], SPAN("KEEPTTL"));
	must(count == 3 || gets || (count == 4 && (once || keeps)));
	if (gets)
		do_get(lua, w);
	if (once && find(w->list[1].ptr) != NULL) {
		if (!gets)
			lua_pushboolean(lua, false);
		return;
	}
	struct entry *entry = make(w->list[1].ptr);
	set_string(entry, w->list[2]);
	if (!keeps)
		entry->expires_ms = ms > 0 ? redis_now_ms() + ms : 0;
	if (!gets)
		push_status(lua);
}

static void
do_setrange(lua_State *lua, const struct words *w)
{
	struct entry *entry = find(w->list[1].ptr);
	size_t at = (size_t)atoll(w->list[2].ptr);
	struct span value = w->list[3];
	/* SETRANGE beyond the end, or on no key: no script does that. */
	must(entry != NULL && entry->string != NULL);
	must(at + value.len <= entry->len);
	memcpy(entry->string + at, value.ptr, value.len);
	lua_pushinteger(lua, (lua_Integer)entry->len);
}

static void
do_getrange(lua_State *lua, const struct words *w)
{
	const struct entry *entry = find(w->list[1].ptr);
	size_t from = (size_t)atoll(w->list[2].ptr);
	size_t to = (size_t)atoll(w->list[3].ptr);
	if (entry == NULL || from >= entry->len) {
		lua_pushliteral(lua, "");
		return;
	}
	if (to >= entry->len)
		to = entry->len - 1;
	lua_pushlstring(lua, entry->string + from, to - from + 1);
}

/* --- keys --- */

static void
do_del(lua_State *lua, const struct words *w)
{
	struct entry **at = place_of(w->list[1].ptr);
	lua_pushinteger(lua, *at != NULL);
	if (*at != NULL && letter_id(*at) != NULL)
		messages_saw_end(
		    letter_id(*at), letter_char(*at, "act") == 'd');
	if (*at != NULL)
		entry_drop(at);
}

static void
do_exists(lua_State *lua, const struct words *w)
{
	int count = 0;
	for (size_t i = 1; i < w->count; i++)
		count += find(w->list[i].ptr) != NULL;
	lua_pushinteger(lua, count);
}

static void
do_pttl(lua_State *lua, const struct words *w)
{
	const struct entry *entry = find(w->list[1].ptr);
	if (entry == NULL || entry->expires_ms == 0)
		lua_pushinteger(lua, entry == NULL ? -2 : -1);
	else
		lua_pushnumber(
		    lua, (double)(entry->expires_ms - redis_now_ms()));
}

static void
do_pexpiretime(lua_State *lua, const struct words *w)
{
	const struct entry *entry = find(w->list[1].ptr);
	if (entry == NULL || entry->expires_ms == 0)
		lua_pushinteger(lua, entry == NULL ? -2 : -1);
	else
		lua_pushnumber(lua, (double)entry->expires_ms);
}

static void
do_pexpire(lua_State *lua, const struct words *w)
{
	struct entry *entry = find(w->list[1].ptr);
	int64_t ms = atoll(w->list[2].ptr);
	must(ms > 0);
	if (entry != NULL)
		entry->expires_ms = redis_now_ms() + ms;
	lua_pushinteger(lua, entry != NULL);
}

static void
do_time(lua_State *lua, const struct words *w)
{
	char text[32];
	int64_t ms = redis_now_ms();
	(void)w;
	lua_newtable(lua);
	snprintf(text, sizeof text, "%lld", (long long)(ms / 1000));
	lua_pushstring(lua, text);
	lua_rawseti(lua, -2, 1);
	snprintf(text, sizeof text, "%lld", (long long)(ms % 1000 * 1000));
	lua_pushstring(lua, text);
	lua_rawseti(lua, -2, 2);
}

static void
do_publish(lua_State *lua, const struct words *w)
{
	redis_publish(w->list[1], w->list[2]);
	lua_pushinteger(lua, 1);
}

/* --- sorted sets --- */

static bool
remove_member(struct entry *entry, const char *name)
{
	for (size_t i = 0; i < entry->n_members; i++) {
		if (strcmp(entry->members[i].name, name) != 0)
			continue;
		free(entry->members[i].name);
		free((void *)(uintptr_t)entry->members[i].value.ptr);
		entry->n_members--;
		memmove(&entry->members[i], &entry->members[i + 1],
		    (entry->n_members - i) * sizeof *entry->members);
		return true;
	}
	return false;
}

static const struct member *
find_member(const struct entry *entry, const char *name)
{
	for (size_t i = 0; i < entry->n_members; i++)
		if (strcmp(entry->members[i].name, name) == 0)
			return &entry->members[i];
	return NULL;
}

/* ZADD key XX INCR 0 member: its score. */
static void
do_score(lua_State *lua, const struct words *w)
{
	const struct entry *entry = find(w->list[1].ptr);
	must(span_eq(w->list[3], SPAN("INCR")) &&
	    span_eq(w->list[4], SPAN("0")));
	for (size_t i = 0; entry != NULL && i < entry->n_members; i++)
		if (strcmp(entry->members[i].name, w->list[5].ptr) == 0) {
			lua_pushfstring(lua, "%f", entry->members[i].score);
			return;
		}
	lua_pushboolean(lua, false);
}

static void
add_member(struct entry *entry, const struct member *new)
{
	size_t at = 0;
	entry->members = mem_grow(entry->members,
	    (entry->n_members + 1) * sizeof *entry->members);
	while (at < entry->n_members &&
	    (entry->members[at].score < new->score ||
		(!(entry->members[at].score > new->score) &&
		    strcmp(entry->members[at].name, new->name) < 0)))
		at++;
	memmove(&entry->members[at + 1], &entry->members[at],
	    (entry->n_members - at) * sizeof *entry->members);
	entry->members[at] = (struct member){.name =
						 mem_str(span_str(new->name)),
	    .score = new->score};
	if (new->value.ptr != NULL)
		entry->members[at].value =
		    span_of(mem_str(new->value), new->value.len);
	entry->n_members++;
}

/* ZADD key CH, and score and member once or twice: how many have changed. */
static void
do_changes(lua_State *lua, const struct words *w)
{
	struct entry *entry = make(w->list[1].ptr);
	int changed = 0;
	must(entry->string == NULL && w->count % 2 == 1);
	for (size_t i = 3; i < w->count; i += 2) {
		struct member new = {
		    .name = (char *)(uintptr_t)w->list[i + 1].ptr,
		    .score = atof(w->list[i].ptr)};
		const struct member *old = find_member(entry, new.name);
		if (old != NULL && old->score >= new.score &&
		    old->score <= new.score)
			continue;
		(void)remove_member(entry, new.name);
		add_member(entry, &new);
		changed++;
	}
	lua_pushinteger(lua, changed);
}

/* ZADD key score member, or ZADD key NX score member */
static void
do_zadd(lua_State *lua, const struct words *w)
{
	if (span_eq(w->list[2], SPAN("CH"))) {
		do_changes(lua, w);
		return;
	} else if (w->count == 6) {
		do_score(lua, w);
		return;
	}
	bool once = w->count == 5 && span_eq(w->list[2], SPAN("NX"));
	must(w->count == 4 || once);
	struct entry *entry = make(w->list[1].ptr);
	struct member new = {
	    .name = (char *)(uintptr_t)w->list[3 + once].ptr,
	    .score = atof(w->list[2 + once].ptr)};
	must(entry->string == NULL);
	if (once && find_member(entry, new.name) != NULL) {
		lua_pushinteger(lua, 0);
		return;
	}
	bool there = remove_member(entry, new.name);
	add_member(entry, &new);
	lua_pushinteger(lua, !there);
}

static void
do_zrem(lua_State *lua, const struct words *w)
{
	struct entry **at = place_of(w->list[1].ptr);
	int removed = 0;
	for (size_t i = 2; *at != NULL && i < w->count; i++)
		removed += remove_member(*at, w->list[i].ptr);
	if (*at != NULL && (*at)->n_members == 0)
		entry_drop(at);
	lua_pushinteger(lua, removed);
}

static void
do_zcard(lua_State *lua, const struct words *w)
{
	const struct entry *entry = find(w->list[1].ptr);
	lua_pushinteger(lua, entry ? (lua_Integer)entry->n_members : 0);
}

/* Adds a member to the list on top of the stack, with its score, or not. */
static void
push_member(lua_State *lua, int *n, const struct member *m, bool scored)
{
	char text[32];
	lua_pushstring(lua, m->name);
	lua_rawseti(lua, -2, ++*n);
	if (!scored)
		return;
	snprintf(text, sizeof text, "%.17g", m->score);
	lua_pushstring(lua, text);
	lua_rawseti(lua, -2, ++*n);
}

/* ZRANGE key from to [WITHSCORES]: by places, the last of which is -1. */
static void
push_places(lua_State *lua, const struct entry *entry, const struct words *w)
{
	long count = (long)entry->n_members;
	long from = atol(w->list[2].ptr), to = atol(w->list[3].ptr);
	bool scored = w->count == 5;
	int n = 0;
	must(!scored || span_eq(w->list[4], SPAN("WITHSCORES")));
	from = from < 0 ? from + count : from;
	to = to < 0 ? to + count : to;
	for (long i = from < 0 ? 0 : from; i <= to && i < count; i++)
		push_member(lua, &n, &entry->members[i], scored);
}

/* ZRANGE key [from (to BYLEX: all have the same score. */
static void
push_by_name(lua_State *lua, const struct entry *entry, const struct words *w)
{
	int n = 0;
	must(w->list[2].ptr[0] == '[' && w->list[3].ptr[0] == '(');
	for (size_t i = 0; i < entry->n_members; i++) {
		const struct member *m = &entry->members[i];
		if (strcmp(m->name, w->list[2].ptr + 1) >= 0 &&
		    strcmp(m->name, w->list[3].ptr + 1) < 0)
			push_member(lua, &n, m, false);
	}
}

static double
bound(struct span text)
{
	return span_eq(text, SPAN("-inf"))   ? -INFINITY
	    : span_eq(text, SPAN("+inf")) ? INFINITY
					  : atof(text.ptr);
}

/* ZRANGE key from to BYSCORE [LIMIT skip count [WITHSCORES]] */
static void
push_by_score(lua_State *lua, const struct entry *entry, const struct words *w)
{
	bool above = w->list[2].ptr[0] == '(';
	double from = bound(span_from(w->list[2], above));
	double to = bound(w->list[3]);
	bool all = w->count == 5, scored = w->count == 9;
	int skip = all ? 0 : atoi(w->list[6].ptr);
	int most = all ? -1 : atoi(w->list[7].ptr);
	int n = 0;
	must(all || span_eq(w->list[5], SPAN("LIMIT")));
	must(!scored || span_eq(w->list[8], SPAN("WITHSCORES")));
	for (size_t i = 0; i < entry->n_members; i++) {
		const struct member *m = &entry->members[i];
		if (m->score < from || m->score > to || skip-- > 0 ||
		    (above && !(m->score > from)))
			continue;
		if (most-- == 0)
			break;
		push_member(lua, &n, m, scored);
	}
}

static void
do_zrange(lua_State *lua, const struct words *w)
{
	const struct entry *entry = find(w->list[1].ptr);
	struct span how = w->count > 4 ? w->list[4] : SPAN("");
	lua_newtable(lua);
	if (entry == NULL)
		return;
	if (span_eq(how, SPAN("BYSCORE")))
		push_by_score(lua, entry, w);
	else if (span_eq(how, SPAN("BYLEX")))
		push_by_name(lua, entry, w);
	else
		push_places(lua, entry, w);
}

/* --- hashes --- */

/* HSET key, and field and value, once or more often. */
static void
do_hset(lua_State *lua, const struct words *w)
{
	struct entry *entry = make(w->list[1].ptr);
	must(entry->string == NULL && w->count >= 4 && w->count % 2 == 0);
	for (size_t i = 2; i < w->count; i += 2) {
		struct member new = {
		    .name = (char *)(uintptr_t)w->list[i].ptr,
		    .value = w->list[i + 1]};
		(void)remove_member(entry, new.name);
		add_member(entry, &new);
	}
	lua_pushinteger(lua, 0);
}

static void
do_hmget(lua_State *lua, const struct words *w)
{
	const struct entry *entry = find(w->list[1].ptr);
	lua_newtable(lua);
	for (size_t i = 2; i < w->count; i++) {
		const struct member *m =
		    entry ? find_member(entry, w->list[i].ptr) : NULL;
		if (m != NULL)
			lua_pushlstring(lua, m->value.ptr, m->value.len);
		else
			lua_pushboolean(lua, false);
		lua_rawseti(lua, -2, (int)i - 1);
	}
}

void
redis_command(lua_State *lua, const struct words *w)
{
	static const struct {
		const char *name;
		void (*run)(lua_State *lua, const struct words *w);
	} commands[] = {
	    {"DEL", do_del},
	    {"EXISTS", do_exists},
	    {"GET", do_get},
	    {"GETRANGE", do_getrange},
	    {"HMGET", do_hmget},
	    {"HSET", do_hset},
	    {"PEXPIRE", do_pexpire},
	    {"PEXPIRETIME", do_pexpiretime},
	    {"PTTL", do_pttl},
	    {"PUBLISH", do_publish},
	    {"SET", do_set},
	    {"SETRANGE", do_setrange},
	    {"TIME", do_time},
	    {"ZADD", do_zadd},
	    {"ZCARD", do_zcard},
	    {"ZRANGE", do_zrange},
	    {"ZREM", do_zrem},
	};
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(commands[i].name, w->list[0].ptr) == 0) {
			commands[i].run(lua, w);
			return;
		}
	world_failed("fake_redis.c does not know the command %.*s",
	    SPAN_FMT(w->list[0]));
}
