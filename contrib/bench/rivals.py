# SPDX-License-Identifier: BSD-2-Clause
"""The rivals, each as its users would set it up, the upstream and Redis that
they share, and where each runs: the rival on one processor, the rest on the
others."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.realpath(__file__))
PACKAGES = ("nginx", "libnginx-mod-http-lua", "libnginx-mod-http-echo",
            "lua-nginx-redis", "lua-cjson", "haproxy", "wrk", "redis-server")
BODY = ('{"id":"ch_3MmlLrLkdIwHu7ix0snN0B15","object":"charge","amount":4200,'
        '"currency":"eur","status":"succeeded","captured":true,"paid":true,'
        '"customer":"cus_9s6XKzkNRiz8i3","created":1679090539}')
SIZES = {"s200": 1, "s4k": 20, "s64k": 320}


def install(*more):
    """What is missing of Debian's packages."""
    missing = [name for name in (*PACKAGES, *more) if subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status}", name],
        capture_output=True, text=True, check=False).stdout != "installed"]
    if missing:
        root = [] if os.geteuid() == 0 else ["sudo"]
        subprocess.run([*root, "apt-get", "update", "-q"], check=True)
        subprocess.run([*root, "apt-get", "install", "-q", "-y",
                        "--no-install-recommends", *missing], check=True)


def build():
    """Where onceproxy is, built as a package would be."""
    top = os.path.join(HERE, "..", "..")
    where = os.path.join(top, "build", "bench")
    subprocess.run(
        ["bash", "-euc", 'top=$1; . "$top/contrib/lib-debian.sh"; '
         'need_packages $build_packages; build_goals=src/onceproxy '
         'build_in "$2" CFLAGS="-O2 -g"', "build", top, where],
        check=True, stdout=sys.stderr)
    return os.path.join(where, "src", "onceproxy")


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def wait_port(port):
    deadline = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


class Server:
    """A process, with the processes that it has started."""

    def __init__(self, argv, port=None, log=None):
        self.port = port
        with open(log or os.devnull, "ab") as out:
            self.child = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        if port:
            wait_port(port)

    def pids(self):
        path = f"/proc/{self.child.pid}/task/{self.child.pid}/children"
        with open(path, encoding="ascii") as file:
            return [self.child.pid, *map(int, file.read().split())]

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


class Stage:
    """Everything that a run needs, started when it is first asked for."""

    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.rivals, self.servers = {}, []

    def __enter__(self):
        os.chmod(self.folder, 0o755)
        self.redis_path = self.path("redis.sock")
        aof = ["--appendonly", "yes"] if self.options.aof else []
        self.redis = self.server(
            [*self.pinned("client"), "redis-server", "--port", "0",
             "--unixsocket", self.redis_path,
             "--unixsocketperm", "777", "--save", "",
             "--dir", self.folder, *aof])
        while not os.path.exists(self.redis_path):
            time.sleep(0.02)
        if self.options.tls:
            self.make_certificate()
        self.upstream_port = free_port()
        self.server([*self.pinned("client"), "nginx", "-c", self.file(
            "upstream.conf", upstream_conf(self))], self.upstream_port)
        return self

    def __exit__(self, *_):
        for server in reversed(self.servers):
            server.stop()

    def make_certificate(self):
        """One that nobody needs to trust."""
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost",
             "-days", "2", "-keyout", self.path("tls.key"),
             "-out", self.path("tls.crt")], check=True, capture_output=True)

    def listen(self, port):
        """nginx' words for a port."""
        if not self.options.tls:
            return f"listen 127.0.0.1:{port} backlog=4096;"
        return (f"listen 127.0.0.1:{port} ssl backlog=4096;"
                f" ssl_certificate {self.path('tls.crt')};"
                f" ssl_certificate_key {self.path('tls.key')};")

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as out:
            out.write(text)
        return self.path(name)

    def pinned(self, who):
        """The rival has the first processors, one for each worker, where
        there are more than that."""
        cpus, workers = os.cpu_count(), self.options.workers
        if cpus <= workers:
            return []
        mine = f"0-{workers - 1}" if who == "rival" \
            else f"{workers}-{cpus - 1}"
        return ["taskset", "-c", mine]

    def server(self, argv, port=None):
        server = Server(argv, port, self.path("log"))
        self.servers.append(server)
        return server

    def rival(self, name):
        if name not in self.rivals:
            port = free_port()
            argv = STARTS[name](self, port)
            self.rivals[name] = self.server(
                [*self.pinned("rival"), *argv], port)
        return self.rivals[name]

    def end(self, name):
        """The next time it is asked for, it is a new one."""
        server = self.rivals.pop(name)
        server.stop()
        self.servers.remove(server)

    def upstream_requests(self):
        """How many requests the upstream has had, but for this question."""
        with urllib.request.urlopen(
                f"http://127.0.0.1:{self.upstream_port}/status") as got:
            text = got.read().decode()
        self.asked = getattr(self, "asked", 0) + 1
        return int(text.split("\n")[2].split()[2]) - self.asked

    def rest(self):
        """Between runs: what the last one left behind is dealt with."""
        subprocess.run(["redis-cli", "-s", self.redis_path, "PING"],
                       capture_output=True, check=True)
        time.sleep(0.2)


