# SPDX-License-Identifier: BSD-2-Clause
"""Each invariant of the record's machine (src/store/record/lua/) is taken out,
and a test sees it.

A mutant is its name, what is replaced by what in which script (it must stand
there exactly once), and the killing tests."""

import contextlib
import os
import re

from once import tap
from once.demo import source
from once.folder import drop_folder, make_folder
from once.tap import test
from trial import show, waits

ANSWERS, UNKNOWN, RETRY = "test_answers", "test_unknown", "test_on_unknown"
DOWN, LEASE, ADMIN = "test_store_down", "test_lease", "test_admin"
TWO, ENTITY = "test_two_gateways", "test_entity"
STORE, MOVES = "test_journal_store", "test_cluster_entity"
DAMAGED = "test_journal_broken"
BEFORE = "no claim comes before what another gateway has of it: "
BESIDE = "a holder is waited for that is on another server: "
FIRST = "test_journal_first"
LEADERSHIP = "unit/messages/shared/test_leadership"
PAUSE = "unit/messages/shared/test_pause"
STREAM = "unit/messages/broker/test_streams_again"
COPIES = "unit/messages/broker/test_streams_copies"
LETTERS = "unit/messages/shared/test_letters"
DEAD = "test_dead_letters"
BY_ONE = "a_lane_is_brought_back_by_one_owner"
SLEPT = "an owner that slept while another took its place is fenced: its "
WITH_AN_END = "everything in redis has an end: "
NOTHING = ""

