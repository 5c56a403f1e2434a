# SPDX-License-Identifier: BSD-2-Clause
"""What operators, other programs and a full Redis do to a stream while it is
read: nothing is executed twice, no execution has two results, and what is left
or comes later is executed and acknowledged."""

import collections
import signal

from once import tap
from once.admin import Admin
from once.fault_proxy import FaultProxy
from once.gateway import write
from once.messages import Stream, as_text, pairs, source
from once.redis import RedisClient
from once.tap import each, equal, test
from once.upstream import Hold, answer
from once.wait import eventually

FIRST, LATER = 12, 4
GROUP = ("charges", "onceproxy")


class Stage:
    """A gateway that has read some of the stream, and whose first call is
    under way."""

    def __init__(self, bench, members):
        self.sent, self.hold = [], Hold()
        upstream = bench.upstream(self.serve)
        self.stream = Stream(bench.own_redis())
        config = bench.config(upstream, {"lease": "1s"}, admin={
            "listen": "127.0.0.1:0"})
        source(config, self.stream, results={"stream": "done"}, in_flight=4,
               **members)
        self.gateway = bench.serve(config)
        self.ids = self.add(range(FIRST))
        self.hold.wait_arrived()
        eventually(lambda: self.sent.count("k1"), "another one is sent")

    def serve(self, connection, request):
        key = request.get("Idempotency-Key")
        self.sent.append(key)
        if key == "k0" and self.sent.count(key) == 1:
            self.hold.wait()
        connection.send(answer())

    def add(self, numbers):
        return [self.stream.add(body=b'{"account":%d}' % (n % 2),
                                idempotency_key=f"k{n}") for n in numbers]

    def pending(self):
        entries = self.stream.redis("XPENDING", *GROUP, "-", "+", "100")
        return [entry[0] for entry in entries]

    def wait_new_ids(self):
        """A stream that is made again in the same millisecond would give the
        ids of the one before a second time."""
        last = int(self.ids[-1].split(b"-")[0])
        eventually(lambda: int(self.stream.redis("TIME")[0]) * 1000 +
                   int(self.stream.redis("TIME")[1]) // 1000 > last + 1,
                   "the next millisecond")

    def wait_looked(self):
        """It knows of the stream as it is now."""
        looks = self.stream.redis.calls("xinfo|stream")
        eventually(lambda: self.stream.redis.calls("xinfo|stream") >=
                   looks + 2, "it has looked at the stream")

    def ends_well(self, lost=()):
        self.wait_new_ids()
        self.add(range(FIRST, FIRST + LATER))
        wanted = {f"k{n}" for n in range(FIRST + LATER)} - set(lost)
        eventually(lambda: wanted <= set(self.sent), "all are executed")
        eventually(lambda: self.stream.pending() == [], "and acknowledged")
        sent = collections.Counter(self.sent)
        equal({key: n for key, n in sent.items() if n > 1}, {})
        results = collections.Counter(
            (entry["onceproxy-position"], entry["onceproxy-key-id"])
            for entry in self.stream.entries("done")
            if "onceproxy-duplicate" not in entry)
        equal({at: n for at, n in results.items() if n > 1}, {})
        eventually(lambda: Admin(self.gateway).get("/sources")["sources"][0][
            "standing"] is None, "it goes")


def forget_consumers(s):
    for consumer in s.stream.redis("XINFO", "CONSUMERS", *GROUP):
        s.stream.redis("XGROUP", "DELCONSUMER", *GROUP,
                       pairs(consumer)["name"])


ALL = [f"k{n}" for n in range(FIRST)]  # some of them may be executed
ORDERED, FREE = {"order_by": ["/account"]}, {}


@each([(f"{words}, {order}", members, act, lost)
       for order, members in (("with an order", ORDERED), ("without", FREE))
       for words, act, lost in [
    ("redis is flushed", lambda s: s.stream.redis("FLUSHALL"), ALL),
    ("the stream is deleted",
        lambda s: s.stream.redis("DEL", "charges"), ALL),
    ("the group is set back",
        lambda s: s.stream.redis("XGROUP", "SETID", *GROUP, "0"), []),
    ("the consumers are deleted", forget_consumers, []),
    ("all is trimmed",
        lambda s: s.stream.redis("XTRIM", "charges", "MAXLEN", "0"), ALL),
    ("all entries are deleted",
        lambda s: s.stream.redis("XDEL", "charges", *s.ids), ALL),
    ("a stranger claims what is pending",
        lambda s: s.stream.redis("XCLAIM", *GROUP, "stranger", "0",
                                 *s.pending()), []),
    ("a stranger acknowledges what is pending",
        lambda s: s.stream.redis("XACK", *GROUP, *s.pending()), ALL),
]])
def a_stream_is_read_on(bench, members, act, lost):
    s = Stage(bench, members)
    act(s)
    s.hold.release()
    s.ends_well(lost)


