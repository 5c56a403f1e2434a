/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * INVARIANT_NAME(name, loss): the conditions that keep the promise, and what
 * would happen without each.  base/test_build.h says how they are used;
 * tests/invariants/ has a test for each that notices its loss.  The record's
 * machine keeps its conditions in the scripts, and
 * tests/invariants/test_scripts.py takes them out there.
 */

/* --- what was sent: gate/execution.c, upstream/ --- */
INVARIANT_NAME(sent_is_unknown,
    "a request that was sent and not answered would be sent again")
INVARIANT_NAME(late_is_unknown,
    "a request that was sent and not answered in time would be sent again")
INVARIANT_NAME(cut_is_unknown,
    "a request that a drain cut off would be sent again")
INVARIANT_NAME(sent_in_lease,
    "a request would be sent although another has taken its place")
INVARIANT_NAME(cut_at_lease,
    "the rest of a request would be sent although another has taken its place")
INVARIANT_NAME(status_counts,
    "a no of the upstream would be lost for want of memory")
INVARIANT_NAME(upstream_said_no,
    "what the upstream could not tell would be taken for a no, and executed")
INVARIANT_NAME(revoked_first,
    "a payment that its API has yet to commit would be made again")
INVARIANT_NAME(dotless_value,
    "a value of dots would lead a reconcile to another resource")
INVARIANT_NAME(one_word,
    "an upstream that says both release and store would be believed")
INVARIANT_NAME(asked_first,
    "bytes that came before the request was sent would be its answer")
INVARIANT_NAME(idle_looked_at,
    "bytes that lay on an idle connection would be the next one's answer")
INVARIANT_NAME(request_is_whole,
    "the next request would be read as the rest of this one's body")
INVARIANT_NAME(close_is_heard,
    "a request would be sent on a connection that is about to close")
INVARIANT_NAME(announced_comes,
    "content behind HEAD, 204 or 304 would be the next request's answer")
INVARIANT_NAME(request_head,
    "a field with a line break would begin a request of its own")

/* --- a witness: gate/witness.c, gate/trust.c --- */
INVARIANT_NAME(revocation_committed,
    "a key would be free though its attempt may still commit")
INVARIANT_NAME(witness_seen,
    "an API that writes no row would be believed to have done nothing")
INVARIANT_NAME(asked_by,
    "an API would be asked by what it was never told, and know nothing")

/* --- the upstream's answer: upstream/forward.c, its head, loop/ --- */
INVARIANT_NAME(answer_is_whole, "half an answer would be stored as the answer")
INVARIANT_NAME(read_first,
    "an answer that has come would be lost to a deadline")
INVARIANT_NAME(end_is_told,
    "an answer that was cut off could not be told from a whole one")
INVARIANT_NAME(answer_controls,
    "a control in an answer's head would reach clients, and split it")
INVARIANT_NAME(answer_names,
    "a field that two readers understand differently would reach clients")
INVARIANT_NAME(answer_one_length, "of two lengths one would be believed")
INVARIANT_NAME(answer_coding, "a body in an unknown coding would be stored")
INVARIANT_NAME(answer_one_framing,
    "of a length and a coding one would be believed")

/* --- the answer that everybody is given: gate/, store/, record/ --- */
INVARIANT_NAME(outcome_taken,
    "what Redis has not taken would be believed to be stored")
INVARIANT_NAME(own_reply,
    "a reply that came twice would give a tenant another one's answer")
INVARIANT_NAME(replay_confirmed,
    "an answer would be replayed that too few replicas have, and forgotten")
INVARIANT_NAME(fenced_answer,
    "a fenced owner would give out an answer that is not the record's")
INVARIANT_NAME(fenced_unread,
    "a fenced owner would give out its own answer, for want of memory")
INVARIANT_NAME(late_held_back,
    "an answer would be given out although an operator has decided")
INVARIANT_NAME(undecided_held_back,
    "an answer would be given out although another one may be stored")
INVARIANT_NAME(large_not_kept, "an answer beyond the limit would fill Redis")
INVARIANT_NAME(
    not_kept_said, "a retry would be given an answer without its body")
INVARIANT_NAME(omitted_fields, "one client's session would be given to others")
INVARIANT_NAME(own_replay, "an upstream could call its answer a replay")
INVARIANT_NAME(sealed_to_record,
    "an encrypted answer could be moved to another tenant's record")
INVARIANT_NAME(sealed_to_event,
    "an encrypted event could be brought as another one, to anybody")
INVARIANT_NAME(unsealed_kept_back,
    "who may write into Redis could have an event signed and sent")
INVARIANT_NAME(plain_refused,
    "who may write into Redis could put an answer there")
INVARIANT_NAME(fetched_same,
    "a large answer of another execution would be taken for this one's")
INVARIANT_NAME(
    stored_lines, "a damaged record would split the head of an answer")

