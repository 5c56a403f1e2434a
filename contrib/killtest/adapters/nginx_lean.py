# SPDX-License-Identifier: BSD-2-Clause
from adapters import nginx_lua


class Adapter(nginx_lua.Adapter):
    """What a skilled user of them writes, with an owner for each claim."""
    lease_s = 60  # it has no member for that
    words = "contrib/bench/nginx_lean.lua"
    start = """init_by_lua_block { require "nginx_lean" }
    init_worker_by_lua_block {
        require("nginx_lean").start("FOLDER/redis", nil) }"""
    serve = 'content_by_lua_block { require("nginx_lean").serve() }'