MUTANTS = {
    # A claim must come in time, and the key must be free.
    "a claim has a deadline": (
        {name: [("stamp > deadline and deadline ~= NO_DEADLINE", "false")]
         for name in ("claim", "claims")},
        [(DOWN, "a claim that arrives after its deadline is no claim")]),
    "a lease is waited for": (
        {"claim": [("elseif r.lease_until > stamp then",
                    "elseif false then")]},
        [(ANSWERS, "a retry while the first runs is in flight")]),
    "a lease that ran out makes no free key": (
        {"claim": [("\texpire(r)\nend\n",
                    "\treturn execute(false)\nend\n")],
         # Only a retry is to notice it, not the sweeper.
         "due": [("'-inf', now,", "'-inf', 0,")]},
        [(UNKNOWN, "a gateway that was killed leaves an unknown key")]),
    "an unknown outcome is held": (
        {"claim": [("elseif policy == 'retry' and not stale then",
                    "elseif not settle then")]},
        [("test_promise", "an outcome that cannot be known")]),
    "attempts are counted": (
        {"claim": [("tonumber(r.tries) >= tonumber(max_attempts)", "false")]},
        [(RETRY, "attempts are exhausted after max attempts"),
         (ANSWERS, "attempts that are used up are attempts exhausted")]),
    "the attempt rises": (
        {"claim": [("r.attempt + 1)", "math.max(r.attempt, 1))")]},
        [("test_replay", "the upstream is told the attempt"),
         (TWO, SLEPT + "answer")]),
    "what was not sent does not count": (
        {"release": [("if not counts then", "if sent and not counts then")]},
        [(RETRY, "what was not sent does not count as an attempt"),
         (UNKNOWN, "what was not sent does not count as an attempt")]),
    "what was refused before any work does not count": (
        {"release": [("if not counts then", "if not sent then")]},
        [("test_outcomes", "what was refused before any work does not count")]),
    "what was sent and released otherwise counts": (
        {"release": [("if not counts then", "if true then")]},
        [(RETRY, "attempts are remembered over releases"),
         ("test_outcomes", "what else is released counts")]),
    "what was not sent takes back one attempt only": (
        {"release": [("if not sent and r.before ~= '' then",
                      "if false then")]},
        [(RETRY, "what was not sent leaves an earlier attempt unknown")]),
    "only a first attempt is forgotten": (
        {"release": [("\tforget = forget and only\n", NOTHING)]},
        [("test_outcomes", "an attempt that is not the first is remembered"),
         ("test_outcomes", "an attempt after an unknown one is remembered")]),
    "what is forgotten holds no entity": (
        {"release": [("\t\tentity_forget(r)\n", NOTHING)]},
        [("test_outcomes", "what is forgotten leaves its entity free")]),
    "what was not sent leaves the attempt before to its owner": (
        {"release": [("\tr.owner = string.sub(last, 1, 22)\n", NOTHING)]},
        [(RETRY, "what was not sent leaves the owner before its truth")]),
    "the truth about an attempt before is welcome": (
        {"complete": [("local earlier = was_before(r, owner, attempt)",
                       "local earlier = false")]},
        [(RETRY, "an unknown attempt does not shut out the truth about the")]),
    "nothing is asked before the outcome has settled": (
        {"claim": [("elseif settle and left <= 0 and caution < '4' and",
                    "elseif settle and")]},
        [(RETRY, "reconcile does not ask before the outcome has settled"),
         (RETRY, "a lease that expired has to settle too")]),

    "an operator's word for a witness is of its own moment": (
        {"trust": [("word, ended, why, since = 'DONE', '0', '', stamp",
                    "word, ended, why = 'DONE', '0', ''")]},
        [("test_witness_operator",
          "what was sent before that word is never asked about")]),
    "no other question is asked about an attempt": (
        {"claim": [("(r.question or question) == question", "true")]},
        [("test_fingerprint", "what is asked about counts always: a member "
                              "that is ignored")]),

    # What a request changes.
    "an older version is stale": (
        {"claim": [("version <= e.version", "false")]},
        [(ENTITY, "only a newer version is executed: numbers")]),
    "what is completed raises the version": (
        {"complete": [("e.version == '-' or e.version < r.version",
                       "false")]},
        [(ENTITY, "only a newer version is executed: numbers")]),
    "what the operator completes raises the version": (
        {"operate": [("\tmove(r, 'C', retention)\n\tentity_raise(r)\n"
                      "\tindex_label(ARGV[8]",
                      "\tmove(r, 'C', retention)\n\tindex_label(ARGV[8]")]},
        [(ENTITY, "an operators completion raises the version")]),
    "an entity counts only beside its record": (
        {"claim": [("local away = #ARGV >= 7 and entity_apart(ARGV[3])",
                    "local away = false")]},
        [(MOVES, "a version that is on another server is waited for"),
         (MOVES, BESIDE + "the entity")]),
    "a holder counts only beside its entity": (
        {"claim": [("local away = entity_apart(e.holder)",
                    "local away = false")]},
        [(MOVES, BESIDE + "the holder")]),
    "a version is raised only beside its record": (
        {"complete": [("local away = r.version and entity_apart(r.entity)",
                       "local away = false")]},
        [(MOVES, "a version is raised where it is remembered")]),
    "what did not happen and is stale is not executed": (
        {"claim": [("\telseif stale then\n\t\tset_free",
                    "\telseif false then\n\t\tset_free")]},
        [(ENTITY, "what did not happen and is stale by now")]),
    "an entity has one holder": (
        {"claim": [("\tif holder then\n", "\tif false then\n")]},
        [waits(ENTITY, "another key of the entity is busy while one")]),
    "a holder holds no longer than its record is in flight": (
        {"claim": [("if string.find(head, '^o[12]P') and lease_until > stamp",
                    "if true")]},
        [(ENTITY, "the end of one execution lets the next go: an answer")]),

    "a holder's entity lives as long as its record": (
        {"renew": [("redis.call('PEXPIRE', e.name, alive)", "")]},
        [waits(ENTITY, "an entity lives as long as the request that")]),

    "a redis that may forget is given no claims": (
        {"claim": [("caution % 2 == 1", "false")],
         "claims": [("caution % 2 == 1", "false")]},
        [("test_store_unsafe", "outcomes are stored while new claims are"),
         ("test_store_unsafe", "a fault stops new claims until it is mended:"
                               " eviction")]),

    # Whose request it is.
    "a stored answer is for its request": (
        {"claim": [("string.sub(value, PRINT, PRINT_END) == fingerprint then",
                    "true then")],
         "claims": [("sub(value, PRINT, PRINT_END) == "
                     "sub(item, 1 + TOKEN, 2 * TOKEN)", "true")]},
        [(ANSWERS, "another body with a used key is key reused")]),
    "what a gateway knows is not called unknown": (
        {"claim": [("if has_outcome then", "if false then")]},
        [("test_journal", "what a gateway knows itself it never calls")]),
    "a claim is for its request": (
        {"claim": [("elseif r.fingerprint ~= fingerprint and",
                    "elseif false and")]},
        [(ANSWERS, "another body while the first runs is key reused")]),

    "an operator's answer is for the record that he looked at": (
        {"operate": [("(wanted ~= 0 and tonumber(r.attempt) ~= wanted) or",
                      "false or"),
                     ("(ARGV[6] ~= '' and r.fingerprint ~= ARGV[6])",
                      "false"),
                     ("(changed ~= 0 and\n", "(false and\n")]},
        [("test_encryption",
          "an operators answer is for the record that was looked at"),
         (ADMIN, "nor is it of the attempt after that")]),

    "what was damaged is not free": (
        {"operate": [("\treturn told('BROKEN', r, 'U')\n",
                      "\tr = told('BROKEN', r, 'U')\n"
                      "\tredis.call('DEL', KEYS[1])\n\treturn r\n")]},
        [(DAMAGED, BEFORE + "an answer"), (DAMAGED, BEFORE + "a doubt")]),
    "what was damaged may be of any request": (
        {"claim": [("(r.state ~= 'U' or r.fingerprint ~= NOBODY)", "true")]},
        [(DAMAGED, BEFORE + "an answer")]),
    "what is made for a lost record is of its request": (
        {"claim": [("fingerprint = fingerprint, before",
                    "fingerprint = NOBODY, before")]},
        [("test_record_gone",
          "it is not where an operator completes its key")]),
    "what is known of what was damaged takes its place": (
        {name: [("if not r or was_damaged(r) then", "if not r then")]
         for name in ("complete", "mark_unknown")},
        [(DAMAGED, BEFORE + "an answer"), (DAMAGED, BEFORE + "a doubt")]),

    # Only the present owner takes a step.
    "who completes must own it": (
        {"complete": [("if earlier and r.state == 'P' then",
                       "if false then"),
                      ("elseif r.attempt ~= attempt and not earlier then",
                       "elseif false then"),
                      ("(r.owner == owner or r.asked == owner or\n"
                       "\twas_put_back(r, owner, attempt))", "true")]},
        [(TWO, SLEPT + "answer")]),
    "who completes in a turn must own it": (
        {"completes": [("sub(value, 1, ATTEMPT_END) == mine",
                        "sub(value, 1, STATE) == 'o1P'"),
                       ("sub(value, OWNER, OWNER_END) == owner", "true")]},
        [(ADMIN, "a late owner of a freed key does not answer for its")]),
    "the answers of a turn leave nobody waiting": (
        {"completes": [("sub(value, MARK, MARK) == '\\n' and", "")]},
        [waits("test_waiting", "retries on another gateway wait too")]),
    "a redis that may forget is given no claims in a turn": (
        {"claims": [("caution % 2 == 1", "false")]},
        [("test_store_unsafe", "outcomes are stored while new claims are")]),
    "who releases must own it": (
        {"release": [("attempt ~= '000000' and r.attempt ~= attempt",
                      "false"),
                     ("or r.owner ~= owner then", "then")]},
        [(TWO, SLEPT + "refusal")]),
    "who doubts must own it": (
        {"mark_unknown": [("elseif r.attempt ~= attempt then",
                      "elseif false then"),
                     ("or (r.state == 'P' and r.owner == owner) then",
                      "or r.state == 'P' then")]},
        [(TWO, SLEPT + "doubt")]),
    "a late truth is welcome": (
        {"complete": [("(r.state == 'P' or r.state == 'U')",
                       "r.state == 'P'")]},
        [(LEASE, "an owner that slept past its lease still completes")]),
    "who was overruled does not own it": (
        {"operate": [("r.reason, r.owner = '-', NOBODY",
                      "r.reason = '-'")]},
        [(ADMIN, "a late owner hears what the operator said")]),

    # What is stored stays.
    "done is stored": (
        {"complete": [("\tmove(r, 'C', retention)\n", NOTHING)],
         "completes": [("redis.call('SET', key, done",
                        "select('#', key, done")]},
        [("test_replay", "the first answer is stored before the client")]),
    "a full redis takes outcomes": (
        {name: [("#!lua flags=allow-oom\n", NOTHING)]
         for name in ("complete", "completes")},
        [(DOWN, "a redis that is full refuses claims and takes outcomes")]),
    "a full redis takes no claims": (
        {"claim": [("-- Claims a key",
                    "#!lua flags=allow-oom\n-- Claims a key")],
         "claims": [("-- Claims of one turn",
                     "#!lua flags=allow-oom\n-- Claims of one turn")]},
        [(DOWN, "a redis that is full refuses claims and takes outcomes")]),
    "what nobody can read is not free": (
        {"claim": [("not line then\n\t\treturn false",
                    "not line then\n\t\treturn nil")]},
        [(DOWN, "a record that nobody can read is refused")]),
    "an unknown outcome is kept": (
        {"mark_unknown": [("move(r, 'U', ARGV[4], ARGV[5])",
                      "move(r, 'U', 60000, ARGV[5])")]},
        [(LEASE, WITH_AN_END + "unknown")]),
    "a claim is kept": (
        {"claim": [("move(r, 'P', alive_ms, longest)",
                    "move(r, 'P', 60000, longest)")],
         "claims": [("'PXAT',\n\t\t    ends)", "'PX', 60000)")]},
        [(LEASE, "a record in flight outlives the longer retention")]),
    "a dead letter is kept": (
        {"claim": [("move(r, 'F', unknown_ms, longest)",
                    "move(r, 'F', 60000, longest)")]},
        [(LEASE, "a failed record is kept as long as an unknown one")]),
    "everything has an end": (
        {"complete": [("r.rest),\n\t    'PX', ttl)", "r.rest))")],
         "completes": [("ARGV[at + 1], 'PXAT', ends)", "ARGV[at + 1])")]},
        [(LEASE, WITH_AN_END + "completed")]),

    "an index has an end": (
        {"claim": [("'CH', anchor, ANCHOR) == 1 then",
                    "'CH', anchor, ANCHOR) == 9 then")],
         "claims": [("if done > 1 then", "if done > 9 then")]},
        [(LEASE, WITH_AN_END + "completed")]),

    # What Redis has forgotten.
    "an answer makes its record again": (
        {"complete": [("\tr = make_again(5, r, owner, attempt)\n", NOTHING)]},
        [(STORE, "an outcome makes its record again: by script"),
         (STORE, "an outcome makes its record again: by function")]),
    "who came later and executed nothing is not in the way": (
        {"complete": [(" or forgotten(r, owner, attempt, 5) then", " then")]},
        [(FIRST, "a claim that redis forgot is not replaced")]),
    "what is made again knows its version": (
        {"complete": [("\t\tentity_note(r, first + 4, ARGV[first + 7])\n",
                       NOTHING)]},
        [(STORE, "a record made again knows its version: at once"),
         (STORE, "a record made again knows its version: from disk")]),
    "a doubt makes its record again": (
        {"mark_unknown": [("\tr = make_again(6, r, owner, attempt)\n",
                           NOTHING)]},
        [(STORE, "an outcome of which nobody knows is made again too")]),
    "a record that was made again is of the same request": (
        {"complete": [("fingerprint = ARGV[first]",
                       "fingerprint = NOBODY")]},
        [(STORE, "an outcome makes its record again: by script")]),
    "a store keeps its id": (
        {"identify": [("if not id then", "if true then")]},
        [waits(STORE, "an outcome follows its data to another place")]),

    # Owners that died are noticed, and nobody else.
    "a lease is renewed": (
        {"renew": [(
            "redis.call('SETRANGE', KEYS[i], LEASE - 1, lease_until)\n",
            "\n")]},
        [(LEASE, "an upstream slower than three leases ends completed")]),
    "a lease is in the list": (
        {"claim": [("\t\tindex(KEYS[2], KEYS[1], r.lease_until, longest)\n",
                    NOTHING)],
         "claims": [("try('ZADD', leases, 'CH', anchor,\n"
                     "\t\t    ANCHOR, lease_until, sub(key, -32))", "1")]},
        [waits(UNKNOWN, "a lease that ran out is noticed without a retry")]),
    "a lease that is good is left alone": (
        {"due": [("'-inf', now,", "'-inf', '+inf',")],
         "expire": [("elseif r.lease_until > stamp then",
                    "elseif false then")]},
        [(LEASE, "a payment in flight is not given up before its lease")]),
    "who waits is told": (
        {"complete": [("if waited and state ~= 'P' then",
                       "if false then")]},
        [waits("test_waiting", "retries on another gateway wait too")]),

    # What an operator may decide.
    "nothing is decided in flight": (
        {"operate": [("if before == 'P' or act", "if act")]},
        [(ADMIN, "nothing is decided about a record in flight")]),
    "an attempt that nobody looked at is not decided": (
        {"operate": [("wanted ~= 0 and tonumber(r.attempt) ~= wanted",
                      "false")]},
        [(ADMIN, "what was said of one attempt is not taken for another")]),
    "nothing is decided twice": (
        {"operate": [("before ~= 'U' and before ~= 'F'", "before == 'P'"),
                     ("(changed ~= 0 and\n", "(false and\n")]},
        [(ADMIN, "of two who have looked one decides")]),
    "who keeps an answer hears of it": (
        {"operate": [("redis.call('PUBLISH', string.sub(KEYS[2], 1, -7) .. "
                      "'changes', name)\n", NOTHING)]},
        [waits("test_cache", "what an operator deletes is dropped by all")]),
    "what is unknown is in the list": (
        {"mark_unknown": [("\t\tindex(KEYS[3], KEYS[1], changed, longest)\n",
                      NOTHING)]},
        [(ADMIN, "a list goes from old to new in pages")]),

    # What gateways share of a source.
    "one gateway at a time leads": (
        {"leadership": [("if holder ~= token and ends > now then",
                         "if false then")]},
        [(LEADERSHIP, "one_of_two_has_it_and_keeps_it")]),
    "the term of a leadership grows": (
        {"leadership": [("math.max(term + 1, now)", "now")]},
        [(LEADERSHIP, "what_another_has_is_lost")]),
    "a pause stays": (
        {"pause": [("\tredis.call('SET', KEYS[1], value)\n", NOTHING)]},
        [(PAUSE, "a_pause_holds_until_it_is_resumed_and_says_why")]),
    "the tries of an event are counted": (
        {"kept": [("tries + 1", "tries")]},
        [("test_webhook_kept",
          "neither of both is enough alone: three days and few tries")]),
    "the time in which a relay ran is counted": (
        {"kept": [("\tredis.call('SET', KEYS[3], ARGV[3])\n\tfor", "\tfor"),
                  ("if redis.call('EXISTS', KEYS[1]) == 1 then",
                   "if false then")]},
        [("test_webhook_kept",
          "time in which it is paused does not count")]),
    "a result is put while its entry is pending": (
        {"stream_put": [("if not pending then", "if false then"),
                        ("pending[2] ~= consumer", "false")]},
        [(STREAM, "a_frozen_reader_puts_nothing")]),
    "a mark is put once": (
        {"stream_mark": [("== ARGV[3] then\n\t\treturn 0",
                          "== nil then\n\t\treturn 0")]},
        [(COPIES, "a_mark_and_its_result_are_put_once")]),

    # Dead and parked messages.
    "a letter is put once": (
        {"letter_put": [("if letter then", "if false then")]},
        [(LETTERS, "a_letter_is_put_once")]),
    "a letter that is there is not taken for gone": (
        {"seeks": [("and not found[1]", "")]},
        [(LETTERS, "a_letter_is_sought_by_its_position_alone")]),
    "a letter that cannot be read is not taken for gone": (
        {"seeks": [("not found.err and", "")]},
        [(LETTERS, "a_letter_is_sought_by_its_position_alone")]),
    "who leads no more writes no letter": (
        {"letter_put": [("if stamp > ARGV[8] then", "if false then")]},
        [(LETTERS, "what_comes_to_redis_too_late_is_no_letter")]),
    "nothing is put behind a lane that is gone": (
        {"letter_put": [("if act == 'behind' and not first then",
                         "if false then")]},
        [(LETTERS, "others_hear_of_a_lane_that_is_made_and_freed")]),
    "what is parked keeps its order": (
        {"letter_put": [("redis.call('ZADD', KEYS[2] .. lane, put, id)",
                         "redis.call('ZADD', KEYS[2] .. lane, first and "
                         "2e13 - put or put, id)")]},
        [(DEAD, "what is parked comes back in order before anything newer")]),
    "what is newer stays behind a lane that comes back": (
        {"letter": [("if was_first and not after then",
                     "if was_first then")]},
        [(DEAD, "what is newer stays behind a lane that comes back")]),
    "no letter is begun that its broker may not have acknowledged": (
        {"letter": [("if letter.state == 'written' or", "if false or")]},
        [(LETTERS, "an_operators_word_reaches_who_has_the_source")]),
    "a letter is begun by one owner": (
        {"letter": [("not asked and letter.ends > now then", "false then")]},
        [(LETTERS, BY_ONE)]),
    "what is parked is not replayed before the first": (
        {"letter": [("(purpose == 'replay' and is_parked(letter)) then",
                     "false then")]},
        [(LETTERS, BY_ONE)]),
    "who lost a letter ends it no more": (
        {"letter": [("elseif not is_mine then", "elseif false then")]},
        [(LETTERS, BY_ONE)]),
}


def script(name):
    """A script as the program embeds it: without SPDX lines, with its
    includes."""
    with open(source(f"src/store/record/lua/{name}.lua"),
              encoding="utf-8") as file:
        lines = [line for line in file if "SPDX" not in line]
    text = ""
    for line in lines:
        part = re.match(r"\t*-- include (\w+)\.lua$", line)
        text += script(part[1]) if part else line
    return text


@contextlib.contextmanager
def without(invariant):
    folder = make_folder()
    try:
        for name, changes in MUTANTS[invariant][0].items():
            text = script(name)
            for old, new in changes:
                assert text.count(old) == 1, (
                    f"{old!r} stands {text.count(old)} times in {name}.lua")
                text = text.replace(old, new)
            with open(os.path.join(folder, name + ".lua"), "w",
                      encoding="utf-8") as file:
                file.write(text)
        yield {"ONCE_SCRIPTS": folder}
    finally:
        drop_folder(folder)


@test
def each_mutant_is_one(bench):
    """Those that are not tried this time, too."""
    for invariant in MUTANTS:
        with without(invariant):
            pass


show({name: tests for name, (_, tests) in MUTANTS.items()}, without)
tap.main()
