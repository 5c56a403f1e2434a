# SPDX-License-Identifier: BSD-2-Clause
"""The demo payment API of contrib/, and a proxy that loses answers."""

import json
import os
import socket
import sys
import threading

from .http import Broken, Client, Reader, ask, build, parse_head, reset
from .process import Process


def source(path):
    """A file of the source tree."""
    here = os.path.dirname(os.path.abspath(__file__))
    top = os.environ.get("top_srcdir") or os.path.join(here, "../../..")
    return os.path.join(top, path)


class PaymentApi(Process):
    def __init__(self, *options):
        super().__init__([sys.executable, source("contrib/demo/payment-api"),
                          "--listen", "127.0.0.1:0", *options])
        self.url = self.wait_for_line("listening on").split()[-1]
        self.address = self.url.removeprefix("http://")

    def charges(self):
        """What it executed, in order."""
        got = ask(self.address, build("GET", "/v1/charges"))
        return json.loads(got.body)["data"]


class LossyProxy:
    """Stands between clients and a gateway: every nth answer is read whole
    from the gateway, and then the client's connection is reset instead."""

    def __init__(self, target, nth):
        self.target, self.nth = target, nth
        self.answers = self.lost = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,),
                             daemon=True).start()

    def _serve(self, sock):
        reader = Reader(sock)
        try:
            with Client(self.target) as gateway:
                while self._exchange(sock, reader, gateway):
                    pass
        except (OSError, Broken):
            pass
        sock.close()

    def _exchange(self, sock, reader, gateway):
        head = reader.until(b"\r\n\r\n")
        if head is None:
            return False
        fields = dict((n.lower(), v) for n, v in parse_head(head[:-4])[1])
        body = reader.exactly(int(fields.get("content-length", 0)))
        gateway.send(head + body)
        answer = gateway.read(head.split(b" ")[0].decode())
        if answer is None:
            return False
        with self.lock:
            self.answers += 1
            lose = self.answers % self.nth == 0
            self.lost += lose
        if lose:
            reset(sock)
            return False
        sock.sendall(answer.raw)
        return True

    def stop(self):
        self.listener.close()
