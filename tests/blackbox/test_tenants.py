# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 1 and 3 (scope): no tenant sees another's answer."""

from once import tap
from once.http import keyed
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered


def echo(connection, request):
    """Answers with the credentials of who asked."""
    who = "|".join(f"{n}={v}" for n, v in request.fields
                   if n in ("Authorization", "X-Tenant"))
    connection.send(answer(201, who.encode()))


@test
def fifty_tenants_with_one_key_each_get_their_own_answer(bench):
    upstream, gateway = bench.pair(echo)

    def tenant(number):
        name = f"Bearer {number}"
        for _ in range(3):
            equal(gateway.ask("k", tenant=name).body,
                  f"Authorization={name}".encode())
    for task in [bench.background(tenant, n) for n in range(50)]:
        task.result()
    equal(upstream.count(), 50)


@each([("case", "bearer a"), ("white space inside", "Bearer  a"),
       ("a longer token", "Bearer aa"), ("another scheme", "Basic a")])
def tenants_differ_by(bench, tenant):
    upstream, gateway = bench.pair(echo)
    gateway.ask("k", tenant="Bearer a")
    got = gateway.ask("k", tenant=tenant)
    equal((got.status, got.replayed), (201, False))
    equal(upstream.count(), 2)


@test
def white_space_around_a_value_does_not_make_another_tenant(bench):
    upstream, gateway = bench.pair(echo)
    gateway.ask("k", tenant="Bearer a")
    assert gateway.ask("k", tenant=" \tBearer a \t").replayed


@test
def another_tenant_does_not_even_learn_that_a_key_is_used(bench):
    upstream, gateway = bench.pair(close_unanswered)
    equal(gateway.ask("k", tenant="a").problem, "outcome-unknown")
    upstream.reply = answer()
    equal(gateway.ask("k", tenant="b").status, 201)
    equal(gateway.ask("k", tenant="c", body=b"another").status, 201)


@test
def a_request_without_a_tenant_is_refused(bench):
    upstream, gateway = bench.pair()
    equal(gateway.ask("k", tenant=None).problem, "scope-missing")
    equal(gateway.ask("k", tenant="").problem, "scope-missing")
    equal(upstream.count(), 0)


@test
def one_of_several_scope_fields_is_enough(bench):
    upstream, gateway = bench.pair(
        echo, idempotency={"scope": ["Authorization", "X-Tenant"]})
    ways = [[("Authorization", "a")], [("X-Tenant", "a")],
            [("Authorization", "a"), ("X-Tenant", "a")],
            [("Authorization", "a"), ("X-Tenant", "b")]]
    for fields in ways:
        for replayed in (False, True):
            got = gateway.ask("k", tenant=None, fields=fields)
            equal((got.status, got.replayed), (201, replayed), fields)
    equal(upstream.count(), len(ways))
    equal(gateway.ask("k", tenant=None).problem, "scope-missing")


@test
def an_empty_value_counts_as_none(bench):
    upstream, gateway = bench.pair(
        echo, idempotency={"scope": ["Authorization", "X-Tenant"]})
    gateway.ask("k", tenant="a")
    assert gateway.ask("k", tenant="a", fields=[("X-Tenant", "")]).replayed


@test
def one_scope_for_all_is_said_on_purpose(bench):
    upstream, gateway = bench.pair(echo, idempotency={"scope": []})
    gateway.ask("k", tenant="a")
    assert gateway.ask("k", tenant="b").replayed
    assert gateway.ask("k", tenant=None).replayed
    equal(upstream.count(), 1)


@test
def two_lines_of_a_scope_field_are_refused(bench):
    upstream, gateway = bench.pair(echo)
    got = gateway.ask("k", tenant="a", fields=[("authorization", "b")])
    equal((got.status, got.problem), (400, "bad-request"))
    equal(upstream.count(), 0)


@each([(f"{name}, {words}, {way}", name, pair, key) for name in (
    "Authorization", "X-Tenant") for words, pair in (
        ("the same value", ("b", "b")), ("two values", ("b", "c")),
        ("an empty one first", ("", "b")), ("an empty one last", ("b", "")),
        ("both empty", ("", ""))) for way, key in (
            ("with a key", "k"), ("without", None))])
def whatever_names_the_scope_may_come_once(bench, name, pair, key):
    """Without a key too: the upstream could take either of the two."""
    upstream, gateway = bench.pair(echo, idempotency={
        "scope": ["Authorization", "X-Tenant"], "required": False})
    fields = [("X-Tenant" if name == "Authorization" else "Authorization",
               "a"), *((name, value) for value in pair)]
    with gateway.client() as client:
        client.send(keyed(key, fields, tenant=None))
        got = client.read()
        equal((got.status, got.problem), (400, "bad-request"))
        equal(client.reader.to_end(), b"")
    equal(upstream.count(), 0)
    equal(gateway.ask(key, tenant=None, fields=fields[:2]).status, 201)


@test
def clients_on_one_connection_are_told_apart(bench):
    upstream, gateway = bench.pair(echo)
    with gateway.client() as client:
        for tenant in ("a", "b", "a", "b"):
            client.send(keyed("k", tenant=tenant))
            equal(client.read().body, f"Authorization={tenant}".encode())
    equal(upstream.count(), 2)


tap.main()
