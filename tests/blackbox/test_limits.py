# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3, limits: what is too much is refused, and the rest goes
on being served."""

import json
import os
import resource

from once import tap
from once.http import ask, build, connect, keyed
from once.raw import unread_bytes
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered
from once.wait import eventually


# --- heads ---

@each([(str(count), count) for count in (549, 551, 1000, 15_000, 31_000)])
def any_number_of_arguments_in_a_query_is_forwarded(bench, count):
    upstream, gateway = bench.pair(limits={"request_headers": "32KiB"})
    target = "/x?" + "&" * count
    equal(gateway.send(build("GET", target)).status, 201)
    equal(upstream.requests[0].target, target)
    client = gateway.client()
    for number in range(3):
        client.send(keyed(f"k{number}", target="/v1/charges?a=b" +
                          "&c=d" * (count // 4)))
        got = client.read()
        equal(got.status, 201)
        equal(got.get("Connection"), None)
    client.close()


def fields_of(count):
    """The Host is one more."""
    return [("A", "b")] * (count - 1)


def one_field(length):
    return [("A", "b" * length)]


def cookies(count):
    return [("Cookie", "; ".join(["a=b"] * count))]


@each([
    ("a hundred fields", fields_of(100)),
    ("a field of 16000 bytes", one_field(16_000)),
    ("a cookie of 12000 bytes", [("Cookie", "b" * 12_000)]),
    ("a hundred cookies", cookies(100)),
    ("500 cookies", cookies(500)),
])
def a_head_is_taken_with(bench, fields):
    # The answer's head needs room as well.
    upstream, gateway = bench.pair(answer(fields=[("Large", "y" * 12_000)]))
    got = gateway.ask("k", fields=fields)
    if got.status == 431:  # the key and the tenant were too much
        got = gateway.send(build("GET", "/x", fields))
    equal((got.status, got.get("Large")), (201, "y" * 12_000))
    equal(upstream.count(), 1)


@each([(size, size) for size in (400, 1024, 5_000, 20_000, 30_000, 65_536)])
def an_answers_head_has_room_whatever_a_requests_may_have(bench, size):
    """Even after the largest request that is allowed."""
    upstream, gateway = bench.pair(
        answer(fields=[("Large", "y" * 12_000)]),
        limits={"request_headers": size})
    bare = len(keyed("k"))
    for length in (1, size - bare - 100, size - bare):
        before = upstream.count()
        got = gateway.ask("k" if length == 1 else f"k{length}",
                          fields=[("A", "b" * max(1, length))])
        if got.status == 431:
            equal(upstream.count(), before)
        else:
            equal((got.status, got.get("Large")), (201, "y" * 12_000))
    assert upstream.count() > 0


def head_of(size, target=b"/x", line=b"A: ", many=b""):
    """A head of so many bytes; the one filled up is the line, or the target.
    """
    rest = b" HTTP/1.1\r\nHost: h\r\n" + many
    if line:
        rest += line + b"b\r\n"
    rest += b"\r\n"
    fill = size - len(b"GET " + target + rest)
    if not line:
        return b"GET " + target + b"&" * fill + rest
    return b"GET " + target + rest.replace(line, line + line[-1:] * fill)


HEADS = [
    ("a long line", {"line": b"A: b"}),
    ("a long target", {"line": b""}),
    ("a long query", {"target": b"/x?", "line": b""}),
    ("blanks in front of a value", {}),
    ("no blank in front of any", {"line": b"A:b", "many": b"A:\r\n" * 98}),
    ("a long cookie", {"line": b"Cookie: b"}),
]


@each([(f"{words}, {size} bytes", size, parts)
       for words, parts in HEADS for size in (1024, 16_384, 65_536)])
def a_head_may_have_just_so_many_bytes(bench, size, parts):
    """From its method to its empty line, however it comes and whatever was
    in front of it."""
    upstream, gateway = bench.pair(limits={"request_headers": size})
    body = build("POST", "/y", [], b"b" * (size - 300))
    for over, status in ((0, 201), (1, 431)):
        data = head_of(size + over, **parts)
        equal(len(data), size + over)
        for before in (b"", b"\r\n" * 200, build("POST", "/y"), 3 * body):
            for cut in (0, 7, size // 2, size - 1):
                count = before.count(b"HTTP/1.1")
                with gateway.client() as client:
                    client.send(before + data[:cut])
                    got = [client.read("GET").status for _ in range(count)]
                    client.send(data[cut:])
                    got.append(client.read("GET").status)
                equal(got, [201] * count + [status])
    equal(upstream.count(method="GET"), 16)


@test
def a_head_that_is_too_large_hears_what_it_may_have(bench):
    upstream, gateway = bench.pair(limits={"request_headers": "1KiB"})
    for target, fields in (("/x", one_field(2000)), ("/" + 2000 * "x", [])):
        got = gateway.send(build("GET", target, fields))
        equal((got.status, got.problem), (431, "headers-too-large"))
        assert got.json()["detail"].endswith(
            ": 1024 bytes (1 KiB) at most."), got.body
    got = gateway.send(build("GET", "/x", [("A", "b")] * 101))
    assert "more than 100 header fields" in got.json()["detail"], got.body
    equal(upstream.count(), 0)


@test
def where_no_head_is_small_enough_all_are_431(bench):
    upstream, gateway = bench.pair(limits={"request_headers": 1})
    for before in (b"", b"\r\n", b"\r\n\r\n"):
        with gateway.client() as client:
            client.send(before + build("GET", "/x"))
            equal(client.read("GET").status, 431)
            equal(client.reader.to_end(), b"")
    equal(upstream.count(), 0)


@each([(f"{many} fields, {size} bytes", size, many)
       for size in (16_384, 24_576, 65_536) for many in (1, 50, 95)])
def an_answers_head_has_room_beside_one_of_blanks(bench, size, many):
    """They are in the client's connection as all of its head is."""
    upstream, gateway = bench.pair(
        answer(fields=[("Large", "y" * 12_000)]),
        limits={"request_headers": size})
    for short in range(0, 9000, 1000):
        data = keyed(f"k{short}", [("A", "b")] * many)
        blanks = size - short - data.index(b"\r\n\r\n") - 4
        data = data.replace(b"A: ", b"A: " + b" " * blanks, 1)
        got = gateway.send(data)
        equal((got.status, got.get("Large")), (201, "y" * 12_000))
    equal(upstream.count(), 9)


