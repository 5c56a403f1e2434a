/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/broker/streams_script.h"

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

/*
 * What only grows as long as a stream lives, unless another server takes the
 * place of this one, or it starts anew with what it had before: where the ids
 * and the counts of the same stream are lower, too, but for what it has a name
 * for its history.
 */
const char streams_script_group[] = BELOW MAP
    "local function is_new(stream, mark)\n"
    " local added, first, deleted, last =\n"
    "  string.match(mark, '^(%d+) (%S+) (%S+) (%S+)$')\n"
    " local function lower(name, was)\n"
    "  return stream[name] and below(stream[name], was)\n"
    " end\n"
    " return added and (stream['entries-added'] < tonumber(added) or\n"
    "  stream.length > 0 and lower('recorded-first-entry-id', first) or\n"
    "  lower('max-deleted-entry-id', deleted) or\n"
    "  lower('last-generated-id', last))\n"
    "end\n"
    "local info = redis.pcall('INFO', 'replication')\n"
    "local history = type(info) == 'string' and\n"
    " string.match(info, 'master_replid:(%w+)') or ''\n"
    "local stream = redis.pcall('XINFO', 'STREAM', key)\n"
    "if stream.err then\n"
    " if not string.find(stream.err, 'no such key', 1, true) then\n"
    "  return stream\n"
    " end\n"
    " redis.call('XGROUP', 'CREATE', key, group, '0-0', 'MKSTREAM',\n"
    "  'ENTRIESREAD', 0)\n"
    " return {2, '0-0', history}\n"
    "end\n"
    "stream = map(stream)\n"
    "local start, there = ARGV[2], find(key, group)\n"
    "local new = history ~= '' and history == ARGV[5] and\n"
    " is_new(stream, ARGV[4])\n"
    "if there and new then\n"
    " return {5, there['last-delivered-id'], history}\n"
    "elseif there then\n"
    " if ARGV[3] == '1' and below(start, there['last-delivered-id']) then\n"
    "  redis.call('XGROUP', 'SETID', key, group, start)\n"
    "  return {3, start, history}\n"
    " end\n"
    " return {0, there['last-delivered-id'], history}\n"
    "end\n"
    "local added = stream['entries-added']\n"
    "if start == '$' and not new then\n"
    " redis.call('XGROUP', 'CREATE', key, group, '$', 'ENTRIESREAD', added)\n"
    " return {1, stream['last-generated-id'], history}\n"
    "end\n"
    "if new or below(stream['last-generated-id'], start) then\n"
    " start = '0-0'\n"
    "end\n"
    "if start == '0-0' then\n"
    " redis.call('XGROUP', 'CREATE', key, group, start, 'ENTRIESREAD',\n"
    "  added - stream.length)\n"
    "else\n"
    " redis.call('XGROUP', 'CREATE', key, group, start)\n"
    "end\n"
    "return {new and 4 or 1, start, history}\n";

/*
 * Where no entry is left that the group has read, the group has passed by as
 * many as were removed; where it has read the last one, by all.  If it has read
 * fewer, the others were lost, or the number is old: an XREADGROUP leaves the
 * last id in the append-only file and with the replicas, but not the number,
 * which only XGROUP SETID does.  A server that runs since it was known to be
 * right has not forgotten it.  Where entries are left that it has read, nothing
 * unread was trimmed; what was deleted behind them shows by how many are left
 * there, which only so many are counted for.
 */
const char streams_script_look[] = BELOW MAP
    "local function unread(last)\n"
    " local from, count, bytes = '(' .. last, 0, 0\n"
    " repeat\n"
    "  local page = redis.call('XRANGE', key, from, '+', 'COUNT', 10)\n"
    "  for _, entry in ipairs(page) do\n"
    "   count, from = count + 1, '(' .. entry[1]\n"
    "   for _, text in ipairs(entry[2]) do bytes = bytes + #text end\n"
    "  end\n"
    "  if count > 1000 or bytes > 1048576 then return end\n"
    " until #page < 10\n"
    " return count\n"
    "end\n"
    "local function lowest()\n"
    " local ours = {}\n"
    " for _, each in ipairs(redis.call(\n"
    "   'XPENDING', key, group, '-', '+', 100)) do\n"
    "  if each[2] ~= ARGV[2] then return each[1], ours end\n"
    "  ours[#ours + 1] = each[1]\n"
    " end\n"
    " return ours[100] or '', ours\n"
    "end\n"
    "local stream = redis.pcall('XINFO', 'STREAM', key)\n"
    "local there = not stream.err and find(key, group)\n"
    "if not there then return {0, -1, false, '', 0, '', {}, '', ''} end\n"
    "stream = map(stream)\n"
    "local added, first = stream['entries-added'], stream['first-entry']\n"
    "local read, last = there['entries-read'], there['last-delivered-id']\n"
    "local run, passed, lost = ''\n"
    "if ARGV[3] ~= '' then\n"
    " local info = redis.pcall('INFO', 'server')\n"
    " run = type(info) == 'string' and string.match(info, 'run_id:(%w+)')\n"
    "  or ''\n"
    "end\n"
    "local all = last == stream['last-generated-id']\n"
    "if all then\n"
    " passed = added\n"
    "elseif not first or below(last, first[1]) then\n"
    " passed = added - stream.length\n"
    "elseif below(last, stream['max-deleted-entry-id'] or '0-0') then\n"
    " local left = unread(last)\n"
    " passed = left and added - left\n"
    "end\n"
    "if passed and read ~= passed then\n"
    " local doubt = all and run ~= ARGV[3]\n"
    " lost = read and not doubt and math.max(passed - read, 0) or 0\n"
    " if lost == 0 or ARGV[5] == '1' then read = passed end\n"
    "end\n"
    "if read and (read ~= there['entries-read'] or ARGV[4] == '1') then\n"
    " redis.call('XGROUP', 'SETID', key, group, last, 'ENTRIESREAD', read)\n"
    "end\n"
    "local alone = true\n"
    "for _, each in ipairs(redis.call('XINFO', 'CONSUMERS', key, group)) do\n"
    " alone = alone and each[2] == ARGV[2]\n"
    "end\n"
    "local pending, ours = lowest()\n"
    "return {lost or 0, read and added - read or there.lag or -1,\n"
    " alone and '' or last, pending, passed and 1 or 0, run, ours,\n"
    " string.format('%d %s %s %s', added,\n"
    "  stream['recorded-first-entry-id'] or '0-0',\n"
    "  stream['max-deleted-entry-id'] or '0-0',\n"
    "  stream['last-generated-id']), last}\n";