@each([("with an order", ORDERED), ("without", FREE)])
def a_stream_that_was_made_anew_is_read_from_its_first_entry(bench, members):
    """As its ids are above all that were read."""
    s = Stage(bench, members)
    s.wait_looked()
    s.wait_new_ids()
    s.stream.redis("EVAL", """
        redis.call('DEL', KEYS[1])
        for i = 1, 3 do
            redis.call('XADD', KEYS[1], '*', 'body', '{"account":0}',
                'idempotency_key', 'new' .. i)
        end""", 1, s.stream.name)
    s.hold.release()
    made = s.gateway.wait_for_log("source_group_made_again")
    equal(made["stream_was_missing"], False)
    s.ends_well(ALL)
    equal([s.sent.count(f"new{i}") for i in (1, 2, 3)], [1, 1, 1])


@each([("with an order", ORDERED), ("without", FREE)])
def a_group_that_was_removed_is_waited_for(bench, members):
    """Nobody knows what was finished of what it was given."""
    s = Stage(bench, members)
    s.stream.redis("XGROUP", "DESTROY", *GROUP)
    stands = s.gateway.wait_for_log("source_stands", reason="broker")
    assert "XGROUP CREATE charges onceproxy" in stands["error"], stands
    s.hold.release()
    s.stream.redis("XGROUP", "CREATE", *GROUP, "0")
    s.ends_well()


@test
def what_was_unread_in_a_stream_that_was_deleted_is_counted(bench):
    """As far as it had been seen."""
    s = Stage(bench, ORDERED)
    eventually(lambda: len(s.pending()) == 4 and {
        n % 2 for n in range(FIRST) if s.ids[n] in s.pending()} == {0},
        "all that it has is of the account whose call is under way")
    done = len(s.stream.entries("done"))
    eventually(lambda: Admin(s.gateway).get("/sources")["sources"][0][
        "lag"] == FIRST - 4 - done, "it has looked at the stream")
    s.stream.redis("DEL", "charges")
    s.hold.release()
    s.gateway.wait_for_log("source_group_made_again")
    s.ends_well(ALL)
    lost = collections.Counter()
    for line in s.gateway.find_log("source_lost"):
        lost[line["how"]] += line["count"]
    equal(lost, {"deleted": 4, "trimmed-unread": FIRST - 4 - done})


@each([("deleted", False, True, ["deleted"]),
       ("deleted, and why is not heard", True, True, ["deleted"]),
       ("acknowledged by another", False, False, [])])
def what_is_gone_as_it_ends_is_lost_where_it_was(bench, cut, deleted, lost):
    """Its own acknowledgement, with which nothing is put, finds nothing."""
    hold = Hold()
    upstream = bench.upstream(lambda connection, _: (
        hold.wait(), connection.send(answer())))
    stream = Stream(bench.own_redis())
    wire = bench.wire(stream.redis)
    config = bench.config(upstream)
    source(config, stream)
    config["brokers"]["queue"] = {"redis": wire.url}
    gateway = bench.serve(config)
    stream.redis("XADD", stream.name, "1-1", "body", "{}")
    hold.wait_arrived()
    if deleted:
        stream.redis("XDEL", stream.name, "1-1")
    stream.redis("XACK", *GROUP, "1-1")
    if cut:
        wire.lose_reply()
        wire.of = b"is_lost"
    hold.release()
    ended = gateway.wait_for_log("message", outcome="executed")
    equal((ended["elsewhere"], wire.catch), (True, None))
    equal([line["how"] for line in gateway.find_log("source_lost")], lost)


def be_a_replica(redis):
    redis("REPLICAOF", "127.0.0.1", "1")
    eventually(lambda: redis("ROLE")[0] == b"slave", "it is one")
    redis("REPLICAOF", "NO", "ONE")


@test
def what_is_finished_does_not_come_again_to_who_has_read_nothing(bench):
    """As of a reader that was started anew, and waits for what comes."""
    stream = Stream(bench.own_redis())
    config = bench.config(bench.upstream())
    source(config, stream, results={"stream": "done"})
    first = bench.serve(config)
    for n in range(4):
        stream.add(body=b"{}", idempotency_key=f"k{n}")
    first.wait_until(lambda: len(first.find_log("message")) == 4, "they end")
    first.stop()
    second = bench.serve(config)
    looks = stream.redis.calls("xinfo|stream")
    eventually(lambda: stream.redis.calls("xinfo|stream") >= looks + 3,
               "it has looked at the stream")
    be_a_replica(stream.redis)
    stream.add(body=b"{}", idempotency_key="k4")
    second.wait_for_log("message", outcome="executed")
    eventually(lambda: stream.pending() == [], "all is acknowledged")
    equal([e["outcome"] for e in second.find_log("message")], ["executed"])
    equal(len(stream.entries("done")), 5)


