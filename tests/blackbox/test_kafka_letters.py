# SPDX-License-Identifier: BSD-2-Clause
"""What operators do with dead letters of topics: each is executed again, or
dropped, once, and what is parked behind one comes back in its order, whatever
happens to gateways; and the copies in the topic of dead letters bring them back
where Redis was lost.  Skipped where there is no Kafka (contrib/check --all)."""

from once import tap
from once.kafka import START_S
from once.kafka_letters import QUICK, Letters, begun, id_of
from once.tap import equal, test
from once.upstream import answer
from once.wait import eventually
IN_ORDER = {"order_by": "key", **QUICK}


# --- one of them -------------------------------------------------------------

@test
def the_command_lists_replays_and_drops_dead_letters(bench):
    b, message = begun(bench, fate=answer(422))
    equal((message["reason"], message["state"]), ("refused", "dead"))
    said = b.command("list", "--source", "charges", "--state", "dead")
    assert said.returncode == 0 and message["id"] in said.stdout, said
    said = b.command("replay", message["id"])
    equal(said.returncode, 1)
    assert "409" in said.stderr, said
    equal(b.admin.send("DELETE", f"/keys/{message['key_id']}").status, 200)
    b.of["k"] = answer(201)
    b.wait_confirmed()
    said = b.command("replay", message["id"], "--note", "fixed")
    equal((said.returncode, said.stderr), (0, ""))
    assert message["id"] in said.stdout, said
    b.wait_listed(0)
    equal((b.upstream.count(key="k"), b.done), (2, ["k"]))
    b.of["m"] = answer(422)
    b.add("m")
    second, = b.wait_listed(1)
    b.wait_confirmed()
    equal(b.command("drop", second["id"]).returncode, 0)
    equal(b.listed(), [])
    equal(b.put(), [("k", "refused"), ("m", "refused")])


@test
def an_exhausted_message_is_executed_again_once(bench):
    b, message = begun(bench)
    equal(b.admin.get("/messages/" + message["id"])["reason"], "exhausted")
    b.of["k"] = answer(201)
    b.replay(message)
    b.gateway.wait_for_log("message", outcome="executed", replayed=True)
    b.wait_listed(0)
    equal(b.act(message, "replay").status, 404)
    equal(b.act(message, "drop").status, 404)
    b.wait_executed("k")


@test
def two_replays_at_once_are_one_execution(bench):
    b, message = begun(bench)
    hold = b.hold("k")
    b.of["k"] = answer(201)
    b.replay(message)
    hold.wait_arrived()
    b.act(message, "replay", 409)
    hold.release()
    b.wait_listed(0)
    b.wait_executed("k")


@test
def one_that_fails_again_is_one_dead_letter_again(bench):
    b, message = begun(bench)
    for count in (4, 6):
        b.replay(message)
        eventually(lambda count=count: [m["attempt"] for m in b.listed()]
                   == [count], "it is dead once more", START_S)
    again, = b.listed()
    equal((again["id"], again["reason"], again["first"]),
          (message["id"], "exhausted", message["first"]))
    b.of["k"] = answer(201)
    b.replay(message)
    b.wait_listed(0)
    b.wait_executed("k")


@test
def a_dropped_letter_is_gone_and_its_record_is_not(bench):
    b, message = begun(bench)
    equal(b.act(message, "drop").json(),
          {"id": message["id"], "dropped": True})
    equal(b.listed(), [])
    equal(b.admin.get("/keys/" + message["key_id"])["state"], "FAILED")
    equal(b.act(message, "drop").status, 404)
    equal(b.upstream.count(key="k"), message["attempt"])


@test
def a_result_goes_out_with_the_end_of_a_letter(bench):
    b = Letters(bench, QUICK)
    b.members = {**QUICK, "results": {"topic": b.topic.results}}
    b.of["k"] = answer(503)
    b.serve()
    b.add("k")
    message, = b.wait_listed(1)
    b.of["k"] = answer(201)
    b.replay(message)
    b.wait_listed(0)
    result, = [r for r in b.kafka.consume(b.topic.results)
               if r.header("onceproxy-position") == message["position"]]
    equal(result.header("onceproxy-status"), "201")


@test
def what_is_unknown_is_no_dead_letter_of_this_source(bench):
    b, _ = begun(bench)
    nobody = id_of(f"{b.topic.name}/0/77@5")
    for what in ("replay", "drop"):
        equal(b.admin.post(f"/messages/{nobody}/{what}").status, 404)


