/* SPDX-License-Identifier: BSD-2-Clause */
#include "broker/streams_script.h"

/* Ids are compared as text: Lua's numbers have 53 bits. */
#define BELOW                                                                 \
	"local function less(a, b)\n"                                         \
	" if #a ~= #b then return #a < #b end\n"                              \
	" return a < b\n"                                                     \
	"end\n"                                                               \
	"local function below(a, b)\n"                                        \
	" local am, as = string.match(a, '^(%d+)-(%d+)$')\n"                  \
	" local bm, bs = string.match(b, '^(%d+)-(%d+)$')\n"                  \
	" if am ~= bm then return less(am, bm) end\n"                         \
	" return less(as, bs)\n"                                              \
	"end\n"

/* What XINFO answers, by name. */
#define MAP                                                                   \
	"local function map(list)\n"                                          \
	" local m = {}\n"                                                     \
	" for i = 1, #list, 2 do m[list[i]] = list[i + 1] end\n"              \
	" return m\n"                                                         \
	"end\n"                                                               \
	"local function find(key, group)\n"                                   \
	" for _, each in ipairs(redis.call('XINFO', 'GROUPS', key)) do\n"     \
	"  each = map(each)\n"                                                \
	"  if each.name == group then return each end\n"                      \
	" end\n"                                                              \
	"end\n"                                                               \
	"local key, group = KEYS[1], ARGV[1]\n"

const char streams_script_group[] = BELOW MAP
    "local stream = redis.pcall('XINFO', 'STREAM', key)\n"
    "if stream.err then\n"
    " if not string.find(stream.err, 'no such key', 1, true) then\n"
    "  return stream\n"
    " end\n"
    " redis.call('XGROUP', 'CREATE', key, group, '0-0', 'MKSTREAM',\n"
    "  'ENTRIESREAD', 0)\n"
    " return {2, '0-0'}\n"
    "end\n"
    "stream = map(stream)\n"
    "local start, there = ARGV[2], find(key, group)\n"
    "if there then\n"
    " if ARGV[3] == '1' and below(start, there['last-delivered-id']) then\n"
    "  redis.call('XGROUP', 'SETID', key, group, start)\n"
    "  return {3, start}\n"
    " end\n"
    " return {0, there['last-delivered-id']}\n"
    "end\n"
    "local added = stream['entries-added']\n"
    "if start == '$' then\n"
    " redis.call('XGROUP', 'CREATE', key, group, '$', 'ENTRIESREAD', added)\n"
    " return {1, stream['last-generated-id']}\n"
    "end\n"
    "if below(stream['last-generated-id'], start) then start = '0-0' end\n"
    "if start == '0-0' then\n"
    " redis.call('XGROUP', 'CREATE', key, group, start, 'ENTRIESREAD',\n"
    "  added - stream.length)\n"
    "else\n"
    " redis.call('XGROUP', 'CREATE', key, group, start)\n"
    "end\n"
    "return {1, start}\n";

/*
 * Where no entry is left that the group has read, the group has passed by as
 * many as were removed; where it has read the last one, by all.  If it has read
 * fewer, the others were lost.
 */
const char streams_script_look[] = BELOW MAP
    "local stream = redis.pcall('XINFO', 'STREAM', key)\n"
    "local there = not stream.err and find(key, group)\n"
    "if not there then return {0, -1} end\n"
    "stream = map(stream)\n"
    "local added, first = stream['entries-added'], stream['first-entry']\n"
    "local read, last = there['entries-read'], there['last-delivered-id']\n"
    "local passed, lost\n"
    "if not first or below(last, first[1]) then\n"
    " passed = added - stream.length\n"
    "elseif last == stream['last-generated-id'] then\n"
    " passed = added\n"
    "end\n"
    "if passed and (not read or read < passed) then\n"
    " redis.call('XGROUP', 'SETID', key, group, last, 'ENTRIESREAD', passed)\n"
    " lost = read and passed - read\n"
    " read = passed\n"
    "end\n"
    "return {lost or 0, read and added - read or there.lag or -1}\n";