class Pair:
    """A master and a replica behind Sentinels, which move it when asked."""

    def __init__(self, bench):
        self.sentinels = bench.sentinels(replicas=1, sentinels=1, quorum=1,
                                         down_after_ms=600000)
        self.store, self.master = self.sentinels.store, self.sentinels.master()

    def __call__(self, *words):
        return self.master(*words)

    def part(self):
        """The replica gets nothing any more."""
        self.sentinels.wait_copied()
        for server in self.sentinels.servers:
            if server is not self.master:
                server("REPLICAOF", "127.0.0.1", 1)

    def fail_over(self):
        old = self.master
        old.kill()
        self.sentinels.ask_failover()
        self.master = self.sentinels.wait_moved(old)


@each([("with an order", ORDERED, 6), ("without", FREE, 7)])
def a_replica_that_lagged_takes_over_and_nothing_of_it_is_lost(
        bench, members, others):
    """It has not even got the group, and fewer entries."""
    sent, hold, pair = collections.Counter(), Hold(), Pair(bench)

    def serve(connection, request):
        key = request.get("Idempotency-Key")
        sent[key] += 1
        if key == "k1" and sent[key] == 1:
            hold.wait()
        connection.send(answer())

    stream = Stream(pair)
    config = bench.config(bench.upstream(serve), {"lease": "1s"})
    source(config, stream, results={"stream": "done"}, **members)
    for n in range(4):
        stream.add(body=b'{"account":%d}' % (n % 2), idempotency_key=f"k{n}")
    pair.part()
    gateway = bench.serve(config)
    hold.wait_arrived()
    for n in range(4, 8):
        stream.add(body=b'{"account":0}', idempotency_key=f"k{n}")
    eventually(lambda: len(stream.entries("done")) == others,
               "the others are executed")
    pair.fail_over()
    gateway.wait_for_log("source_stands", reason="broker")
    stream.redis("XGROUP", "CREATE", *GROUP, "0")
    stream.add(body=b'{"account":0}', idempotency_key="last")
    eventually(lambda: sent["last"], "what is added to it")
    hold.release()
    eventually(lambda: stream.pending() == [], "all is acknowledged")
    equal({key: n for key, n in sent.items() if n > 1}, {})
    equal(gateway.find_log("source_lost"), [])
    gateway.stop()


@each([(f"the {n}. reply is cut", n) for n in range(1, 9)])
def a_loss_is_counted_whatever_reply_is_cut(bench, n):
    """Of those that come after entries were trimmed unread."""
    hold = Hold()

    def serve(connection, request):
        if request.get("Idempotency-Key") == "k0":
            hold.wait()
        connection.send(answer())
    stream = Stream(bench.own_redis())
    proxy = FaultProxy(stream.redis.url)
    config = bench.config(bench.upstream(serve))
    source(config, stream, in_flight=1)
    config["brokers"]["queue"] = {"redis": proxy.url}
    gateway = bench.serve(config)
    stream.add(body=b"{}", idempotency_key="k0")
    hold.wait_arrived()
    for i in range(1, 6):
        stream.add(body=b"{}", idempotency_key=f"k{i}")
    stream.redis("XTRIM", stream.name, "MAXLEN", "1")
    proxy.cut_replies(every=n)
    hold.release()
    eventually(lambda: sum(
        line["count"] for line in gateway.find_log(
            "source_lost", how="trimmed-unread")) >= 4, "it is counted")
    eventually(lambda: len(gateway.find_log("message")) == 2, "both end")
    proxy.wait_cut()
    eventually(lambda: stream.pending() == [], "and are acknowledged")
    proxy.stop()


