#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Which store this is (src/store/record/origin.h): outcomes that wait on a
-- gateway's disk are for one store, and for no other that store.redis may name
-- by then.  And which data it has: that is another one where all was lost.
-- KEYS: the store's id, that of its data; random names
-- ARGV: 1 the id that it gets where it has none: a new one, or the one that
--       this gateway knew it by, if it has lost its data since; 2 a new one
-- Answers: DONE, and the id, that of the data, and 1, where it had no id.
--
-- They are the only keys that have no end.

-- include clock.lua

local id, made = redis.call('GET', KEYS[1]), nil
if not id then
	id, made = ARGV[1], '1'
	redis.call('SET', KEYS[1], id)
end
redis.call('SET', KEYS[2], ARGV[2], 'NX')
return {'DONE', 0, now, call, id, redis.call('GET', KEYS[2]), made}