# --- what is finished stays so -----------------------------------------------

@test
def what_is_finished_is_so_after_a_restart_and_a_kill(bench):
    b = Letters(bench, QUICK, partitions=3, letters=2)
    keys = [f"k{n}" for n in range(9)]
    b.of.update({key: answer(503) for key in keys})
    first = b.serve()
    for n, key in enumerate(keys):
        b.add(key, partition=n % 3)
        b.wait_listed(n + 1)
    found = {m["position"]: m for m in b.wait_listed(9)}
    b.wait_confirmed()
    order = [r.header("onceproxy-position")
             for r in b.kafka.consume(b.topic.dead)]
    b.of.clear()
    for position in order[1::2]:
        b.act(found[position], "drop", 200)
    b.replay(found[order[0]])
    left = set(order[2::2])
    b.wait_listed(4)
    for end in (first.kill, None):
        if end:
            end()
        else:
            b.gateway.stop()
        b.serve()
        equal({m["position"] for m in b.wait_listed(4)}, left)
    for position in order[2::2]:
        b.replay(found[position])
    b.wait_listed(0)
    b.gateway.kill()
    b.serve()
    equal(b.wait_listed(0), [])
    equal(len(b.done), len(set(b.done)))
    equal(len(b.done), 5)


@test
def dead_letters_are_listed_in_pages(bench):
    b = Letters(bench, QUICK, partitions=2)
    b.of.update({f"k{n}": answer(422) for n in range(5)})
    b.serve()
    for n in range(5):
        b.add(f"k{n}", partition=n % 2)
    b.wait_listed(5)
    found, cursor = [], ""
    while cursor is not None:
        page = b.admin.get("/messages?source=charges&state=dead&limit=2"
                           + (f"&cursor={cursor}" if cursor else ""))
        found += [m["id"] for m in page["messages"]]
        cursor = page["next"]
    equal((len(found), len(set(found))), (5, 5))


@test
def a_topic_of_dead_letters_that_nobody_makes_is_told(bench):
    b = Letters(bench, QUICK)
    b.members = {**QUICK, "dead_letters": {"topic": "nowhere"}}
    b.of["k"] = answer(422)
    b.serve()
    b.add("k")
    told = b.gateway.wait_for_log("source_stands", reason="dead-letters",
                                  timeout=START_S)
    assert 'no topic "nowhere"' in told["error"], told
    b.topic.dead = b.kafka.topic("nowhere")
    b.wait_put(1)
    b.topic.wait_finished(START_S)
    equal(b.upstream.count(key="k"), 1)


@test
def a_topic_of_dead_letters_is_made_where_the_broker_does(bench):
    b = Letters(bench, QUICK, kafka=bench.own_kafka(
        auto_create_topics_enable="true"))
    b.members = {**QUICK, "dead_letters": {"topic": f"{b.topic.name}.new"}}
    b.serve()
    eventually(lambda: b.kafka.partitions(f"{b.topic.name}.new"),
               "it is made", START_S)
    equal(b.gateway.find_log("source_refused"), [])


@test
def what_a_topic_of_dead_letters_has_lost_is_a_letter_all_the_same(bench):
    b, message = begun(bench)
    b.gateway.stop()
    b.kafka.delete_topic(b.topic.dead)
    b.kafka.topic(b.topic.dead)
    b.serve()
    b.of["k"] = answer(201)
    b.replay(message)
    b.wait_listed(0)
    b.wait_executed("k")


@test
def beyond_keep_dead_the_source_stands_before_it_acknowledges(bench):
    b = Letters(bench, {**QUICK, "keep_dead": 2})
    b.of.update({f"k{n}": answer(422) for n in range(4)})
    b.serve()
    b.add(*[f"k{n}" for n in range(4)])
    b.gateway.wait_for_log("source_stands", reason="dead-letters",
                           timeout=START_S)
    one, _ = b.wait_listed(2)
    b.wait_put(2)
    equal(b.standing(), "dead-letters")
    assert b.topic.unfinished() >= 2
    # Nor does it forget them, whoever reads on.
    b.gateway.kill()
    b.serve()
    b.gateway.wait_for_log("source_stands", reason="dead-letters",
                           timeout=START_S)
    equal((len(b.listed()), len(b.put())), (2, 2))
    for count in (3, 4):
        b.act(b.listed()[0], "drop", 200)
        b.wait_put(count)
        b.wait_listed(2)
    b.topic.wait_finished(START_S)
    eventually(lambda: b.standing() is None, "it goes on", START_S)
    equal([b.upstream.count(key=f"k{n}") for n in range(4)], [1] * 4)
    equal(sorted(b.put())[:4], sorted(
        (f"k{n}", "refused") for n in range(4)))