@each([("what is its own", "one"), ("what another reader had", "gone")])
def a_loss_is_counted_though_no_reply_tells_of_its_end(bench, consumer):
    """Whatever made Redis forget that the entry is pending has no reply."""
    stream = Stream(bench.own_redis())
    asks, proxy = RedisClient(stream.redis.path), FaultProxy(stream.redis.url)
    stream.redis("XGROUP", "CREATE", *GROUP, "0", "MKSTREAM")
    stream.add(body=b"{}", idempotency_key="k0")
    stream.redis("XREADGROUP", "GROUP", stream.group, consumer, "STREAMS",
                 stream.name, ">")
    stream.redis("XTRIM", stream.name, "MAXLEN", "0")
    proxy.cut_reply_when(lambda: asks("XPENDING", *GROUP)[0] == 0)
    config = bench.config(bench.upstream(), {"lease": "1s"}, instance="one",
                          admin={"listen": "127.0.0.1:0"})
    source(config, stream)
    config["brokers"]["queue"] = {"redis": proxy.url}
    gateway = bench.serve(config)
    proxy.wait_cut()
    gateway.wait_for_log("source_lost", how="trimmed-pending", count=1)
    stream.add(body=b"{}", idempotency_key="k1")
    gateway.wait_for_log("message", outcome="executed")
    equal(len(gateway.find_log("source_lost")), 1)
    metrics = Admin(gateway).send("GET", "/metrics").body.decode()
    assert ('onceproxy_source_lost_total{source="charges",'
            'how="trimmed-pending"} 1\n') in metrics, metrics
    proxy.stop()


@test
def a_redis_that_is_full_is_waited_for(bench):
    s = Stage(bench, ORDERED)
    s.stream.redis("CONFIG", "SET", "maxmemory-policy", "noeviction")
    s.stream.redis("CONFIG", "SET", "maxmemory", "1")
    s.hold.release()
    stands = s.gateway.wait_for_log("source_stands", reason="results")
    assert "OOM" in stands["error"], stands
    s.stream.redis("CONFIG", "SET", "maxmemory", "0")
    s.ends_well()


@test
def a_broker_that_becomes_a_replica_is_said_to_be_one(bench):
    """It cuts whoever waits for entries; that is not why the source stands."""
    stream = Stream(bench.own_redis())
    config = bench.config(bench.upstream())
    source(config, stream)
    gateway = bench.serve(config)
    stream.add(body=b"{}", idempotency_key="k0")
    gateway.wait_for_log("message", outcome="executed")
    eventually(lambda: stream.blocked() == 1, "it waits")
    stream.redis("REPLICAOF", "127.0.0.1", "1")
    stands = gateway.wait_for_log("source_stands", reason="broker")
    assert stands["error"].startswith("READONLY "), stands
    stream.redis("REPLICAOF", "NO", "ONE")
    gateway.wait_for_log("source_goes", reason="broker")
    stream.add(body=b"{}", idempotency_key="k1")
    eventually(lambda: len(gateway.find_log("message")) == 2, "it goes on")
    equal(len(gateway.find_log("source_stands")), 1)


@test
def nothing_rests_of_a_group_that_is_set_back_as_it_is_read(bench):
    """What comes again between an acknowledgement and the news of it."""
    stream = Stream(bench.own_redis())
    config = bench.config(bench.upstream())
    source(config, stream, results={"stream": "done"})
    gateway = bench.serve(config)
    eventually(lambda: stream.blocked() == 1, "it waits")
    for n in range(300):
        stream.add(body=b"{}", idempotency_key=f"k{n}")
        if n % 50 == 25:
            stream.redis("XGROUP", "SETID", *GROUP, "0")
    eventually(lambda: stream.pending() == [], "all is acknowledged")
    equal(gateway.find_log("source_lost"), [])
    results = collections.Counter(
        entry["onceproxy-key-id"] for entry in stream.entries("done")
        if "onceproxy-duplicate" not in entry)
    equal((len(results), max(results.values())), (300, 1))


@test
def what_another_took_of_a_group_that_was_set_back_is_a_duplicate(bench):
    """Nobody tells who takes it over that its result was put before."""
    stream = Stream(bench.own_redis())
    config = bench.config(bench.upstream(), {"lease": "1s"})
    source(config, stream, results={"stream": "done"})
    gateway = bench.serve(config)
    stream.add(body=b"{}", idempotency_key="k")
    gateway.wait_for_log("message", outcome="executed")
    gateway.stop()
    stream.redis("XGROUP", "SETID", *GROUP, "0")
    stream.redis("XREADGROUP", "GROUP", "onceproxy", "another",
                 "STREAMS", "charges", ">")
    bench.serve(config).wait_for_log("message", outcome="duplicate")
    equal(["onceproxy-duplicate" in entry for entry in stream.entries("done")],
          [False, True])


