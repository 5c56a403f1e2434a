# SPDX-License-Identifier: BSD-2-Clause
"""TLS in front of a plain port, for tests written in C.

tls_front.py CERTIFICATE KEY PORT [rude] [tls12]

Prints its own port, serves until its standard input ends.  What the plain
side sends in one piece goes out as one record; its end becomes close_notify
and FIN (with "rude" only FIN), its reset a reset."""

import select
import socket
import ssl
import struct
import sys
import threading


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("ii", 1, 0))
    sock.close()


def pump(tls, plain):
    """Passes bytes on until one side ends; true where the plain side was
    reset."""
    while True:
        ready = [tls] if tls.pending() else select.select(
            [tls, plain], [], [])[0]
        if plain in ready:
            try:
                data = plain.recv(65536)
            except ConnectionError:
                return True
            if not data:
                return False
            tls.sendall(data)
        if tls in ready:
            data = tls.recv(65536)
            if not data:
                return False
            plain.sendall(data)


def serve(sock, context, port, rude):
    try:
        tls = context.wrap_socket(sock, server_side=True)
    except (ssl.SSLError, OSError):
        sock.close()
        return
    plain = socket.create_connection(("127.0.0.1", port))
    try:
        if pump(tls, plain):
            reset(tls)
        elif not rude:
            tls.settimeout(1)
            tls.unwrap()
    except (ssl.SSLError, OSError):
        pass
    plain.close()
    tls.close()


def main():
    certificate, key, port, *rest = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    # A client that offers HTTP/2 would get it here.
    context.set_alpn_protocols(["h2"])
    if "tls12" in rest:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(listener.getsockname()[1], flush=True)

    def accept():
        while True:
            sock, _ = listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, daemon=True, args=(
                sock, context, int(port), "rude" in rest)).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


main()