@test
def one_whose_acknowledgement_nobody_heard_of_is_one_letter(bench):
    b = Letters(bench, QUICK, kafka=bench.own_kafka())
    b.of["k"] = answer(422)
    b.serve()
    b.add("before")
    b.gateway.wait_for_log("message", outcome="executed", timeout=START_S)
    b.topic.wait_finished(START_S)
    hold = b.hold("k")
    b.add("k")
    hold.wait_arrived()
    b.kafka.freeze()
    hold.release()
    message, = b.wait_listed(1)
    b.act(message, "drop", 409)
    b.gateway.kill()
    b.kafka.thaw()
    b.serve("two")
    b.topic.wait_finished(START_S)
    equal((b.put(), len(b.listed())), ([("k", "refused")], 1))
    b.act(message, "drop", 200)
    equal((b.listed(), b.upstream.count(key="k")), ([], 1))


# --- what has no value -------------------------------------------------------

def tombstone(bench, **members):
    b = Letters(bench, {**QUICK, **members})
    b.serve()
    b.topic.add(None, "k", order=b"a")
    b.add("after")
    b.gateway.wait_for_log("message", outcome="executed", timeout=START_S)
    b.topic.wait_finished(START_S)
    return b


@test
def a_tombstone_is_a_dead_letter(bench):
    b = tombstone(bench)
    dead, = b.wait_listed(1)
    equal((dead["reason"], b.done), ("malformed", ["after"]))
    copy, = b.kafka.consume(b.topic.dead)
    equal((copy.value, copy.key), (None, b"a"))


@test
def a_tombstone_may_be_acknowledged(bench):
    b = tombstone(bench, nulls="ack")
    equal((b.listed(), b.put(), b.done), ([], [], ["after"]))


@test
def a_tombstone_may_be_sent_without_a_body(bench):
    b = tombstone(bench, nulls="send")
    equal((b.listed(), sorted(b.done)), ([], ["after", "k"]))
    equal([r.body for r in b.upstream.requests
           if r.get("Idempotency-Key") == "k"], [b""])


@test
def an_empty_value_is_no_tombstone(bench):
    b = Letters(bench, QUICK)
    b.serve()
    b.topic.add(b"", "k")
    b.wait_executed("k")


# --- Redis was lost ----------------------------------------------------------

def store_was_lost(b):
    """What stood in Redis is gone, and so is its identity."""
    b.gateway.stop()
    b.bench.redis("FLUSHALL")
    b.serve()
    b.gateway.wait_for_log("source_stands", reason="unproven",
                           timeout=START_S)
    equal((b.standing(), b.listed()), ("unproven", []))


def restore(b):
    said = b.command("restore", "charges", "--note", "Redis was lost")
    equal((said.returncode, said.stderr), (0, ""))
    b.gateway.wait_for_log("source_goes", reason="unproven", timeout=START_S)
    return b.gateway.wait_for_log("source_restored")


@test
def copies_say_whose_letters_they_are(bench):
    b, message = begun(bench)
    copy, = b.kafka.consume(b.topic.dead)
    (_, metadata), = b.kafka.committed(b.topic.group, b.topic.name).values()
    store = copy.header("onceproxy-store")
    equal((store, copy.header("onceproxy-position")),
          (metadata.split(":")[1], message["position"]))
    assert len(store) >= 22, store


