-- SPDX-License-Identifier: BSD-2-Clause
-- What one would build without onceproxy: claim the key in Redis, forward,
-- store the answer, then answer; retries get the stored answer.  As short as
-- it can be and still keep "store, then answer": no lease, no fencing.
local redis = require "nginx.redis"
local cjson = require "cjson.safe"

local CLAIM = [[
local got = redis.call('GET', KEYS[1])
if got then return got end
redis.call('SET', KEYS[1], 'P' .. ARGV[1], 'PX', 86400000)
return ''
]]
local sha

local function connected()
	local red = redis:new()
	red:set_timeout(2000)
	local ok, err = red:connect("unix:" .. ngx.var.redis_path)
	if not ok then
		ngx.log(ngx.ERR, "redis: ", err)
		return ngx.exit(503)
	end
	return red
end

local function claim(red, key, print)
	if not sha then
		sha = red:script("LOAD", CLAIM)
	end
	return red:evalsha(sha, 1, key, print)
end

ngx.req.read_body()
local key = ngx.req.get_headers()["Idempotency-Key"]
local tenant = ngx.req.get_headers()["Authorization"]
if not key or not tenant then
	return ngx.exit(400)
end
local body = ngx.req.get_body_data() or ""
local print = ngx.md5(ngx.var.request_method .. ngx.var.request_uri .. body)
local name = "lua:" .. ngx.md5(#tenant .. ":" .. tenant .. key)

local red = connected()
local got = claim(red, name, print)
if got and got ~= "" and got ~= ngx.null then
	red:set_keepalive(10000, 100)
	if string.sub(got, 1, 1) == "P" then
		return ngx.exit(409)
	end
	local kept = cjson.decode(string.sub(got, 34))
	if string.sub(got, 2, 33) ~= print then
		return ngx.exit(422)
	end
	ngx.status = kept.status
	for field, value in pairs(kept.header) do
		ngx.header[field] = value
	end
	ngx.header["Idempotent-Replayed"] = "true"
	return ngx.print(kept.body)
end
red:set_keepalive(10000, 100)

local answer = ngx.location.capture("/upstream" .. ngx.var.request_uri, {
	method = ngx.HTTP_POST, body = body })
local record = "C" .. print .. cjson.encode({
	status = answer.status, body = answer.body,
	header = { ["Content-Type"] = answer.header["Content-Type"] } })
red = connected()
red:set(name, record, "PX", 86400000)
red:set_keepalive(10000, 100)
ngx.status = answer.status
for field, value in pairs(answer.header) do
	if field ~= "Connection" and field ~= "Transfer-Encoding" then
		ngx.header[field] = value
	end
end
ngx.print(answer.body)
