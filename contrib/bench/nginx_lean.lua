-- SPDX-License-Identifier: BSD-2-Clause
-- What a skilled user of nginx, Lua and Redis would run instead of onceproxy,
-- with as little work per request as the promise "store, then answer" leaves:
-- a module that is loaded once, claims by SET NX GET (Redis 7), completion by a
-- script that compares the owner and the fingerprint, a packed record.
--
-- A record is a letter (P: in flight, C: completed), 16 bytes of fingerprint,
-- and of P the owner, of C three digits of status, three of the length of the
-- header lines, these lines, and the body.
local redis = require "nginx.redis"
local sub, format, md5 = string.sub, string.format, ngx.md5_bin
local var, null = ngx.var, ngx.null

local LEASE_MS, RETENTION_MS, POOL, IDLE_MS = 60000, 86400000, 512, 60000
local COMPLETE = [[
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
]]
local sha = ngx.sha1_bin(COMPLETE):gsub(".", function(byte)
	return format("%02x", byte:byte())
end)
-- What belongs to a connection, or what nginx writes by itself.
local OWN = { connection = true, ["transfer-encoding"] = true,
	["content-length"] = true, date = true, server = true,
	["keep-alive"] = true }

local M = {}
local path, me, count, memory

-- In each worker: where Redis is, and a dictionary for answers, or nil.
function M.start(redis_path, dict)
	path, memory = "unix:" .. redis_path, dict and ngx.shared[dict]
	me = sub(md5(ngx.worker.pid() .. ":" .. ngx.now() .. ":" ..
	    math.random(1e9)), 1, 8)
	count = 0
	assert(ngx.timer.at(0, function()
		local red = redis:new()
		if red:connect(path) then
			red:script("LOAD", COMPLETE)
			red:set_keepalive(IDLE_MS, POOL)
		end
	end))
end

local function connected()
	local red = redis:new()
	red:set_timeout(2000)
	local ok, err = red:connect(path)
	if not ok then
		ngx.log(ngx.ERR, "redis: ", err)
		return ngx.exit(503)
	end
	return red
end

local function replay(record)
	local to = 23 + tonumber(sub(record, 21, 23))
	ngx.status = tonumber(sub(record, 18, 20))
	local header = ngx.header
	for name, value in sub(record, 24, to):gmatch("([^:]+):([^\n]*)\n") do
		header[name] = value
	end
	header["Idempotent-Replayed"] = "true"
	header["Content-Length"] = #record - to
	return ngx.print(sub(record, to + 1))
end

local function claim(name, pending)
	local red = connected()
	local got, err = red:set(name, pending, "NX", "GET", "PX", LEASE_MS)
	if not got then
		ngx.log(ngx.ERR, "claim: ", err)
		return ngx.exit(503)
	end
	red:set_keepalive(IDLE_MS, POOL)
	return got ~= null and got or nil
end

local function complete(name, pending, record)
	local red = connected()
	local done, err = red:evalsha(sha, 1, name, pending, record,
	    RETENTION_MS)
	if not done and err and sub(err, 1, 8) == "NOSCRIPT" then
		done, err = red:eval(COMPLETE, 1, name, pending, record,
		    RETENTION_MS)
	end
	if done ~= 1 then
		ngx.log(ngx.ERR, "complete: ", err or "another owner")
		return ngx.exit(503)
	end
	red:set_keepalive(IDLE_MS, POOL)
end

function M.serve()
	local key, tenant = var.http_idempotency_key, var.http_authorization
	if not key or not tenant then
		return ngx.exit(400)
	end
	ngx.req.read_body()
	local uri = var.request_uri
	local print = md5(var.request_method .. uri ..
	    (ngx.req.get_body_data() or ""))
	local name = "lean:" .. md5(#tenant .. ":" .. tenant .. key)

	count = count + 1
	local pending = "P" .. print .. me .. count
	local got = memory and memory:get(name)
	if not got then
		got = claim(name, pending)
		if got and memory and sub(got, 1, 1) == "C" then
			memory:set(name, got, 60)
		end
	end
	if got then
		if sub(got, 2, 17) ~= print then
			return ngx.exit(422)
		end
		if sub(got, 1, 1) == "P" then
			return ngx.exit(409)
		end
		return replay(got)
	end

	local answer = ngx.location.capture("/upstream" .. uri, {
		method = ngx.HTTP_POST, always_forward_body = true })
	local status, body = answer.status, answer.body
	if status == 502 or status == 504 or answer.truncated then
		-- It may have been executed: the claim stays until it expires.
		return ngx.exit(502)
	end
	local lines, header = "", ngx.header
	for field, value in pairs(answer.header) do
		if not OWN[field:lower()] and type(value) == "string" then
			lines = lines .. field .. ":" .. value .. "\n"
			header[field] = value
		end
	end
	complete(name, pending, format("C%s%03d%03d", print, status, #lines) ..
	    lines .. body)
	ngx.status = status
	header["Content-Length"] = #body
	return ngx.print(body)
end

return M