@each([
    ("101 fields", fields_of(101)),
    ("6000 fields", fields_of(6000)),
    ("a field of 17000 bytes", one_field(17_000)),
    ("a field of a megabyte", one_field(1_000_000)),
    ("a cookie of 17000 bytes", [("Cookie", "b" * 17_000)]),
    ("1000 semicolons", [("Cookie", ";" * 1000)]),
    ("2000 cookies", cookies(2000)),
    ("8000 cookies", cookies(8000)),
    ("a target of 17000 bytes", None),
])
def a_head_is_431_with(bench, fields):
    upstream, gateway = bench.pair()
    target = "/x" if fields else "/" + "x" * 17_000
    with gateway.client() as client:
        try:
            client.send(build("GET", target, fields or []))
        except (BrokenPipeError, ConnectionResetError):
            pass
        # libmicrohttpd's own pages have a second head in the body.
        equal(client.read("GET").status, 431)
        client.reader.to_end()
    equal(upstream.count(), 0)
    equal(gateway.ask("k").status, 201)


@test
def no_number_of_cookies_makes_a_payment_whose_answer_has_no_room(bench):
    upstream, gateway = bench.pair(answer(fields=[("Large", "y" * 12_000)]))
    for count in range(100, 1000, 25):
        before = upstream.count()
        got = gateway.ask(f"k{count}", fields=cookies(count))
        equal((got.status, upstream.count() - before),
              (201, 1) if got.status == 201 else (431, 0))


# --- connections and descriptors ---

@test
def beyond_limits_connections_clients_are_told_and_others_served(bench):
    upstream, gateway = bench.pair(workers=1, limits={"connections": 3})
    hold = upstream.hold()
    task = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    idle = [gateway.client() for _ in range(2)]
    for client in idle:
        equal(client.exchange("GET", "/none", host=None).status, 400)
    idle = [gateway.client() for _ in range(2)]
    for number in range(20):
        got = ask(gateway.address, keyed(f"k{number}"))
        equal((got.status, got.problem, got.get("Connection")),
              (503, "overloaded", "close"))
    # Logged at once, and then not for each of them.
    line = gateway.wait_for_log("connections_full")
    equal((line["turned_away"], line["connections"]), (1, 3))
    assert len(gateway.find_log("connections_full")) < 20
    hold.release()
    equal(task.result().status, 201)
    for client in idle:
        client.send(keyed("k"))
        equal(client.read().replayed, True)
        client.close()
    eventually(lambda: gateway.send(keyed("k")).status == 201,
               "there is room again")
    equal(upstream.count(), 1)