/*
 * Whether an entry's bytes are gone, without having Lua copy them: only what
 * stands up to the highest that was ever deleted has to be read for that.
 */
#define GONE                                                                  \
	"local function trimmed(stream, id)\n"                                \
	" local first = stream['first-entry']\n"                              \
	" return not first or below(id, first[1])\n"                          \
	"end\n"                                                               \
	"local function deleted(stream, id)\n"                                \
	" local most = stream['max-deleted-entry-id']\n"                      \
	" return not (most and below(most, id)) and\n"                        \
	"  #redis.call('XRANGE', key, id, id) == 0\n"                         \
	"end\n"                                                               \
	"local function know(key)\n"                                          \
	" local stream = redis.pcall('XINFO', 'STREAM', key)\n"               \
	" return stream.err and {} or map(stream)\n"                          \
	"end\n"

/*
 * XAUTOCLAIM would drop what others have in hand, however short it was idle.
 * XCLAIM drops what is gone, too, and a reply that is lost would be all that
 * knew of it.
 */
const char streams_script_claim[] = BELOW MAP GONE
    "local consumer = ARGV[2]\n"
    "local list = redis.call('XPENDING', key, group, 'IDLE', ARGV[3],\n"
    " '(' .. ARGV[4], '+', ARGV[5])\n"
    "local stream = #list > 0 and know(key)\n"
    "local answer, gone, counts, ids, have = {}, {}, {}, {}, {}\n"
    "for _, each in ipairs(list) do\n"
    " local id = each[1]\n"
    " if not trimmed(stream, id) and not deleted(stream, id) then\n"
    "  ids[#ids + 1] = id\n"
    " elseif each[2] == consumer then\n"
    "  have[id] = {id, false}\n"
    " end\n"
    "end\n"
    "if #ids > 0 then\n"
    " for _, entry in ipairs(redis.call(\n"
    "   'XCLAIM', key, group, consumer, ARGV[3], unpack(ids))) do\n"
    "  have[entry[1]] = entry\n"
    " end\n"
    "end\n"
    "for _, each in ipairs(list) do\n"
    " local entry = have[each[1]]\n"
    " local to = entry and answer or gone\n"
    " to[#to + 1] = entry or each[1]\n"
    " if entry then\n"
    "  counts[#counts + 1] = each[4] + (entry[2] and 1 or 0)\n"
    " end\n"
    "end\n"
    "local full = #list == tonumber(ARGV[5])\n"
    "return {full and list[#list][1] or '0-0', answer, gone, counts}\n";

const char streams_script_beat[] = BELOW MAP GONE
    "local consumer, stream = ARGV[2], know(key)\n"
    "local answer, ours = {}, {}\n"
    "for i = 4, #ARGV do\n"
    " local id = ARGV[i]\n"
    " local pending = redis.call('XPENDING', key, group, id, id, 1)[1]\n"
    " local what = 1\n"
    " if not pending then what = 0\n"
    " elseif pending[2] ~= consumer then what = -1\n"
    " elseif trimmed(stream, id) then what = 3\n"
    " elseif deleted(stream, id) then what = 2\n"
    " else\n"
    "  ours[#ours + 1] = id\n"
    " end\n"
    " answer[i - 3] = what\n"
    "end\n"
    "if #ours > 0 then\n"
    " ours[#ours + 1] = 'IDLE'\n"
    " ours[#ours + 1] = ARGV[3]\n"
    " ours[#ours + 1] = 'JUSTID'\n"
    " redis.call('XCLAIM', key, group, consumer, 0, unpack(ours))\n"
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
    "if not pending or pending[2] ~= ARGV[2] or\n"
    "  (ARGV[4] ~= '' and pending[4] ~= tonumber(ARGV[4])) then\n"
    " return 0\n"
    "end\n";