/* --- from memory: gate/cache.c, gate/request.c --- */
INVARIANT_NAME(cached_request,
    "a payment of another amount would be given this one's answer")
INVARIANT_NAME(cached_until, "an answer would outlive its record in one worker")
INVARIANT_NAME(cache_hears,
    "an answer would be given that an operator has taken back unheard")
INVARIANT_NAME(cache_fresh,
    "an answer would be given long after an operator has taken it back")
INVARIANT_NAME(cache_marks,
    "an answer that was under way would outlive the word that it is gone")
INVARIANT_NAME(cache_drops,
    "a gateway would give an answer that an operator has taken back")

/* --- a claim: gate/request.c, gate/lease.c, store/ --- */
INVARIANT_NAME(claimed_first, "without Redis, every retry would be executed")
INVARIANT_NAME(known_executed,
    "what Redis refuses, or knows to be executed, would be forwarded")
INVARIANT_NAME(claim_given_back,
    "a claim whose reply was lost would block its key for a lease")
INVARIANT_NAME(giveback_again,
    "a claim that arrives after it was given back would block its key")
INVARIANT_NAME(late_link_reset,
    "what is asked next would wait behind a Redis that is silent")
INVARIANT_NAME(lease_renewed, "a payment that takes long would become UNKNOWN")
INVARIANT_NAME(renewal_replicated,
    "an owner cut off with an old master would go on beside the next owner")
INVARIANT_NAME(leases_swept, "nobody would hear of an owner that died")
INVARIANT_NAME(waiters_woken, "retries would wait although the answer is there")
INVARIANT_NAME(last_look, "a retry would not be told what happened meanwhile")
INVARIANT_NAME(replicas_compared,
    "a claim that only a dying Redis has would be executed, and again later")
INVARIANT_NAME(master_only, "the gateway would serve on what takes no claims")
INVARIANT_NAME(newest_master,
    "the gateway would go back to a master that the others have replaced")
INVARIANT_NAME(no_eviction,
    "Redis could forget a claim, and its payment be made again")

/* --- the journal: gate/journal_replay.c, journal/ --- */
INVARIANT_NAME(writable_journal,
    "an outcome that Redis cannot take would have no place to go")
INVARIANT_NAME(journal_took_it,
    "an outcome that is neither in Redis nor on disk would be forgotten")
INVARIANT_NAME(until_delivered,
    "an outcome that Redis refused once would be forgotten")
INVARIANT_NAME(broken_kept,
    "an outcome would be forgotten for a record that is damaged")
INVARIANT_NAME(
    dead_journals, "what a dead process had on disk would stay there")
INVARIANT_NAME(outcome_waits,
    "what was executed would be executed again where Redis lost the claim")
INVARIANT_NAME(awaits_again,
    "what another worker has just come to know would be executed again")
INVARIANT_NAME(dead_first,
    "what a dead process executed would be executed again by the next one")
INVARIANT_NAME(suspects_wait,
    "what moved to us with its Redis would be executed before we know it")
INVARIANT_NAME(version_waits,
    "an older version would be executed after one that waits on disk")
INVARIANT_NAME(forgotten_held_back,
    "an answer would be dropped for a claim that may come to nothing")
INVARIANT_NAME(journal_synced,
    "an answer would be given out that a loss of power takes away")
INVARIANT_NAME(journal_has_name,
    "outcomes would be written to a file that ends with the process")
INVARIANT_NAME(journal_locked,
    "one process would take away another's journal")
INVARIANT_NAME(journal_mended,
    "the rest of an entry could be taken for an entry of its own")
INVARIANT_NAME(journal_sum, "an entry that was damaged would be the answer")
INVARIANT_NAME(journal_masked,
    "behind damage, an entry that an upstream made up would be believed")
INVARIANT_NAME(own_store,
    "an outcome would be delivered to another Redis, and be forgotten")
INVARIANT_NAME(outcome_restored,
    "an outcome whose record Redis has forgotten would be forgotten too")

/* --- whose key it is: key/key.c, key/fingerprint.c, record/redis_keys.c ---
 */
INVARIANT_NAME(scope_in_name, "a tenant would be given another one's answer")
INVARIANT_NAME(scope_needed, "all who name no tenant would be one tenant")
INVARIANT_NAME(one_scope, "a client could name a tenant besides its own")
INVARIANT_NAME(token_verified, "a client could name any tenant it likes")
INVARIANT_NAME(token_algorithm, "a token would choose how it is verified")
INVARIANT_NAME(token_in_time, "a token would name its tenant for ever")
INVARIANT_NAME(token_issuer,
    "another issuer's tokens would name tenants of this one")
INVARIANT_NAME(token_audience,
    "a token for somebody else would name a tenant here")
INVARIANT_NAME(keys_from_url,
    "whoever a redirect leads to could make tokens of any tenant")