@each([("one worker", 1), ("four workers", 4)])
def each_of_as_many_connections_as_are_allowed_is_served(bench, workers):
    """Whichever worker the kernel gives them to."""
    upstream, gateway = bench.pair(
        workers=workers, limits={"connections": 20},
        admin={"listen": "127.0.0.1:0"})
    with gateway.client() as before:
        equal(before.exchange("GET", "/x").status, 201)
        clients = [gateway.client() for _ in range(19)]
        for client in clients:
            equal(client.exchange("GET", "/x").status, 201)
        # The admin interface has its own.
        for _ in range(3):
            equal(ask(gateway.ready["admin"],
                      build("GET", "/healthz")).status, 200)
        for _ in range(10):
            got = ask(gateway.address, build("GET", "/x"))
            equal((got.status, got.problem), (503, "overloaded"))
    eventually(lambda: gateway.send(build("GET", "/x")).status == 201,
               "there is room again")
    for client in clients:
        client.close()


@test
def too_few_descriptors_are_said_and_fewer_clients_taken(bench):
    upstream = bench.upstream()
    gateway = bench.serve(bench.config(upstream, workers=1),
                          limits={resource.RLIMIT_NOFILE: (100, 100)})
    line = gateway.find_log("descriptors_few")[0]
    # Half of those that are not held are kept back, and a fourth of the rest
    # is for idle connections; a client needs two.
    equal((line["level"], line["descriptors"], line["held"], line["reserve"],
           line["idle"], line["connections"]), ("warn", 100, 33, 33, 8, 13))
    clients = [gateway.client() for _ in range(60)]
    # All that were accepted are served, the rest are told so.
    answers = []
    for number, client in enumerate(clients):
        client.send(keyed(f"k{number}"))
        answers.append(client.read().status)
    equal(answers, [201] * 13 + [503] * 47)
    equal(upstream.count(), 13)
    for client in clients:
        client.close()


def raise_own_limit():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def is_up(gateway, path="/healthz"):
    return ask(gateway.ready["admin"],
               build("GET", path, host="localhost")).status == 200


FEW = {resource.RLIMIT_NOFILE: (1024, 1024)}


@test
def requests_in_flight_leave_descriptors_for_what_must_go_on(bench):
    raise_own_limit()
    upstream, redis = bench.upstream(), bench.own_redis()
    gateway = bench.serve(bench.config(
        upstream, redis=redis, workers=1, options={"timeout": "10m"},
        admin={"listen": "127.0.0.1:0"}), limits=FEW)
    line = gateway.find_log("descriptors_few")[0]
    hold = upstream.hold()
    clients = [gateway.client() for _ in range(512)]
    for number, client in enumerate(clients):
        client.send(keyed(f"k{number}"))
    # Whoever is claimed later finds no Redis.
    upstream.wait_for(line["connections"])
    for path in ("/healthz", "/readyz", "/status", "/metrics"):
        assert is_up(gateway, path), path
    # Connections that were lost are made again.
    redis.restart()
    eventually(lambda: is_up(gateway, "/readyz"), "Redis is back")
    assert is_up(gateway)
    equal(line["connections"],
          (1024 - line["held"] - line["reserve"] - line["idle"]) // 2)
    assert line["needed"] > 20_000, line
    hold.release()
    for client in clients:
        client.close()


@test
def requests_whose_clients_have_left_leave_them_too(bench):
    raise_own_limit()
    upstream = bench.upstream()
    gateway = bench.serve(bench.config(
        upstream, workers=1, options={"timeout": "10m"},
        admin={"listen": "127.0.0.1:0"}), limits=FEW)
    hold = upstream.hold()

    def is_refused():
        return (gateway.find_log("connections_full")
                or gateway.find_log("request", outcome="unreachable"))
    number = 0
    while not is_refused():
        number += 1
        with gateway.client() as client:
            client.send(keyed(f"k{number}"))
            eventually(lambda: upstream.count(key=f"k{number}")
                       or is_refused())
    assert is_up(gateway)
    line = gateway.find_log("descriptors_few")[0]
    # Some refusals may still be read.
    used = len(os.listdir(f"/proc/{gateway.pid}/fd"))
    assert 512 < used <= 1024 - line["reserve"] + 32, used
    hold.release()
    # No target was marked as one that cannot be reached.
    eventually(lambda: gateway.ask("last").status == 201)


@test
def the_soft_limit_of_descriptors_is_raised(bench):
    gateway = bench.serve(bench.config(bench.upstream(), workers=1),
                          limits={resource.RLIMIT_NOFILE: (64, 2000)})
    equal(resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE),
          (2000, 2000))