/* Whether we may do what is done after an XADD, which cannot be taken back. */
#define MAY(command, arguments)                                               \
	"if not redis.acl_check_cmd('" command "', " arguments ") then\n"     \
	" return redis.error_reply('NOPERM this user has no permissions to '" \
	"\n  .. 'run the \\'" command "\\' command')\n"                       \
	"end\n"

/*
 * The values of what is put.  Lua has no more than some 8,000 of them in one
 * command: how many fields are left out for that is one more, to which a dead
 * letter adds what it has in left_out, its name for it.
 */
#define VALUES(left_out)                                                      \
	"local kept, values, left = tonumber(ARGV[5]), {}, 0\n"               \
	"local entry = kept and\n"                                            \
	" redis.call('XRANGE', KEYS[1], ARGV[3], ARGV[3])[1]\n"               \
	"if entry then\n"                                                     \
	" for i = 1, #entry[2], 2 do\n"                                       \
	"  local name = string.gsub(string.lower(entry[2][i]), '_', '-')\n"   \
	"  if name == " left_out " then\n"                                    \
	"   left = left + (tonumber(entry[2][i + 1]) or 0)\n"                 \
	"  elseif string.sub(name, 1, 10) ~= 'onceproxy-' then\n"             \
	"   if #values < 7000 then\n"                                         \
	"    values[#values + 1] = entry[2][i]\n"                             \
	"    values[#values + 1] = entry[2][i + 1]\n"                         \
	"   else\n"                                                           \
	"    left = left + 1\n"                                               \
	"   end\n"                                                            \
	"  end\n"                                                             \
	" end\n"                                                              \
	"end\n"                                                               \
	"if left > 0 then\n"                                                  \
	" values[#values + 1] = 'onceproxy-left-out'\n"                       \
	" values[#values + 1] = string.format('%d', left)\n"                  \
	"end\n"                                                               \
	"for i = 6 + (entry and kept or 0), #ARGV do\n"                       \
	" values[#values + 1] = ARGV[i]\n"                                    \
	"end\n"

const char streams_script_put[] =
    MAY("xack", "KEYS[1], ARGV[1], ARGV[3]")
    VALUES("nil")
    "redis.call('XADD', KEYS[2], '*', unpack(values))\n"
    "redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])\n"
    "return 1\n";

const char streams_script_letter[] =
    "if not redis.call('XRANGE', KEYS[1], ARGV[3], ARGV[3])[1] then\n"
    " return 0\n"
    "end\n"
    MAY("xdel", "KEYS[1], ARGV[3]")
    VALUES("'onceproxy-left-out'")
    "if #values > 0 then\n"
    " redis.call('XADD', KEYS[2], '*', unpack(values))\n"
    "end\n"
    "redis.call('XDEL', KEYS[1], ARGV[3])\n"
    "return 1\n";

const char streams_script_letters[] =
    "local source, last, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])\n"
    "local position, most = ARGV[4], tonumber(ARGV[5])\n"
    "local from = last == '' and '-' or '(' .. last\n"
    "local reply, seen, bytes, read = {'', 0}, 0, 0, 0\n"
    "local function is_wanted(values)\n"
    " local ours, there = false, position == ''\n"
    " for i = 1, #values, 2 do\n"
    "  read = read + #values[i + 1]\n"
    "  if values[i] == 'onceproxy-source' then\n"
    "   ours = values[i + 1] == source\n"
    "  elseif values[i] == 'onceproxy-position' and not there then\n"
    "   there = values[i + 1] == position\n"
    "  end\n"
    " end\n"
    " return ours and there\n"
    "end\n"
    "local function add(entry)\n"
    " local values = {}\n"
    " for i = 1, #entry[2], 2 do\n"
    "  if not most or #entry[2][i] + #entry[2][i + 1] <= most then\n"
    "   values[#values + 1] = entry[2][i]\n"
    "   values[#values + 1] = entry[2][i + 1]\n"
    "   bytes = bytes + #entry[2][i] + #entry[2][i + 1]\n"
    "  end\n"
    " end\n"
    " reply[#reply + 1] = {entry[1], values}\n"
    "end\n"
    "local page, count\n"
    "repeat\n"
    " count = read < 65536 and seen > 0 and 10 or 1\n"
    " page = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', count)\n"
    " for _, entry in ipairs(page) do\n"
    "  if #reply > limit + 1 or seen >= 1000 or bytes > 1048576 or\n"
    "    read > 4194304 then\n"
    "   reply[1] = last\n"
    "   return reply\n"
    "  end\n"
    "  seen, last = seen + 1, entry[1]\n"
    "  if is_wanted(entry[2]) then add(entry) end\n"
    " end\n"
    " from = '(' .. last\n"
    "until #page < count\n"
    "if ARGV[6] ~= '' then\n"
    " local pending = redis.pcall('XPENDING', KEYS[2], ARGV[6],\n"
    "  position, position, 1)\n"
    " if not pending.err then reply[2] = #pending end\n"
    "end\n"
    "return reply\n";