INVARIANT_NAME(server_verified,
    "whoever stands on the way could make tokens of any tenant")
INVARIANT_NAME(one_key, "we and the upstream could go by different keys")
INVARIANT_NAME(bare_key, "two keys that a proxy joined would be a third one")
INVARIANT_NAME(dotless_key, "a list of payments would be a payment's answer")
INVARIANT_NAME(derived_of_nothing,
    "all requests without an order number would be one payment")
INVARIANT_NAME(fingerprint_method,
    "another method would be given this one's answer")
INVARIANT_NAME(fingerprint_path,
    "a payment to another path would be given this one's answer")
INVARIANT_NAME(overrides_count,
    "a refund by an override field would be given the payment's answer")
INVARIANT_NAME(fingerprint_query,
    "a payment with another query would be given this one's answer")
INVARIANT_NAME(fingerprint_body,
    "a payment of another amount would be given this one's answer")
INVARIANT_NAME(sweep_backs_off,
    "an API that is away would be asked about each unknown payment at once")
INVARIANT_NAME(same_query,
    "the API would be asked about another payment, and this one made again")
INVARIANT_NAME(records_found,
    "a reload would look for records elsewhere, and execute them again")
INVARIANT_NAME(same_entity,
    "what was not sent would raise the version of another thing")
INVARIANT_NAME(own_attempt, "a client could tell the upstream an attempt")
INVARIANT_NAME(
    sane_request_id, "a client could write into our logs and answers")

/* --- a client's request: http/, gate/request.c --- */
INVARIANT_NAME(strict_wire,
    "we and a proxy could see the end of a line or a request in other places")
INVARIANT_NAME(short_chunk_lines,
    "a chunk line could go on for ever")
INVARIANT_NAME(connection_names, "a client could have its key taken off")
INVARIANT_NAME(draining_refuses, "a gateway that ends would take new payments")
INVARIANT_NAME(drain_waits,
    "a payment that nobody waits for any more would be cut off by a drain")
INVARIANT_NAME(one_host, "we and the upstream could go by different hosts")
INVARIANT_NAME(no_alias,
    "a client could name the attempt itself, as Idempotency_Attempt")
INVARIANT_NAME(no_override,
    "a request that is passed through could become a payment")
INVARIANT_NAME(hop_by_hop,
    "what is for one connection would be stored, and reach others")
INVARIANT_NAME(no_backslash, "a path could slip past its route as /v1\\charges")
INVARIANT_NAME(
    path_decoded, "a path could slip past its route as /%761/charges")
INVARIANT_NAME(
    no_coded_nul, "a path could slip past its route as /v1/charges%00")
INVARIANT_NAME(coded_slash, "a path could be read in two ways, as /a%2Fb/..")
INVARIANT_NAME(one_reading,
    "a path could slip past its route as /static/..%2Fv1/charges")
INVARIANT_NAME(dots_resolved, "a path could slip past its route as /x/../v1")
INVARIANT_NAME(base_kept,
    "a path could slip past its route, and out of its upstream's base path")
INVARIANT_NAME(slashes_joined, "a path could slip past its route as //v1")

/* --- a message: source/ --- */
INVARIANT_NAME(acknowledged_stored,
    "a message would be gone whose outcome is only on a disk that may die")
INVARIANT_NAME(sent_before,
    "a message that was sent would be sent again, as its record is gone")
INVARIANT_NAME(lost_data_stands,
    "a message that somebody was at would be sent again, as Redis has lost "
    "all that was known of it")
INVARIANT_NAME(other_store_stands,
    "a source would go on with a Redis that knows nothing of its letters")
INVARIANT_NAME(one_of_an_order,
    "two messages of one order would be executed side by side")
INVARIANT_NAME(behind_a_letter,
    "a message would be executed before the one in front of it is decided")
INVARIANT_NAME(api_is_to_blame,
    "an outage of the upstream would use up the attempts of each message")
INVARIANT_NAME(letter_first,
    "a dead message would be gone with the gateway that acknowledged it")
INVARIANT_NAME(letter_replicated,
    "a dead message would be acknowledged, and forgotten in a failover")
INVARIANT_NAME(room_for_dead,
    "dead messages would fill Redis")

/* --- the operator: admin/ --- */
INVARIANT_NAME(answer_waits,
    "an operator could set a key free whose answer is on this very disk")
INVARIANT_NAME(operator_revokes,
    "a payment that an operator set free would still be made, too")
INVARIANT_NAME(admin_token, "anybody could release a key")
INVARIANT_NAME(admin_site,
    "a page that an operator looks at could release a key")
INVARIANT_NAME(admin_host,
    "a page whose name is bound anew to this machine could release a key")
INVARIANT_NAME(admin_json,
    "a form could release a key, sent by a browser that names no Origin")
INVARIANT_NAME(operators_fields,
    "an operator's line break would begin another field")