def occupied(gateway):
    """Clients that stay, up to the descriptors that are left now and then:
    the gateway looks into its folder from time to time."""
    stay, told = [], 0
    while told < 5:
        client = gateway.client()
        client.send(build("GET", "/x"))
        if client.read().status == 503:
            told += 1
            client.close()
        else:
            told = 0
            stay.append(client)
    return stay


@test
def without_a_descriptor_clients_are_told_and_the_rest_is_served(bench):
    upstream, gateway = bench.pair(workers=1)
    with gateway.client() as client:
        client.send(keyed("k"))
        equal(client.read().status, 201)
        used = len(os.listdir(f"/proc/{gateway.pid}/fd"))
        hard = resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE, (used, hard))
        stay = occupied(gateway)
        client.send(keyed("k"))
        equal(client.read().replayed, True)
        resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE, (hard, hard))
        eventually(lambda: gateway.send(keyed("k")).status == 201)
    for client in stay:
        client.close()
    equal(upstream.count("/v1/charges"), 1)


# --- memory ---

MIB = 1 << 20


def announced(key, size, sent):
    fields = [("Idempotency-Key", key), ("Authorization", "a"),
              ("Content-Length", size)]
    return build("POST", "/v1/charges", fields) + b"x" * sent


def unknown_key(bench, **members):
    """A gateway, and the id of a key whose outcome nobody knows."""
    upstream = bench.upstream(close_unanswered)
    gateway = bench.gateway(upstream, admin={"listen": "127.0.0.1:0"},
                            **members)
    equal(gateway.ask("lost").status, 502)
    upstream.reply = answer()
    return upstream, gateway, gateway.wait_for_log(
        "request", status=502)["key_id"]


def operate(gateway, key_id, act, data):
    return ask(gateway.ready["admin"], build(
        "POST", f"/keys/{key_id}/{act}",
        [("Content-Type", "application/json")], data, host="localhost"))


@test
def what_is_announced_is_not_charged(bench):
    upstream, gateway, key_id = unknown_key(
        bench, limits={"in_flight_bytes": "16MiB"})
    clients = [gateway.client() for _ in range(256)]
    for number, client in enumerate(clients):
        client.send(announced(f"held{number}", MIB, 1))
    # Each of them has been read once these are answered, on both workers.
    for number in range(20):
        equal(gateway.ask(f"k{number}", body=b"y" * 100_000).status, 201)
        equal(gateway.send(build("GET", "/x")).status, 201)
    equal(operate(gateway, key_id, "release", b'{"note": "n"}').status, 200)
    equal(gateway.find_log("memory_full"), [])
    for client in clients:
        client.close()
    equal(upstream.count("/v1/charges"), 21)


@test
def memory_that_is_used_up_is_for_bodies_alone(bench):
    """Requests without one, and the admin interface, go on."""
    upstream, gateway, key_id = unknown_key(
        bench, workers=1, limits={"in_flight_bytes": "2MiB"})
    clients = [gateway.client() for _ in range(7)]
    for number, client in enumerate(clients):
        client.send(announced(f"held{number}", 290_000, 289_999))
        eventually(lambda sock=client.sock: unread_bytes(sock) == 0)
    large = b"z" * 300_000
    upstream.replies["/large"] = answer(200, large)
    for _ in range(20):
        equal(gateway.ask("room", body=b"x" * 100_000).status, 503)
        got = gateway.send(build("GET", "/large"))
        equal((got.status, len(got.body)), (200, len(large)))
    for path in ("/healthz", "/readyz", "/status", "/metrics", "/keys"):
        assert is_up(gateway, path), path
    body = json.dumps({"status": 201, "body": "b" * 900_000}).encode()
    equal(operate(gateway, key_id, "complete", body).status, 200)
    equal(gateway.ask("room", body=b"x" * 100_000).status, 503)
    for client in clients:
        client.close()
    eventually(lambda: gateway.ask("lost").replayed, "there is memory again")


tap.main()