@test
def letters_are_restored_from_their_copies(bench):
    b = Letters(bench, QUICK, partitions=2)
    keys = [f"k{n}" for n in range(5)]
    b.of.update({key: answer(503) for key in keys})
    b.serve()
    for n, key in enumerate(keys):
        b.add(key, partition=n % 2)
        b.wait_listed(n + 1)
    b.wait_confirmed()
    by_position = {m["position"].split("@")[0]: m for m in b.listed()}
    name = b.topic.name
    b.act(by_position[f"{name}/0/0"], "drop", 200)
    b.of["k1"] = answer(201)
    b.replay(by_position[f"{name}/1/0"])
    b.wait_listed(3)
    b.add("unread")
    b.wait_executed("k1", "unread")
    b.topic.wait_finished(START_S)
    store_was_lost(b)
    told = restore(b)
    equal((told["restored"], told["over"]), (3, 2))
    found = b.wait_listed(3)
    equal({(m["id"], m["reason"], m["attempt"]) for m in found}, {
        (m["id"], m["reason"], m["attempt"]) for m in by_position.values()
        if not m["position"].split("@")[0].endswith("/0/0")
        and not m["position"].split("@")[0].endswith("/1/0")})
    b.of.clear()
    b.replay(found[0])
    b.wait_listed(2)
    b.add("after")
    eventually(lambda: "after" in b.done, "it reads on", START_S)
    equal(len(b.done), 4)


@test
def a_mark_may_be_in_another_partition_than_its_copy(bench):
    """A message without a key has them anywhere."""
    b, message = begun(bench, kafka=bench.mock_kafka(1))
    b.of["k"] = answer(201)
    b.replay(message)
    b.wait_listed(0)
    copy, mark = b.kafka.consume(b.topic.dead)
    b.topic.dead = b.kafka.topic(f"{b.topic.name}.parted", 2)
    b.members = {**b.members, "dead_letters": {"topic": b.topic.dead}}
    for partition, record in enumerate((mark, copy)):
        b.kafka.produce(b.topic.dead, record.value, partition=partition,
                        headers=record.headers)
    store_was_lost(b)
    told = restore(b)
    equal((told["restored"], told["over"], b.listed()), (0, 1, []))


@test
def what_was_parked_is_restored_in_its_order(bench):
    """They are more than are read at once."""
    b, first = parked_lane(bench)
    keys = [f"k{n}" for n in range(124)]
    b.add(*keys[4:])
    b.wait_put(len(keys))
    store_was_lost(b)
    equal(restore(b)["restored"], len(keys))
    equal([m["id"] for m in b.wait_listed(1)], [first["id"]])
    b.of["k0"] = answer(201)
    b.replay(first)
    b.add("last")
    b.wait_executed(*keys, "last")
    equal([key for key in b.done if key in keys], keys)
    lane_is_free(b)


@test
def whoever_needs_no_letters_goes_on_without(bench):
    b, _ = begun(bench)
    b.add("unread")
    b.wait_executed("unread")
    b.gateway.wait_until(lambda: [
        said for said in b.gateway.find_log("message", outcome="executed")
        if "beside" not in said["position"]], "it is acknowledged", START_S)
    store_was_lost(b)
    b.add("after")
    equal(b.command("resume", "charges", "--unproven").returncode, 0)
    b.wait_executed("unread", "after")
    equal(b.listed(), [])
    # And from then on it is that store's.
    b.gateway.stop()
    b.serve()
    b.add("last")
    b.wait_executed("unread", "after", "last")
    equal(b.gateway.find_log("source_stands"), [])


# --- gateways ----------------------------------------------------------------

@test
def who_has_the_partition_decides_about_its_letters(bench):
    b = Letters(bench, QUICK, partitions=2)
    b.of.update(k0=answer(503), k1=answer(503))
    b.serve("one")
    one = b.admin
    b.add("k0", partition=0)
    b.add("k1", partition=1)
    b.wait_listed(2)
    b.serve("two")
    two = b.admin
    b.kafka.wait_members(b.topic.group, 2)
    b.of.clear()
    equal(len(b.listed(admin=one)), 2)
    for admin in (one, two):
        eventually(lambda admin=admin: admin.get("/sources")["sources"][0][
            "dead"] == 2, "both are counted, whoever has them")
    for message in b.wait_listed(2):
        def said(message=message):
            got = [a.post(f"/messages/{message['id']}/replay").status
                   for a in (one, two)]
            return 202 in got and got
        got = eventually(said, "one of them has it", START_S)
        assert set(got) <= {202, 404, 409}, got
    eventually(lambda: b.listed(admin=one) == b.listed(admin=two) == [],
               "none is left for either")
    equal(sorted(b.done), ["k0", "k1"])


# --- what is parked ----------------------------------------------------------

