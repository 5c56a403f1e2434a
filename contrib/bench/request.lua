-- SPDX-License-Identifier: BSD-2-Clause
-- wrk's script: arguments are first or replay or pass, the path, and a word
-- that makes this run's keys unlike any other's.
local kind, path, run, threads = nil, nil, nil, 0
local body = '{"amount":4200,"currency":"eur","customer":"cus_9s6XKzkNRiz8i3",'
    .. '"description":"an order of the usual kind","metadata":'
    .. '{"order":"6735","basket":"3a9c5f1e77"},"capture":true,"x":"12"}'

function setup(thread)
	thread:set("id", threads)
	threads = threads + 1
end

function init(args)
	kind, path, run = args[1], args[2], args[3]
	wrk.method = "POST"
	wrk.body = body
	wrk.headers["Content-Type"] = "application/json"
	wrk.headers["Authorization"] = "Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc"
	wrk.headers["User-Agent"] = "bench/1.0"
	wrk.headers["Accept"] = "application/json"
	n = 0
	fixed = {}
	for i = 1, 64 do
		wrk.headers["Idempotency-Key"] = run .. "-fixed-" .. i
		fixed[i] = wrk.format(nil, path)
	end
	wrk.headers["Idempotency-Key"] = "@KEY@"
	local text = wrk.format(nil, path)
	local at = string.find(text, "@KEY@", 1, true)
	head, tail = string.sub(text, 1, at - 1), string.sub(text, at + 5)
	wrk.headers["Idempotency-Key"] = nil
	plain = wrk.format(nil, path)
end

function request()
	n = n + 1
	if kind == "first" then
		return head .. run .. "-" .. id .. "-" .. n .. tail
	elseif kind == "replay" then
		return fixed[n % 64 + 1]
	end
	return plain
end

function done(summary, latency, requests)
	local errors = summary.errors
	io.write(string.format(
	    '@{"requests":%d,"us":%d,"bad":%d,"p50_us":%d,"p99_us":%d}\n',
	    summary.requests, summary.duration,
	    errors.connect + errors.read + errors.write + errors.status +
	    errors.timeout, latency:percentile(50), latency:percentile(99)))
end
