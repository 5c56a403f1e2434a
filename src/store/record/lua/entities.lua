-- SPDX-License-Identifier: BSD-2-Clause
-- What a request changes, for newer_only and serialize.  Include before it:
-- slot_migration.lua and transitions.lua.  The arguments from the third on are
-- those of claim.lua.
--
-- An entity is a string: the holder's record and owner, the highest version
-- that was COMPLETED, and that as JSON, with a blank between them; "-" stands
-- for none.  A key of an entity ends "SHARD}:e:NAME", a holder's record
-- "SHARD}:r:NAME".  On a cluster, both have the shard of the record.
--
-- A holder holds the entity as long as its record is PROCESSING and its own:
-- the lease of the one is the lease of the other, so whatever ends the claim
-- sets the entity free.  A step goes by an entity, and by its holder, only
-- where they are beside the record (slot_migration.lua).

-- How KEYS[1] begins, up to the brace of its shard, and how it ends.
local root, own = string.match(KEYS[1], '^(.*{)(%d+}:r:%x+)$')

local function entity_read(key)
	local value = redis.call('GET', root .. key) or '- - - -'
	local e = {}
	e.holder, e.owner, e.version, e.shown =
	    string.match(value, '^(%S+) (%S+) (%S+) (%S+)$')
	if not e.holder then
		e.holder, e.owner, e.version, e.shown = '-', '-', '-', '-'
	end
	return e
end

local function entity_write(key, e, ttl)
	local left = redis.call('PTTL', root .. key)
	redis.call('SET', root .. key, e.holder .. ' ' .. e.owner .. ' ' ..
	    e.version .. ' ' .. e.shown, 'PX', math.max(ttl, left))
end

-- What the script is to answer, before its first write, where the key may be on
-- another server than the record.
local function entity_apart(key)
	return apart(KEYS[1], root .. key)
end

-- The version that was COMPLETED, as JSON, where this claim's is not above it.
local function entity_stale()
	local version = ARGV[4]
	if #ARGV < 7 or version == '' then
		return nil
	end
	local e = entity_read(ARGV[3])
	return e.version ~= '-' and version <= e.version and e.shown or nil
end

-- The record of another key that holds this claim's entity: its key and the end
-- of its lease; or nil, and what slot_migration.lua says of that key.
local function entity_holder()
	if #ARGV < 7 or ARGV[6] ~= '1' then
		return nil
	end
	local e = entity_read(ARGV[3])
	if e.holder == '-' or e.holder == own then
		return nil
	end
	local away = entity_apart(e.holder)
	if away then
		return nil, away
	end
	local head = redis.call('GETRANGE', root .. e.holder, 0, MARK - 1)
	local lease_until = string.sub(head, LEASE, LEASE_END)
	if string.find(head, '^o[12]P') and lease_until > stamp and
	    string.sub(head, OWNER, OWNER_END) == e.owner then
		return {key = e.holder, lease_until = lease_until}
	end
end

local function entity_busy(r, holder, waits)
	if waits then
		redis.pcall('SETRANGE', root .. holder.key, MARK - 1, '+')
	end
	return answer('BUSY', r, holder.lease_until - now,
	    string.sub(holder.key, -32))
end

-- What the record has to know for the step that completes it, of the arguments
-- from the given one on; keep: how long the version is remembered, ms.
local function entity_note(r, first, keep)
	r.entity, r.version, r.shown, r.keep = ARGV[first], nil, nil, nil
	if ARGV[first + 1] ~= '' then
		r.version, r.shown = ARGV[first + 1], ARGV[first + 2]
		r.keep = keep
	end
end

-- After the record is PROCESSING.
local function entity_hold(r, ttl)
	if #ARGV < 7 or ARGV[6] ~= '1' then
		return
	end
	local e = entity_read(r.entity)
	e.holder, e.owner = own, r.owner
	entity_write(r.entity, e, tonumber(ttl))
end

-- After the record is gone.
local function entity_forget(r)
	local e = r.entity and entity_read(r.entity)
	if not e or e.holder ~= own or e.owner ~= r.owner then
		return
	elseif e.version == '-' then
		redis.call('DEL', root .. r.entity)
		return
	end
	e.holder, e.owner = '-', '-'
	entity_write(r.entity, e, 0)
end

-- After the record is COMPLETED.
local function entity_raise(r)
	if not r.entity or not r.version then
		return
	end
	local e = entity_read(r.entity)
	if e.version == '-' or e.version < r.version then
		e.version, e.shown = r.version, r.shown
	end
	entity_write(r.entity, e, tonumber(r.keep))
end
