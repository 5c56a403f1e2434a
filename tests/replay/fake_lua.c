/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "replay/fake_redis.h"
#include "replay/fakes.h"
#include "store/record/redis_keys.h"
#include "store/record/script.h"
#include "store/redis/resp.h"

/*
 * Runs the scripts of src/store/record/lua/, as the program embeds them, in
 * Redis' version of Lua (5.1), with redis.call and redis.pcall leading to
 * fake_redis.c.  As in Redis, numbers in replies lose their fractions, and no
 * script may use a global that does not exist.
 */
enum { DAMAGED_MS = 24 * 3600 * 1000 };

static lua_State *lua;
static struct script_names names;
static int functions[SCRIPT_COUNT_];

/* --- redis.call --- */

static void
take_word(struct words *w, int at)
{
	must(w->count < sizeof w->list / sizeof *w->list);
	CHECK(lua_isstring(lua, at), "redis.call with neither a string nor "
				     "a number");
	/* As Redis writes a number. */
	if (lua_type(lua, at) == LUA_TNUMBER) {
		char text[64];
		snprintf(text, sizeof text, "%.17g", lua_tonumber(lua, at));
		lua_pushstring(lua, text);
		lua_replace(lua, at);
	}
	size_t len;
	const char *ptr = lua_tolstring(lua, at, &len);
	w->list[w->count++] = span_of(ptr, len);
}

static int
on_call(lua_State *l)
{
	struct words w = {.count = 0};
	int count = lua_gettop(l);
	for (int i = 1; i <= count; i++)
		take_word(&w, i);
	redis_command(l, &w);
	return 1;
}

/* --- replies --- */

static void
put_number(struct resp *out, const char *kind, long long number)
{
	char text[48];
	int len = snprintf(text, sizeof text, "%s%lld\r\n", kind, number);
	resp_bytes(out, span_of(text, (size_t)len));
}

/* The value on top of the stack, as Redis writes it. */
static void
put_reply(struct resp *out)
{
	size_t len;
	const char *text;
	switch (lua_type(lua, -1)) {
	case LUA_TSTRING:
		text = lua_tolstring(lua, -1, &len);
		resp_arg(out, span_of(text, len));
		return;
	case LUA_TNUMBER:
		put_number(out, ":", (long long)lua_tonumber(lua, -1));
		return;
	case LUA_TBOOLEAN:
		resp_bytes(out, lua_toboolean(lua, -1) ? SPAN(":1\r\n")
						       : SPAN("$-1\r\n"));
		return;
	case LUA_TTABLE:
		break;
	default:
		resp_bytes(out, SPAN("$-1\r\n"));
		return;
	}
	int count = 0;
	for (;; count++) {
		lua_rawgeti(lua, -1, count + 1);
		bool end = lua_isnil(lua, -1);
		lua_pop(lua, 1);
		if (end)
			break;
	}
	put_number(out, "*", count);
	for (int i = 1; i <= count; i++) {
		lua_rawgeti(lua, -1, i);
		put_reply(out);
		lua_pop(lua, 1);
	}
}

/* --- commands --- */

static void
set_list(const char *name, redisReply **words, size_t count)
{
	lua_newtable(lua);
	for (size_t i = 0; i < count; i++) {
		lua_pushlstring(lua, words[i]->str, words[i]->len);
		lua_rawseti(lua, -2, (int)i + 1);
	}
	lua_pushstring(lua, name);
	lua_insert(lua, -2);
	lua_rawset(lua, LUA_GLOBALSINDEX);
}

/* INFO of a Redis that is well. */
static const char info[] = "redis_version:7.0.15\r\nrole:master\r\n"
			   "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
			   "aof_enabled:1\r\nrun_id:1\r\n";

/* Runs a command that is no script; false: it is one. */
static bool
run_plain(const redisReply *c, struct resp *reply)
{
	const char *name = c->element[0]->str;
	if (strcmp(name, "INFO") == 0) {
		resp_arg(reply, span_str(info));
		return true;
	}
	if (strcmp(name, "WAIT") == 0) {
		redis_copy(REPLICA_HAS);
		put_number(reply, ":", 1);
		return true;
	}
	if (strcmp(name, "PUBLISH") != 0)
		return false;
	redis_publish(span_of(c->element[1]->str, c->element[1]->len),
	    span_of(c->element[2]->str, c->element[2]->len));
	put_number(reply, ":", 1);
	return true;
}

static int
script_of(const redisReply *command)
{
	must(command->type == REDIS_REPLY_ARRAY && command->elements > 3);
	must(strcmp(command->element[0]->str, "EVALSHA") == 0);
	for (int i = 0; i < SCRIPT_COUNT_; i++)
		if (strcmp(names.sha[i], command->element[1]->str) == 0)
			return i;
	must(false);
	return 0;
}

static void
run_script(const redisReply *c, struct resp *reply)
{
	int script = script_of(c);
	size_t n_keys = (size_t)atoi(c->element[2]->str);
	must(n_keys + 3 <= c->elements);
	set_list("KEYS", c->element + 3, n_keys);
	set_list(
	    "ARGV", c->element + 3 + n_keys, c->elements - 3 - n_keys);
	lua_rawgeti(lua, LUA_REGISTRYINDEX, functions[script]);
	if (lua_pcall(lua, 0, 1, 0) != 0)
		world_failed("a script failed: %s", lua_tostring(lua, -1));
	put_reply(reply);
	lua_pop(lua, 1);
	must(lua_gettop(lua) == 0);
}

