# SPDX-License-Identifier: BSD-2-Clause
import glob
import os
import subprocess

from adapter import Base

HERE = os.path.dirname(__file__)
BENCH = os.path.join(HERE, "..", "..", "bench")


class Adapter(Base):
    """What one writes who has nginx, Lua and Redis (contrib/bench); it forgets
    a claim by time alone.  Wants nginx, libnginx-mod-http-lua, lua-cjson and
    lua-nginx-redis of Debian."""
    words = "contrib/bench/nginx_lua.lua"
    serve = f"content_by_lua_file {os.path.realpath(BENCH)}/nginx_lua.lua;"
    start = ""
    # Its workers must reach the socket of Redis.
    user = "user root;\n" if os.geteuid() == 0 else ""

    def version(self):
        said = subprocess.run(["nginx", "-v"], capture_output=True, text=True,
                              check=True).stderr
        return said.strip().rpartition("/")[2]

    def command(self, folder, port, redis, upstream):
        modules = "".join(
            f"load_module {path};\n" for name in ("ndk", "ngx_http_lua")
            for path in glob.glob(f"/usr/lib/nginx/modules/{name}*_module.so"))
        path = os.path.join(folder, "nginx.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"""{modules}{self.user}daemon off; pid {folder}/pid;
worker_processes 1; error_log stderr; events {{}}
http {{
    access_log off; client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    lua_package_path
        "{os.path.realpath(BENCH)}/?.lua;/usr/share/lua/5.1/?.lua;;";
    {self.start.replace("FOLDER", folder)}
    server {{
        listen 127.0.0.1:{port};
        location /upstream/ {{
            internal; proxy_next_upstream off;
            proxy_read_timeout {self.patience_s}s;
            proxy_pass http://127.0.0.1:{upstream}/; }}
        location / {{
            set $redis_path {folder}/redis; {self.serve} }}
    }}
}}
""")
        return ["nginx", "-c", path], {}