def parked_lane(bench, members=None, count=3, **more):
    """A lane whose first is a dead letter, with some behind it."""
    b, first = begun(bench, members or IN_ORDER, "k0", **more)
    keys = [f"k{n}" for n in range(1, count + 1)]
    b.add(*keys)
    b.wait_listed(count, "parked")
    return b, first


def lane_is_free(b):
    eventually(lambda: not any(
        b":lane:source:" in key or b":letter:source:" in key
        for key in b.bench.redis.keys()), "no lane is parked", START_S)


@test
def what_is_parked_comes_back_in_order_before_anything_newer(bench):
    b, first = parked_lane(bench)
    said = b.command("list", "--source", "charges", "--state", "parked")
    equal(said.stdout.count("behind"), 3, said.stdout)
    b.add("other", order=b"b")
    b.wait_executed("other")
    b.of["k0"] = answer(201)
    b.replay(first)
    b.add("k4", "k5")
    b.wait_executed("other", *(f"k{n}" for n in range(6)))
    lane_is_free(b)
    b.add("k6")
    b.wait_executed("other", *(f"k{n}" for n in range(7)))
    equal(b.listed() + b.listed("parked"), [])


@test
def dropping_the_first_brings_the_others_back(bench):
    b, first = parked_lane(bench)
    b.act(first, "drop", 200)
    b.wait_executed("k1", "k2", "k3")
    lane_is_free(b)
    equal(b.listed() + b.listed("parked"), [])


@test
def one_behind_is_not_replayed_but_may_be_dropped(bench):
    b, first = parked_lane(bench)
    second = b.listed("parked")[1]
    got = b.act(second, "replay", 409)
    assert b"replay or drop the first" in got.body, got.body
    b.act(second, "drop", 200)
    b.of["k0"] = answer(201)
    b.replay(first)
    b.wait_executed("k0", "k1", "k3")
    lane_is_free(b)


@test
def one_that_fails_on_its_way_back_is_the_first_then(bench):
    b, first = parked_lane(bench)
    b.of.update(k0=answer(201), k2=answer(503))
    b.replay(first)
    second, = eventually(
        lambda: [m for m in b.listed() if m["reason"] == "exhausted" and
                 m["id"] != first["id"]],
        "another one is the first", START_S)
    b.wait_listed(1, "parked")
    equal(b.done, ["k0", "k1"])
    b.add("k4")
    b.wait_listed(2, "parked")
    b.of["k2"] = answer(201)
    b.replay(second)
    b.wait_executed(*(f"k{n}" for n in range(5)))
    lane_is_free(b)


@test
def a_lane_that_comes_back_outlives_its_gateway(bench):
    b, first = parked_lane(bench, idempotency={"lease": "1s"})
    b.of["k0"] = answer(201)
    hold = b.hold("k2")
    b.replay(first)
    hold.wait_arrived()
    b.gateway.kill()
    b.add("k4")
    b.serve()
    unknown, = eventually(
        lambda: [m for m in b.listed() if m["reason"] == "unknown"],
        "nobody knows what became of it", START_S)
    equal(b.done[:2], ["k0", "k1"])
    b.replay(unknown, 409)
    b.admin.act(unknown["key_id"], "release")
    hold.release()
    eventually(lambda: "k2" in b.done, "what was held has ended")
    b.replay(unknown)
    eventually(lambda: b.done[-2:] == ["k3", "k4"], "the others follow",
               START_S)
    lane_is_free(b)
    equal([b.upstream.count(key=f"k{n}") for n in (1, 3, 4)], [1, 1, 1])
    equal(b.listed() + b.listed("parked"), [])


@test
def another_gateway_goes_on_with_a_lane_that_comes_back(bench):
    b, first = parked_lane(bench, count=8)
    b.of["k0"] = answer(201)
    hold = b.hold("k3")
    b.replay(first)
    hold.wait_arrived()
    old = b.gateway
    b.serve("two")
    hold.release()
    old.stop()
    b.wait_executed(*(f"k{n}" for n in range(9)))
    lane_is_free(b)
    b.wait_listed(0, "parked")
    equal(b.wait_listed(0), [])


@test
def with_go_on_a_replay_is_for_one_message_only(bench):
    b, first = begun(bench, {"behind": "go-on", **IN_ORDER}, "k0")
    b.add("k1")
    b.wait_executed("k1")
    b.of["k0"] = answer(201)
    b.replay(first)
    b.wait_executed("k1", "k0")
    b.wait_listed(0)


tap.main()
