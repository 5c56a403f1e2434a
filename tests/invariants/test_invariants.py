# SPDX-License-Identifier: BSD-2-Clause
"""Each invariant of src/tbl/invariants.h is switched off, and a test sees
it."""

import contextlib
import re

from once import tap
from once.demo import source
from once.tap import equal, test
from trial import show, waits

SENT, UNKNOWN, ANSWERS = "test_sent_once", "test_unknown", "test_answers"
PATHS, KEY, JOURNAL = "test_passthrough", "test_key", "test_journal"
LARGE = "test_large_values"
STORE = "test_journal_store"
FIRST = "test_journal_first"
ORDER, REFUSED = "test_order", "test_source_refused"
BACK, SITES = "test_answer_check", "test_admin_sites"
MALFORMED = "a malformed head reaches nobody: then FIN"
CUT = "an answer that is cut anywhere is none: by length, FIN"
BAD = "malformed http is never forwarded and ends the connection: "
SLIPS = "no spelling slips past its route: "
ANOTHER = "another request is told by its: "

KILLING_TESTS = {
    # What was sent.
    "sent_is_unknown": [
        (SENT, "a post that gets no answer is seen once: 1 idle, RST, "
               "a small body"),
        ("test_promise", "an outcome that cannot be known")],
    "late_is_unknown": [(UNKNOWN, "no answer in time is 504 and held")],
    "cut_is_unknown": [
        ("test_drain", "what is not done by drain timeout is unknown")],
    "sent_in_lease": [
        ("test_lease", "what was not sent within its lease is not sent"),
        ("test_lease", "what was not sent within its lease is free again")],
    "cut_at_lease": [
        ("test_lease", "the rest of a request is not sent after its lease: "
                       "with the kernel"),
        ("test_lease", "the rest of a request is not sent after its lease: "
                       "with us, TLS")],
    "status_counts": [
        ("test_short_memory", "what releases by its head releases: its own")],
    "upstream_said_no": [
        ("test_on_unknown", "reconcile leaves unknown what nobody tells")],
    "revoked_first": [
        ("test_witness", "nobody decides while the api has it open")],
    "revocation_committed": [
        ("test_witness_answers",
         "what is refused at its commit does not free the key")],
    "witness_seen": [
        ("test_witness_answers",
         "enforced by that enforces nothing any more is no proof")],
    "asked_by": [
        ("test_witness", "what was sent by a gateway is held: without the "
                         "witness"),
        ("test_on_unknown", "a key that was not sent is not asked for")],
    "dotless_value": [
        ("test_on_unknown",
         "a path that cannot be made leaves it unknown: dots")],
    "one_word": [("test_outcomes", "two words of the upstream are no word")],
    "asked_first": [("unit/http/upstream/test_forward_connect",
                     "an_upstream_that_speaks_first_is_sent_nothing")],
    "idle_looked_at": [
        ("unit/http/upstream/test_forward_once",
         "an_idle_connection_is_looked_at_before_it_is_used")],
    "request_is_whole": [
        (SENT, "an answer before the whole request ends the connection")],
    "close_is_heard": [
        (SENT, "an upstream that says close is not used again")],
    "announced_comes": [
        (SENT, "content that comes late is nobodys answer: a 204, chunks")],
    "request_head": [("unit/http/upstream/test_http1_head",
                      "no_part_can_bring_a_line_of_its_own")],

    # The upstream's answer.
    "answer_is_whole": [(BACK, CUT)],
    "read_first": [
        ("test_stopped", "an answer that has come is not late: small")],
    "end_is_told": [
        (BACK, "a body that only ends by closing is none with a key")],
    "answer_controls": [(BACK, MALFORMED)],
    "answer_names": [(BACK, MALFORMED)],
    "answer_one_length": [(BACK, MALFORMED)],
    "answer_coding": [(BACK, MALFORMED)],
    "answer_one_framing": [(BACK, MALFORMED)],

    # The answer that everybody is given.
    "outcome_taken": [
        (JOURNAL, "the client gets its answer and so does every retry: "
                  "killed")],
    "fenced_answer": [
        ("test_admin", "a late owner hears what the operator said")],
    "fenced_unread": [
        ("test_two_gateways",
         "an owner that is fenced and short of memory gives no answer"),
        (LARGE, "a fenced owner that cannot fetch the answer gives none")],
    "own_reply": [
        ("test_false_replies",
         "a claim that was granted once is executed once"),
        ("test_false_replies",
         "an answer that comes twice is given to no other tenant")],
    "replay_confirmed": [
        ("test_replicas",
         "another gateway replays only what replicas have")],
    "late_held_back": [
        (JOURNAL, "after its lease an owner gives nothing away: an answer"),
        (JOURNAL, "after its lease an owner gives nothing away: a release"),
        (JOURNAL, "after its lease an owner gives nothing away: a doubt")],
    "undecided_held_back": [
        (JOURNAL, "where another execution may decide it is not handed out: "
                  "retry"),
        (JOURNAL, "where another execution may decide it is not handed out: "
                  "reconcile")],
    "large_not_kept": [
        (ANSWERS, "an answer too large to keep is streamed once")],
    "not_kept_said": [
        (ANSWERS, "an answer too large to keep is streamed once")],
    "omitted_fields": [
        ("test_replay", "omitted fields are for the first client only")],
    "own_replay": [
        ("test_replay", "an upstream cannot call its answer a replay")],
    "sealed_to_record": [
        ("test_encryption",
         "an answer that was moved to another record is nobodys"),
        ("test_encryption", "an answer is not given to another request")],
    "sealed_to_event": [
        ("test_webhook_kept",
         "a body that does not open is not sent: exchanged for another one"),
        ("test_webhook_kept", "a body opens in no other relay")],
    "unsealed_kept_back": [
        ("test_webhook_kept",
         "a body that does not open is not sent: put there in the clear")],
    "plain_refused": [
        ("test_encryption",
         "where encryption is strict a plain answer does not open")],
    "fetched_same": [
        (LARGE, "an answer that was replaced before it was fetched is not")],
    "stored_lines": [("unit/store/record/test_record",
                      "malformed_answers_are_refused")],

    # From memory.
    "cached_request": [
        ("test_cache", "another body with the key is refused all the same")],
    "cached_until": [
        waits("test_cache", "an answer is not given longer than its record")],
    "cache_hears": [
        ("unit/gate/test_cache", "who_hears_nothing_keeps_nothing")],
    "cache_fresh": [
        ("test_cache", "what was deleted is not given for long where the "
                       "subscriber: is frozen")],
    "cache_marks": [
        ("unit/gate/test_cache", "word_that_overtakes_an_answer_keeps_it_out")],
    "cache_drops": [
        waits("test_cache", "what an operator deletes is dropped by all")],

    # A claim.
    "claimed_first": [
        ("test_store_down", "a redis that died means 503 and nothing")],
    "known_executed": [
        (LARGE, "a fetch that fails is not taken for a store that is away"),
        ("test_store_unsafe",
         "what it refuses is not forwarded either: eviction")],
    "claim_given_back": [
        ("test_store_down", "a claim whose reply is lost is given back")],
    "giveback_again": [
        waits("test_store_down", "a claim that arrives behind what gives")],
    "late_link_reset": [
        ("unit/store/test_store_faults",
         "what_is_asked_after_a_freeze_waits_no_longer_than_its_time")],
    "lease_renewed": [
        ("test_lease", "an upstream slower than three leases")],
    "leases_swept": [
        waits(UNKNOWN, "a lease that ran out is noticed without a retry")],
    "last_look": [
        ("test_waiting", "a wait looks once more when its time is up")],
    "waiters_woken": [
        waits("test_waiting", "retries wait for the first and get its")],
    "replicas_compared": [
        ("test_replicas", "with it a failover executes once"),
        ("test_replicas", "a claim that replicas lack is given back")],
    "renewal_replicated": [
        ("test_lease", "nor while replicas lack the renewal: with us")],
    "master_only": [waits("test_store_down", "serve refuses a replica")],
    "newest_master": [
        ("unit/store/redis/test_sentinel_protocol",
         "the_few_who_say_what_is_older_are_not_followed")],
    "no_eviction": [
        waits("test_store_down", "serve refuses a redis that may evict")],

    # The journal.
    "writable_journal": [
        waits(JOURNAL, "a journal that cannot be written stops new claims")],
    "journal_took_it": [
        (JOURNAL, "an outcome that nothing takes is tried until redis")],
    "until_delivered": [
        waits(JOURNAL, "an outcome that is refused is delivered again")],
    "broken_kept": [
        ("test_journal_broken", "once it can be read again it is completed"),
        ("test_journal_broken", "a live answer goes to the journal: hold")],
    "dead_journals": [
        waits(JOURNAL, "the next process delivers it: killed")],
    "outcome_waits": [(FIRST, "an empty redis is not asked first")],
    "awaits_again": [(FIRST, "a claim that redis forgot is not replaced")],
    "dead_first": [
        (FIRST, "the next process knows it before it serves")],
    "suspects_wait": [
        ("unit/store/journal/test_journal_awaited",
         "what_may_be_ours_is_until_our_id_is_known")],
    "version_waits": [
        (FIRST, "an older version waits for the newer one: of this "
                "process")],
    "forgotten_held_back": [
        (FIRST, "a claim that redis forgot is not replaced")],
    "journal_synced": [
        ("unit/store/journal/test_journal", "what_is_appended_is_on_disk")],
    "journal_has_name": [
        waits(JOURNAL, "a journal that cannot be written stops new claims")],
    "journal_locked": [(JOURNAL, "a process that lives keeps its journal")],
    "journal_mended": [
        ("unit/store/journal/test_journal",
         "what_did_not_fit_leaves_nothing_behind")],
    "journal_masked": [
        ("unit/store/journal/test_journal",
         "what_an_upstream_made_up_is_no_entry_behind_damage")],
    "own_store": [
        waits(STORE, "an outcome is not delivered to another store: redis")],
    "outcome_restored": [
        (STORE, "an outcome makes its record again: by script"),
        waits(STORE,
              "an outcome on disk makes its record again: of this process")],
    "journal_sum": [
        waits(JOURNAL, "an entry that was damaged is not delivered")],

    # Whose key it is.
    "scope_in_name": [
        ("test_promise", "another tenant with the same key"),
        ("test_tenants", "fifty tenants with one key each get their own")],
    "scope_needed": [(ANSWERS, "the scope is missing")],
    "one_scope": [
        ("test_tenants", "two lines of a scope field are refused")],
    "token_verified": [("test_tokens", "a hostile token is refused: another "
                        "signature")],
    "token_algorithm": [("test_tokens", "a hostile token is refused: the "
                         "algorithm of another key")],
    "token_in_time": [("test_tokens", "a hostile token is refused: expired"),
                      ("test_tokens", "a hostile token is refused: not yet "
                       "valid")],
    "token_issuer": [("test_tokens", "a hostile token is refused: another "
                      "issuer")],
    "token_audience": [("test_tokens", "a hostile token is refused: another "
                        "audience")],
    "keys_from_url": [("test_token_keys", "a redirect is not followed")],
    "server_verified": [
        ("test_token_keys", "a stranger gives no keys: another authority")],
    "one_key": [(KEY, "two lines are refused even if equal"),
                (KEY, "two accepted fields are refused")],
    "bare_key": [(KEY, "a bad key is refused: a comma")],
    "dotless_key": [(KEY, "a bad key is refused: two dots")],
    "derived_of_nothing": [
        (KEY, "a body that derives no key is a missing key: a member is "
              "null")],
    "sweep_backs_off": [
        ("test_sweep", "an api that is away is asked hardly")],
    "same_query": [
        ("test_fingerprint", "what is asked about counts always: a member "
                             "that is ignored")],
    "records_found": [
        ("test_cluster_entity", "a reload does not lose sight of what was "
                                "executed: an entity")],
    "same_entity": [
        ("test_fingerprint", "what is changed counts always: the version")],
    "fingerprint_method": [("test_fingerprint", ANOTHER + "method")],
    "fingerprint_path": [("test_fingerprint", ANOTHER + "path")],
    "overrides_count": [
        ("test_fingerprint", "what overrides method and path counts")],
    "fingerprint_query": [("test_fingerprint", ANOTHER + "query")],
    "fingerprint_body": [
        ("test_fingerprint", ANOTHER + "body"),
        (ANSWERS, "another body with a used key is key reused")],
    "own_attempt": [
        ("test_replay", "the upstream is told the attempt and a clients")],
    "no_alias": [
        (PATHS, "what cgi takes for another field stays here: with a key"),
        (PATHS, "what cgi takes for a field of the route stays here")],
    "no_override": [
        (PATHS, "another method or path stays here unless it is trusted: "
                "without")],
    "sane_request_id": [(ANSWERS, "a request id that is sane is kept")],

    # A client's request.
    "strict_wire": [
        ("test_wire", "odd chunks are 400 and nothing behind is served: "
                      "a bare LF at the end, with a key"),
        ("test_wire", "odd chunks are 400 and nothing behind is served: "
                      "a trailer without a colon, with a key")],
    "short_chunk_lines": [
        ("test_wire", "a chunk line has 256 bytes at most")],
    "connection_names": [
        (ANSWERS, BAD + "a Connection that names the key"),
        (ANSWERS, BAD + "a Connection that names the scope")],
    "draining_refuses": [
        ("test_drain", "a request on an old connection is told that we")],
    "drain_waits": [
        (JOURNAL, "an outcome that nothing takes is drained too")],
    "one_host": [(ANSWERS, BAD + "two hosts")],
    "hop_by_hop": [
        (PATHS, "hop by hop fields of an upstream end here"),
        (PATHS, "hop by hop fields of a client end here")],
    "no_backslash": [(ANSWERS, BAD + "a backslash")],
    "path_decoded": [(PATHS, SLIPS + "/%76%31/charges"),
                     (PATHS, SLIPS + "/v1/charge%73")],
    "no_coded_nul": [(ANSWERS, BAD + "%00 in the path")],
    "coded_slash": [(ANSWERS, BAD + "dots behind a coded slash")],
    "one_reading": [
        (PATHS, "a path of two readings does not pass a route by: "
                "/static/..%2Fv1/charges"),
        (PATHS, "a variable of two readings names no namespace"),
        (PATHS, "whatever reading a path has it does not pass its route "
                "by")],
    "dots_resolved": [(PATHS, SLIPS + "/v1/x/../charges"),
                      (PATHS, SLIPS + "/../v1/charges")],
    "base_kept": [
        ("test_passthrough",
         "a path that climbs does not leave its upstreams base path")],
    "slashes_joined": [(PATHS, SLIPS + "/v1//charges")],

    # A message.
    "acknowledged_stored": [
        ("test_sources",
         "an answer that only the journal has acknowledges nothing")],
    "sent_before": [
        ("test_record_gone",
         "a held message whose record redis has lost stays held")],
    "lost_data_stands": [
        ("test_record_gone", "what somebody was at before stands its source")],
    "other_store_stands": [
        ("test_record_gone",
         "letters that are lost stand their source at the start")],
    "one_of_an_order": [
        (ORDER, "messages of one order go one after the other"),
        (ORDER, "a retry keeps its place")],
    "behind_a_letter": [
        (ORDER, "what comes behind a dead letter follows it")],
    "api_is_to_blame": [
        (REFUSED,
         "attempts count only where another message was executed since")],
    "letter_first": [
        ("test_sources",
         "a letter that was written is one whatever its key becomes")],
    "letter_replicated": [
        ("test_replicas",
         "a dead message that replicas lack is not acknowledged")],
    "room_for_dead": [
        (REFUSED,
         "beyond keep dead the source stands before it acknowledges")],

    # The operator.
    "answer_waits": [
        (JOURNAL, "a key whose answer waits on disk is not set free")],
    "operator_revokes": [
        ("test_witness_operator",
         "what did not happen is revoked first: released")],
    "admin_token": [("test_admin", "a token is needed for all but health")],
    "admin_site": [(SITES, "a page of another site changes nothing")],
    "admin_host": [
        (SITES, "a name that was bound anew shows and changes nothing")],
    "admin_json": [(SITES, "a form changes nothing")],
    "operators_fields": [
        ("test_admin", "complete refuses: a value with a line feed"),
        ("test_admin", "complete refuses: a field name with a space")],
}


@test
def every_guard_of_the_program_has_a_test_that_sees_its_loss(bench):
    with open(source("src/tbl/invariants.h"), encoding="utf-8") as file:
        invariants = re.findall(
            r"^INVARIANT_NAME\(\s*(\w+),", file.read(), re.M)
    equal(sorted(KILLING_TESTS), sorted(invariants))


@contextlib.contextmanager
def without(invariant):
    yield {"ONCE_INVARIANTS_OFF": invariant}


show(KILLING_TESTS, without)
tap.main()