/* XAUTOCLAIM would drop what others have in hand, however short it was idle. */
const char streams_script_claim[] = BELOW
    "local key, group, consumer = KEYS[1], ARGV[1], ARGV[2]\n"
    "local list = redis.call('XPENDING', key, group, 'IDLE', ARGV[3],\n"
    " '(' .. ARGV[4], '+', ARGV[5])\n"
    "local first = redis.call('XRANGE', key, '-', '+', 'COUNT', 1)[1]\n"
    "local answer, gone, ids, have = {}, {}, {}, {}\n"
    "for _, each in ipairs(list) do\n"
    " local id = each[1]\n"
    " if each[2] == consumer and (not first or below(id, first[1])) then\n"
    "  have[id] = {id, false}\n"
    " else\n"
    "  ids[#ids + 1] = id\n"
    " end\n"
    "end\n"
    "if #ids > 0 then\n"
    " for _, entry in ipairs(redis.call(\n"
    "   'XCLAIM', key, group, consumer, ARGV[3], unpack(ids))) do\n"
    "  have[entry[1]] = entry\n"
    " end\n"
    "end\n"
    "for _, each in ipairs(list) do\n"
    " local to = have[each[1]] and answer or gone\n"
    " to[#to + 1] = have[each[1]] or each[1]\n"
    "end\n"
    "local full = #list == tonumber(ARGV[5])\n"
    "return {full and list[#list][1] or '0-0', answer, gone}\n";

const char streams_script_beat[] = BELOW
    "local key, group, consumer = KEYS[1], ARGV[1], ARGV[2]\n"
    "local first = redis.call('XRANGE', key, '-', '+', 'COUNT', 1)[1]\n"
    "local answer, ours, index = {}, {}, {}\n"
    "for i = 4, #ARGV do\n"
    " local id = ARGV[i]\n"
    " local pending = redis.call('XPENDING', key, group, id, id, 1)[1]\n"
    " local what = 2\n"
    " if not pending then what = 0\n"
    " elseif pending[2] ~= consumer then what = -1\n"
    " elseif not first or below(id, first[1]) then what = 3\n"
    " else\n"
    "  ours[#ours + 1] = id\n"
    "  index[id] = i - 3\n"
    " end\n"
    " answer[i - 3] = what\n"
    "end\n"
    "if #ours > 0 then\n"
    " ours[#ours + 1] = 'IDLE'\n"
    " ours[#ours + 1] = ARGV[3]\n"
    " ours[#ours + 1] = 'JUSTID'\n"
    " for _, id in ipairs(redis.call(\n"
    "   'XCLAIM', key, group, consumer, 0, unpack(ours))) do\n"
    "  answer[index[id]] = 1\n"
    " end\n"
    "end\n"
    "return answer\n";

const char streams_script_missing[] = BELOW MAP
    "if #redis.call('XRANGE', key, ARGV[3], ARGV[3]) == 0 then return 1 end\n"
    "local there = find(key, group)\n"
    "if not there or below(there['last-delivered-id'], ARGV[3]) then\n"
    " return 2\n"
    "end\n"
    "local pending = redis.call(\n"
    " 'XPENDING', key, group, ARGV[3], ARGV[3], 1)[1]\n"
    "if pending then return pending[2] == ARGV[2] and 3 or 0 end\n"
    "for _, each in ipairs(redis.call('XINFO', 'CONSUMERS', key, group)) do\n"
    " if each[2] == ARGV[2] then return 0 end\n"
    "end\n"
    "return 1\n";

const char streams_script_pending[] =
    "local pending = redis.call(\n"
    " 'XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)[1]\n"
    "if not pending or pending[2] ~= ARGV[2] then return 0 end\n";

/*
 * An XADD cannot be taken back, so whether we may XACK is asked before: who may
 * not would put the same again at each try.
 */
const char streams_script_put[] =
    "if not redis.acl_check_cmd('XACK', KEYS[1], ARGV[1], ARGV[3]) then\n"
    " return redis.error_reply('NOPERM this user has no permissions to '\n"
    "  .. 'run the \\'xack\\' command')\n"
    "end\n"
    "redis.call('XADD', KEYS[2], '*', unpack(ARGV, 4))\n"
    "redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])\n"
    "return 1\n";