NGINX = """
{modules}
daemon off;
worker_processes {workers};
pid {folder}/{name}.pid;
error_log {folder}/{name}.err;
events {{ worker_connections {connections}; }}
http {{
	client_body_temp_path {folder}/body-{name};
	proxy_temp_path {folder}/proxy-{name};
	fastcgi_temp_path {folder}/fast-{name};
	uwsgi_temp_path {folder}/uwsgi-{name};
	scgi_temp_path {folder}/scgi-{name};
	client_body_buffer_size 128k;
	keepalive_requests 1000000000;
	keepalive_timeout 600s;
	default_type application/json;
	access_log {log};
{rest}
}}
"""
MODULES = "/usr/lib/nginx/modules/"


def clients(stage):
    """How many connections, of both sides, a gateway must be able to have."""
    return getattr(stage.options, "clients", 4096)


def nginx_conf(stage, name, rest, modules=(), log=True, workers=None):
    log = log and not stage.options.no_access_log
    loads = "".join(f"load_module {MODULES}{m};\n" for m in modules)
    return NGINX.format(
        modules=loads, folder=stage.folder, name=name, rest=rest,
        workers=workers or stage.options.workers, connections=clients(stage),
        log=f"{stage.folder}/{name}.log" if log else "off")


def upstream_conf(stage):
    places = "".join(
        f"location ~ ^/(v1/charges|pass)/{name}$ {{"
        f" echo_duplicate {times} '{BODY}'; }}\n"
        for name, times in SIZES.items() if times > 1)
    return nginx_conf(stage, "upstream", f"""
	server {{
		listen 127.0.0.1:{stage.upstream_port} backlog=4096;
		location = /status {{ stub_status; }}
		location ~ ^/(v1/charges|pass)/slow$ {{
			echo_sleep 0.05; echo '{BODY}'; }}
		location ~ ^/(v1/charges|pass)/slow30$ {{
			echo_sleep 30; echo '{BODY}'; }}
		{places}
		location / {{ return 200 '{BODY}'; }}
	}}""", ["ndk_http_module.so", "ngx_http_echo_module.so"], log=False,
        workers=1)


def ledger(stage, line, act):
    """Starts an upstream that acts so, and writes such a line for each
    request: its address, and the file of the lines."""
    port, log = free_port(), stage.path("keys")
    conf = nginx_conf(stage, "ledger", f"""
	log_format keys '{line}';
	server {{
		listen 127.0.0.1:{port} backlog=4096;
		access_log {log} keys;
		location / {{ {act} }}
	}}""", ["ndk_http_module.so", "ngx_http_echo_module.so"], log=False,
                      workers=1)
    stage.server([*stage.pinned("client"), "nginx", "-c",
                  stage.file("ledger.conf", conf)], port)
    return f"http://127.0.0.1:{port}", log


def pool(stage):
    return f"""
	upstream api {{
		server 127.0.0.1:{stage.upstream_port};
		keepalive 512;
		keepalive_requests 1000000000;
	}}
	proxy_http_version 1.1;
	proxy_set_header Connection "";
	proxy_set_header X-Forwarded-For $remote_addr;
	proxy_set_header Host $host;"""


def nginx(stage, port, name="nginx"):
    conf = nginx_conf(stage, name, f"""
	{pool(stage)}
	server {{
		{stage.listen(port)}
		location / {{
			proxy_pass http://api; }}
	}}""")
    return ["nginx", "-c", stage.file(name + ".conf", conf)]


