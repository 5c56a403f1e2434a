#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Which store this is (src/store/record/origin.h): outcomes that wait on a
-- gateway's disk are for one store, and for no other that store.redis may name
-- by then.  KEYS: the store's id, a random name ARGV: 1 the id that it gets
-- where it has none: a new one, or the one that
--       this gateway knew it by, if it has lost its data since
-- Answers: DONE, and the id; and 1, where it had none.
--
-- It is the only key that has no end.

-- include clock.lua

local id = redis.call('GET', KEYS[1])
if id then
	return {'DONE', 0, now, call, id}
end
redis.call('SET', KEYS[1], ARGV[1])
return {'DONE', 0, now, call, ARGV[1], '1'}
