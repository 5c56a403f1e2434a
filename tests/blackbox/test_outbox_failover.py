# SPDX-License-Identifier: BSD-2-Clause
"""An outbox whose primary is lost with rows that the standby has not got: the
new one gives the same ids and the same transaction ids to other rows."""

import json

from once import tap
from once.gateway import is_without
from once.postgres import Outbox, outbox_source, programs
from once.tap import equal, test
from once.wait import eventually


@test
def another_row_of_the_same_id_is_not_taken_for_it(bench):
    upstream = bench.upstream()
    pair = bench.postgres_pair()
    outbox = Outbox(pair)
    pair("CREATE FUNCTION add(id bigint, n int) RETURNS text LANGUAGE sql AS "
         "$$ INSERT INTO outbox (id, aggregateid, type, payload, headers) "
         "VALUES ($1, 'a', 'x', json_build_object('n', $2), "
         "json_build_object('Idempotency-Key', 'k' || $2)) "
         "RETURNING xmin::text $$")
    config = bench.config(upstream)
    outbox_source(config, outbox, results={"table": "done"})
    gateway = bench.serve(config)
    gateway.wait_for_log("source_parts")
    pair.wait_copied()
    pair.standby.kill()
    hold = upstream.hold()
    old, = pair("SELECT add(1, 1)")
    hold.wait_arrived()
    pair.primary.cut()
    pair.standby.start()
    pair.promote()
    next_one = "SELECT pg_snapshot_xmax(pg_current_snapshot())"
    while int(pair(next_one)[0]) < int(old):
        pair("SELECT pg_current_xact_id()")
    equal(pair("SELECT add(1, 2)"), [old], "the row's transaction")
    hold.release()
    gateway.wait_until(lambda: upstream.count() == 2,
                       "the other row is executed")
    eventually(lambda: outbox.unread() == [], "the row is finished")
    equal([json.loads(r.body)["n"] for r in upstream.requests], [1, 2])
    equal(len(pair("SELECT id FROM done")), 1)


if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tap.main()