def lua(stage, port):
    script = stage.path("nginx_lua.lua")
    shutil.copy(os.path.join(HERE, "nginx_lua.lua"), script)
    conf = nginx_conf(stage, "lua", f"""
	lua_package_path "/usr/share/lua/5.1/?.lua;;";
	lua_package_cpath "/usr/lib/x86_64-linux-gnu/lua/5.1/?.so;;";
	{pool(stage)}
	server {{
		{stage.listen(port)}
		set $redis_path {stage.redis_path};
		location /upstream/ {{
			internal;
			proxy_pass http://api/; }}
		location / {{ content_by_lua_file {script}; }}
	}}""", ["ndk_http_module.so", "ngx_http_lua_module.so"])
    return ["nginx", "-c", stage.file("lua.conf", conf)]


def lua_lean(stage, port, name="lua-lean", cache=None):
    """cache: bytes of a dictionary that all workers share, for answers."""
    shutil.copy(os.path.join(HERE, "nginx_lean.lua"), stage.folder)
    shared = f"lua_shared_dict answers {cache};" if cache else ""
    answers = '"answers"' if cache else "nil"
    conf = nginx_conf(stage, name, f"""
	lua_package_path "{stage.folder}/?.lua;/usr/share/lua/5.1/?.lua;;";
	{shared}
	init_by_lua_block {{ require "nginx_lean" }}
	init_worker_by_lua_block {{
		require("nginx_lean").start("{stage.redis_path}", {answers}) }}
	{pool(stage)}
	server {{
		{stage.listen(port)}
		location /upstream/ {{
			internal;
			proxy_pass http://api/; }}
		location / {{ content_by_lua_block {{
			require("nginx_lean").serve() }} }}
	}}""", ["ndk_http_module.so", "ngx_http_lua_module.so"])
    return ["nginx", "-c", stage.file(name + ".conf", conf)]


def lua_lean_cache(stage, port):
    return lua_lean(stage, port, "lua-lean-cache", "64m")


def haproxy(stage, port):
    conf = f"""
global
	nbthread {stage.options.workers}
	maxconn {clients(stage)}
defaults
	mode http
	timeout connect 5s
	timeout client 60s
	timeout http-keep-alive 600s
	timeout server 60s
	http-reuse always
listen front
	bind 127.0.0.1:{port}
	option forwardfor
	server api 127.0.0.1:{stage.upstream_port}
"""
    return ["haproxy", "-db", "-f", stage.file("haproxy.cfg", conf)]


def node(stage, port, program="gateway.js"):
    modules = os.path.join(stage.folder, "node")
    if not os.path.exists(modules):
        shutil.copytree(os.path.join(HERE, "node"), modules)
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=modules,
                       stdout=subprocess.DEVNULL, check=True)
    return ["node", os.path.join(modules, program), str(port),
            stage.redis_path, f"http://127.0.0.1:{stage.upstream_port}"]


def node_lean(stage, port):
    return node(stage, port, "gateway_lean.js")


def onceproxy(stage, port, name="onceproxy", cache=0, store=None):
    state = stage.path(name + ".state")
    os.makedirs(state, exist_ok=True)
    conf = {
        "listen": [f"127.0.0.1:{port}"],
        "workers": stage.options.workers,
        "state_dir": state,
        "store": store or {"redis": "unix:" + stage.redis_path,
                           "prefix": name},
        "cache": {"size": cache},
        "limits": {"connections": clients(stage), "idle_timeout": "10m"},
        "upstreams": {"api": {
            "targets": [f"http://127.0.0.1:{stage.upstream_port}"],
            "timeout": "60s", "keepalive": 512}},
        "routes": [
            {"path": "/v1/charges/*", "methods": ["POST"], "upstream": "api",
             "idempotency": {"max_response_body": "1MiB"}},
            {"path": "/*", "upstream": "api"}],
    }
    if stage.options.tls:
        conf["listen"] = [{"address": f"127.0.0.1:{port}", "tls": {
            "certificate": stage.path("tls.crt"),
            "key": stage.path("tls.key")}}]
    if stage.options.no_access_log:
        conf["log"] = {"access": False}
    return [os.path.abspath(stage.options.onceproxy), "serve", "-c",
            stage.file(name + ".json", json.dumps(conf))]


def onceproxy_cache(stage, port, name="onceproxy-cache"):
    return onceproxy(stage, port, name, "64MiB")


STARTS = {"nginx": nginx, "haproxy": haproxy, "lua": lua,
          "lua-lean": lua_lean, "lua-lean-cache": lua_lean_cache,
          "node": node, "node-lean": node_lean,
          "onceproxy": onceproxy, "onceproxy-cache": onceproxy_cache}

if __name__ == "__main__":
    sys.exit("this is a part of contrib/bench/run")