@test
def what_a_group_that_is_set_ahead_leaves_out_is_told(bench):
    hold = Hold()

    def serve(connection, request):
        hold.wait()
        connection.send(answer())
    stream = Stream(bench.own_redis())
    config = bench.config(bench.upstream(serve))
    source(config, stream, in_flight=1)
    gateway = bench.serve(config)
    ids = [stream.add(body=b"{}", idempotency_key=f"k{n}") for n in range(9)]
    hold.wait_arrived()
    stream.redis("XGROUP", "SETID", *GROUP, ids[5])
    hold.release()
    lost = gateway.wait_for_log("source_lost")
    equal((lost["how"], lost["count"]), ("trimmed-unread", 5))
    eventually(lambda: len(gateway.find_log("message")) == 4, "the others")
    eventually(lambda: stream.pending() == [], "are acknowledged")
    equal(len(gateway.find_log("source_lost")), 1)


@test
def what_takes_the_streams_place_is_waited_for(bench):
    s = Stage(bench, FREE)
    s.stream.redis("RENAME", "charges", "kept")
    s.stream.redis("SET", "charges", "something else")
    s.hold.release()
    refused = s.gateway.wait_for_log("source_stands")
    assert "WRONGTYPE" in refused["error"], refused
    s.stream.redis("DEL", "charges")
    s.stream.redis("RENAME", "kept", "charges")
    s.ends_well()


@test
def a_broker_that_has_forgotten_the_user_is_no_broker_that_is_away(bench):
    """It was made by ACL SETUSER and saved nowhere, and Redis started anew."""
    make = ("ACL", "SETUSER", "gateway", "on", ">s3cret", "~*", "&*", "+@all")
    stream = Stream(bench.own_redis(
        "--appendonly", "yes", "--appendfsync", "always"))
    stream.redis(*make)
    config = bench.config(bench.upstream())
    source(config, stream)
    config["brokers"]["queue"].update(user="gateway", password="s3cret")
    gateway = bench.serve(config)
    stream.add(body=b"{}", idempotency_key="k0")
    gateway.wait_for_log("message", outcome="executed")
    stream.redis.kill()
    gateway.wait_for_log("source_broker_down")
    stream.redis.restart()
    refused = gateway.wait_for_log("source_refused")
    equal(refused["error"].split()[0], "WRONGPASS")
    stream.redis(*make)
    gateway.wait_for_log("source_broker_up")
    stream.add(body=b"{}", idempotency_key="k1")
    eventually(lambda: len(gateway.find_log("message")) == 2, "it goes on")
    equal([len(gateway.find_log(f"source_{word}")) for word in (
        "broker_down", "refused", "broker_up")], [1, 1, 1])
    gateway.stop()


@each([("silent", True), ("never there", False)])
def a_broker_is_given_its_own_time(bench, was_there):
    """Not store.timeout, which is another option."""
    stream = Stream(bench.own_redis())
    if not was_there:
        stream.redis.freeze()
    config = bench.config(bench.upstream())
    source(config, stream)
    gateway = bench.serve(config)
    if was_there:
        gateway.wait_for_log("source_group_made")
        stream.redis.freeze()
    down = gateway.wait_for_log("source_broker_down")
    assert down["error"].endswith("within the broker's timeout"), down
    stream.redis.thaw()
    gateway.wait_for_log("source_broker_up")
    gateway.stop()


def is_postponed(redis):
    """Whether a pause of writes keeps somebody's script waiting."""
    clients = as_text(redis("CLIENT", "LIST")).splitlines()
    return any(" flags=b" in client and " cmd=eval" in client
               for client in clients)


def give_up(gateway, config):
    gateway.stop()


def take_away(gateway, config):
    del config["sources"], config["brokers"]
    since = len(gateway.events)
    write(gateway.file, config)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded", since)


@each([("it drains", give_up), ("the source is taken away", take_away)])
def a_redis_whose_writes_are_paused_outlives_a_reader(bench, leave):
    """As they are in a failover that was asked for."""
    redis = bench.own_redis()
    upstream, stream = bench.upstream(), Stream(redis)
    config = bench.config(upstream)
    source(config, stream)
    config["brokers"]["queue"]["timeout"] = "3s"
    gateway = bench.serve(config)
    stream.add(idempotency_key="k1")
    gateway.wait_for_log("message", outcome="executed")
    redis("CLIENT", "PAUSE", "600000", "WRITE")
    eventually(lambda: is_postponed(redis), "the reader is kept waiting")
    leave(gateway, gateway.config)
    eventually(lambda: not is_postponed(redis), "it has gone")
    redis("CLIENT", "UNPAUSE")
    stream.add(idempotency_key="k2")
    source(config, stream)
    again = bench.serve(config)
    again.wait_for_log("message", outcome="executed")
    equal((upstream.count(), stream.pending()), (2, []))


tap.main()