void
redis_run(struct span command, char **ret_reply, size_t *ret_len)
{
	redisReader *reader = redisReaderCreate();
	void *read = NULL;
	must(redisReaderFeed(reader, command.ptr, command.len) == REDIS_OK);
	must(redisReaderGetReply(reader, &read) == REDIS_OK && read != NULL);
	redisReply *c = read;
	struct resp reply = {0};
	if (!run_plain(c, &reply))
		run_script(c, &reply);
	*ret_reply = reply.bytes;
	*ret_len = reply.len;
	freeReplyObject(read);
	redisReaderFree(reader);
}

static void
put_index(struct resp *command, const char *record, const char *word)
{
	char *name = mem_printf("%.*s%s",
	    (int)(strrchr(record, ':') - 1 - record), record, word);
	resp_arg(command, span_str(name));
	free(name);
}

void
redis_delete_damaged(void)
{
	struct resp command = {0};
	const char *record = redis_damaged();
	char *reply;
	size_t len;
	resp_begin(&command, 16);
	resp_arg(&command, SPAN("EVALSHA"));
	resp_arg(&command, span_str(names.sha[SCRIPT_operate]));
	resp_number(&command, 3);
	resp_arg(&command, span_str(record));
	put_index(&command, record, "leases");
	put_index(&command, record, "held");
	resp_arg(&command, SPAN("delete"));
	resp_number(&command, DAMAGED_MS);
	resp_arg(&command, SPAN(""));
	resp_number(&command, 0);
	resp_number(&command, 0);
	resp_arg(&command, SPAN(""));
	resp_arg(&command, SPAN(""));
	resp_number(&command, DAMAGED_MS);
	resp_number(&command, 0);
	resp_arg(&command, SPAN("the operator"));
	redis_run(span_of(command.bytes, command.len), &reply, &len);
	free(reply);
	resp_clear(&command);
}

void
redis_ask(const char *id_hex, bool drops)
{
	static const char *const keys[] = {"letter", "lane", "lanes",
	    "letters", "behind", "written", "begun"};
	const size_t count = sizeof keys / sizeof *keys;
	struct resp command = {0};
	char *reply;
	size_t len;
	resp_begin(&command, 3 + count + 7);
	resp_arg(&command, SPAN("EVALSHA"));
	resp_arg(&command, span_str(names.sha[SCRIPT_letter]));
	resp_number(&command, (int64_t)count);
	for (size_t i = 0; i < count; i++)
		redis_keys_index_of(&command, world.confs[0], 0, keys[i],
		    i < 2 ? ":source:s:" : ":source:s");
	resp_arg(&command, SPAN("ask"));
	resp_arg(&command, span_str(id_hex));
	resp_arg(&command, SPAN(""));
	resp_arg(&command, SPAN("!source:s"));
	resp_arg(&command, SPAN(""));
	resp_arg(&command, drops ? SPAN("drop") : SPAN("replay"));
	resp_arg(&command, SPAN("a call"));
	redis_run(span_of(command.bytes, command.len), &reply, &len);
	free(reply);
	resp_clear(&command);
}

void
redis_pause(bool on)
{
	struct resp command = {0};
	char *reply;
	size_t len;
	resp_begin(&command, 9);
	resp_arg(&command, SPAN("EVALSHA"));
	resp_arg(&command, span_str(names.sha[SCRIPT_pause]));
	resp_number(&command, 1);
	redis_keys_index_of(
	    &command, world.confs[0], 0, "pause", ":source:s");
	resp_arg(&command, on ? SPAN("pause") : SPAN("resume"));
	resp_arg(&command, SPAN("the operator"));
	resp_arg(&command, SPAN(""));
	resp_arg(&command, SPAN("!source:s"));
	resp_arg(&command, SPAN("a call"));
	redis_run(span_of(command.bytes, command.len), &reply, &len);
	free(reply);
	resp_clear(&command);
	world.paused = on;
}

/* --- life --- */

/*
 * In place of src/store/redis/sha1.c, which takes a third of the time of a
 * short run: to a Redis that is a table, any name of a script will do.
 */
void
sha1(struct span text, uint8_t ret_hash[SHA1_BYTES])
{
	memset(ret_hash, 0, SHA1_BYTES);
	memcpy(ret_hash, &text.ptr, sizeof text.ptr);
}

static int
on_global(lua_State *l)
{
	return luaL_error(l, "there is no global \"%s\"", lua_tostring(l, 2));
}

static void
protect_globals(void)
{
	lua_newtable(lua);
	lua_pushcfunction(lua, on_global);
	lua_setfield(lua, -2, "__index");
	lua_pushcfunction(lua, on_global);
	lua_setfield(lua, -2, "__newindex");
	lua_pushvalue(lua, LUA_GLOBALSINDEX);
	lua_insert(lua, -2);
	lua_setmetatable(lua, -2);
	lua_pop(lua, 1);
}

static void
load_script(enum script script)
{
	struct span text = script_text(script);
	/* Redis takes the "#!lua" line off itself. */
	if (span_starts(text, SPAN("#!"))) {
		const char *end = memchr(text.ptr, '\n', text.len);
		text = span_from(text, (size_t)(end - text.ptr));
	}
	must(luaL_loadbuffer(lua, text.ptr, text.len, "script") == 0);
	functions[script] = luaL_ref(lua, LUA_REGISTRYINDEX);
}

void
lua_begin(void)
{
	if (lua != NULL)
		return;
	lua = luaL_newstate();
	luaL_openlibs(lua);
	lua_newtable(lua);
	lua_pushcfunction(lua, on_call);
	lua_setfield(lua, -2, "call");
	lua_pushcfunction(lua, on_call);
	lua_setfield(lua, -2, "pcall");
	lua_setglobal(lua, "redis");
	protect_globals();
	script_names(&names);
	for (int i = 0; i < SCRIPT_COUNT_; i++)
		load_script((enum script)i);
}

void
lua_end(void)
{
	if (lua != NULL)
		lua_close(lua);
	lua = NULL;
}
