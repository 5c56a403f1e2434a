/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * EVENT(name, level, message): what the log may say, one line each.  The
 * message tells the operator what happened and, if there is something to do,
 * what.
 */
EVENT(request, INFO, "")
EVENT(message, INFO, "")
EVENT(step, DEBUG, "")
EVENT(ready, INFO, "")
EVENT(starting, INFO, "")
EVENT(draining, INFO, "no new connections are accepted; what is in flight "
	"finishes first")
EVENT(stopped, INFO, "")
EVENT(reloaded, INFO, "new requests are served under the new configuration")
EVENT(reload_refused, ERROR, "this file cannot be adopted, error says why; the "
	"old configuration stays in force until the file is fixed and SIGHUP "
	"is sent again")
EVENT(token_keys_new, INFO, "the keys of tokens were read anew, from their "
	"file or URL, and are used from now on")
EVENT(token_keys_wrong, WARN, "the keys of tokens cannot be read anew from "
	"their file or URL, error says why; those of before are used on: mend "
	"it, or tokens with newer keys get 401 (token-invalid); while a URL "
	"has never given any, all tokens get 503 (token-unverified)")
EVENT(reload_partial, WARN, "a change to this member needs a restart")
EVENT(reload_keys, WARN, "the reload changes what keys mean, as "
	"error says; load the former configuration again unless that is meant "
	"(onceproxy check --against FILE says it before)")
EVENT(configuration_warning, WARN, "the configuration is legal here and "
	"endangers the promise, or a member has no effect, as error says "
	"(onceproxy check says it before)")
EVENT(drain_timeout, WARN, "the upstream had not answered when drain_timeout "
	"ran out; the outcome is unknown: ask the upstream what happened, then "
	"resolve the key (onceproxy keys)")
EVENT(store_up, INFO, "Redis answers")
EVENT(store_down, ERROR, "Redis cannot be reached, or does not let the gateway "
	"work; keyed requests get 503 and nothing is forwarded (or as "
	"on_store_down says) until it does: error says why; check Redis, the "
	"network path to it, and store.user, password and the database")
EVENT(store_garbled, ERROR, "what came from Redis cannot be its reply; error "
	"says why; that connection was cut and made anew, and the commands "
	"on it may have been executed: check the network path, and whatever "
	"stands between the gateway and Redis")
EVENT(node_up, INFO, "a server of the cluster answers again")
EVENT(node_down, ERROR, "a server of the cluster cannot be reached; its keys "
	"get 503 until it is back or a replica has taken its place: check the "
	"server and the network path to it")
EVENT(cluster_changed, INFO, "other servers of the cluster now have some of "
	"our shards, as after a failover or when slots were moved")
EVENT(cluster_down, ERROR, "the cluster reports that it is down: a master is "
	"gone and nothing has taken its place, or it sees no majority; see "
	"CLUSTER INFO and cluster-require-full-coverage")
EVENT(cluster_serves, INFO, "the cluster reports that it is up again")
EVENT(cluster_moving, WARN, "a slot is being moved, and new keys in it wait or "
	"get 503 until the move is done: finish the move")
EVENT(store_volatile, WARN, "Redis keeps no append-only file: a restart "
	"forgets claims, and their payments may be made again; set appendonly")
EVENT(store_unsafe, ERROR, "Redis cannot be trusted with new claims; they get "
	"503 until it is fixed, and outcomes are still stored; see fault")
EVENT(store_safe, INFO, "Redis can be trusted with new claims again")
EVENT(store_replaced, WARN, "Redis was restarted, or a different one answers "
	"in its place; with its own append_only_file, and no store_emptied, it "
	"has lost nothing, or (appendfsync everysec) a second; else whatever "
	"was not on its disk is forgotten, and those payments may be made "
	"again: see AFTER REDIS WAS LOST in onceproxy-runbook(7)")
EVENT(store_emptied, WARN, "Redis has none of what this gateway had kept there "
	"(FLUSHALL, another database, a restart without its data): keys are "
	"forgotten, and those payments may be made again: see AFTER REDIS WAS "
	"LOST in onceproxy-runbook(7)")
EVENT(store_unexamined, WARN, "this Redis user may not run INFO, so eviction, "
	"a change of role and restarts go unnoticed; allow it (ACL: +info)")
EVENT(master_found, INFO, "the Sentinels name the master")
EVENT(master_moved, WARN, "the Sentinels name another master, and the gateway "
	"switches to it; whatever it had not received from the previous one is "
	"forgotten, and those payments may be made again: see AFTER REDIS WAS "
	"LOST in onceproxy-runbook(7)")
EVENT(master_unknown, ERROR, "no Sentinel knows a master of this name: the "
	"gateway stays with the last one, and a failover goes unnoticed; check "
	"the Sentinels, store.sentinels and store.master")
EVENT(sentinel_lost, WARN, "this Sentinel cannot be queried; error says why: "
	"check it and the network path to it")
EVENT(sentinel_back, INFO, "this Sentinel names the master again")
EVENT(store_deaf, WARN, "Redis does not let us publish or listen on the "
	"channel for changes, so answers are not kept in memory: allow PUBLISH "
	"and PSUBSCRIBE on it (onceproxy doctor --acl has the whole line)")
EVENT(store_refused, ERROR, "Redis refused a command; error has its reply: fix "
	"the missing right, or the full memory or disk, there")
EVENT(witness_absent, ERROR, "a 2xx of this route came without its row in the "
	"witness, so an attempt without a row may have been executed: nothing "
	"of the route is asked about any more, and what is unknown is held; "
	"find out which release of the API does not write the row, then "
	"onceproxy witness trust ROUTE --note TEXT; what was sent before that "
	"stays unknown until it is resolved by hand")
EVENT(witness_broken, ERROR, "a 2xx of this route came for an attempt that was "
	"revoked, so what is revoked is executed all the same: nothing of the "
	"route is asked about any more, and what is unknown is held; look for "
	"a payment that was made twice, and for an API that updates the row, "
	"ignores its conflict, or commits the payment elsewhere; then "
	"onceproxy witness trust ROUTE --note TEXT: what was sent before that "
	"stays unknown until it is resolved by hand")
EVENT(witness_trusted, INFO, "an operator says that the witness of this route "
	"may be believed again")
EVENT(witness_unenforced, ERROR, "enforced_by of this route enforces nothing, "
	"as error says, so that only 2xx that had their row let the witness "
	"be believed: onceproxy witness sql prints what the database needs")
EVENT(witness_unusable, ERROR, "nothing can be asked of the witness of this "
	"route, as error says, and what is unknown is held: onceproxy witness "
	"sql prints what the database needs")
EVENT(witness_down, ERROR, "the database of a witness cannot be reached, or "
	"refuses us, as error says; what is unknown stays so, and what is no "
	"2xx is not believed, until it can")
EVENT(witness_unclean, WARN, "rows that were revoked long ago cannot be "
	"deleted, as error says: an index on (at) WHERE verdict = 'revoked' "
	"makes that quick; or revoke the gateway's right to delete")
EVENT(witness_up, INFO, "the database of a witness answers")
EVENT(store_large_down, ERROR, "the second connection to Redis, which carries "
	"large answers, cannot be made although Redis answers; until it can, "
	"they go to the journal, and retries that would get one get 503: check "
	"maxclients of Redis, and the network path to it")
EVENT(replicas_few, ERROR, "fewer replicas than store.wait_replicas have what "
	"was written: new claims get 503, answers go to the journal first, and "
	"leases are not renewed; check the replicas and the network path to "
	"them")
EVENT(event_lost, ERROR, "Redis performed a step but refused its entry in the "
	"stream of store.events, so the stream's readers miss it; error says "
	"why: fix that in Redis")
EVENT(managed_started, INFO, "the private Redis is running")
EVENT(managed_replaced, WARN, "the private Redis of an earlier gateway was "
	"still running and was stopped first")
EVENT(managed_died, ERROR, "the private Redis ended unexpectedly and is being "
	"started again: find out what ended it (memory, an operator)")
EVENT(outcome_unknown, WARN, "a request may have been sent, and nobody knows "
	"what became of it; unless on_unknown says otherwise, its key is held: "
	"ask the upstream, then resolve the key (onceproxy keys)")
EVENT(not_sent, WARN, "nothing could be sent to the upstream, and the key is "
	"as it was before; error says why, of the target that was tried last: "
	"check whether it can be reached, and onceproxy doctor")
EVENT(target_out, WARN, "a target of an upstream did not answer its "
	"health.path with 2xx or 3xx, and gets no requests while others do; "
	"each worker asks by itself")
EVENT(target_in, INFO, "a target that was out is well again, and gets requests")
EVENT(proxy_refused, WARN, "connections from where listen.proxy_protocol "
	"says began with no header of the PROXY protocol, or a malformed one, "
	"and were closed; why is of the last: have the proxy send it, or take "
	"its network out")
EVENT(client_certificate, WARN, "handshakes of clients failed for want of a "
	"certificate that client_ca vouches for; why and client are of the "
	"last: give the client one, or an address without client_ca")
EVENT(client_plain, INFO, "connections to an address of listen with tls began "
	"with something else than TLS, and were closed; began (the first "
	"bytes) and client are of the last: have the client use https://, or "
	"another address")
EVENT(observed, INFO, "a route that only observes has forwarded a request "
	"whose key came before; would says what it had met otherwise")
EVENT(pass_failed, WARN, "a request that is passed through, without a key or "
	"on a route that only observes, got no complete answer from its "
	"upstream; error says why: check whether the upstream's targets "
	"answer")
EVENT(reconcile_failed, WARN, "the upstream was asked about an unknown outcome "
	"and gave no usable answer; the key stays held, and the next retry "
	"asks again: check that path of the upstream")
EVENT(asked, INFO, "it was asked what became of an attempt that is unknown, by "
	"a retry (request), the sweep or an operator, and what came: happened, "
	"did-not, unknown, or away")
EVENT(settle_late, WARN, "the outcome could not be stored in Redis yet; the "
	"gateway keeps trying until it is stored, and there is nothing to do")
EVENT(settle_lost, ERROR, "the outcome could not be stored before the gateway "
	"had to shut down; its key becomes unknown when its lease ends: ask "
	"the upstream what happened")
EVENT(attempts_exhausted, WARN, "this key was sent to the upstream "
	"max_attempts times and no outcome was stored, as where it answered "
	"503 each time; its retries get 409: ask the upstream, then release or "
	"complete it (onceproxy keys)")
EVENT(fenced, WARN, "another owner decided about this key in the meantime; "
	"what came of this attempt (status, or the reason why nothing did) was "
	"not given to the client: ask the upstream how often it executed the "
	"request (with enforced_by, never what was revoked)")
EVENT(journal_adopted, WARN, "a process that died left outcomes in its "
	"journal; they are now being delivered to Redis")
EVENT(journal_foreign, WARN, "a journal file in state_dir has outcomes for "
	"another store: another Redis, or another store.prefix or "
	"store.shards; they stay there: start a gateway with that store's "
	"configuration and this state_dir, which delivers them")
EVENT(journal_blocked, ERROR, "the record of an outcome that waits in the "
	"journal is damaged, or was written by a later release: the outcome "
	"stays there; delete the record (onceproxy keys delete) at this "
	"gateway, which then puts the outcome in its place")
EVENT(journal_delivered, INFO, "an outcome from the journal is in Redis")
EVENT(journal_late, WARN, "an outcome from the journal came too late: somebody "
	"else has decided about its key; ask the upstream what is true")
EVENT(journal_writable, INFO, "the journal can be written again")
EVENT(journal_damaged, ERROR, "an entry of this journal file cannot be read, "
	"so the outcome of one key is not known here, nor which key it is; "
	"its record becomes UNKNOWN when its lease ends: find it (onceproxy "
	"keys list --state UNKNOWN), ask the upstream what happened, resolve "
	"it, and check the disk that state_dir is on")
EVENT(journal_unwritable, ERROR, "the journal cannot be written; no new claims "
	"are forwarded until it can: check the disk that holds state_dir")
EVENT(lease_lost, WARN, "a lease could not be renewed: the record belongs to "
	"somebody else or is gone; check whether this gateway was frozen, and "
	"check Redis")
EVENT(record_made_again, WARN, "Redis had no record of this key any more when "
	"its outcome came, or one of an attempt before, and the outcome made "
	"it again: Redis has lost data, or an operator had deleted the record; "
	"if it was Redis, see AFTER REDIS WAS LOST in onceproxy-runbook(7)")
EVENT(record_broken, ERROR, "a stored record cannot be read; its key is "
	"refused, not executed, until an operator who has asked the upstream "
	"deletes the record")
EVENT(encryption_key_missing, ERROR, "a stored answer is encrypted with a key "
	"that store.encryption_keys does not have; its retries get 500, and "
	"nothing is executed: put the key with this id back, after the first, "
	"and restart; the answer can then be given again")
EVENT(answer_not_authentic, ERROR, "a stored answer cannot be decrypted with "
	"the key that it names; its retries get 500, and nothing is executed: "
	"either the gateway that wrote it has a different key under this id, "
	"or the record was changed in Redis; check who may write there")
EVENT(answer_not_encrypted, ERROR, "a stored answer is not encrypted, and "
	"store.encryption_strict is true; its retries get 500, and nothing is "
	"executed: it was stored before there were encryption keys, or "
	"somebody else wrote it; check who may write into Redis")
EVENT(operator, WARN, "an operator has decided about this key")
EVENT(operator_unsure, WARN, "Redis did not reply to an operator's command, or "
	"the connection broke: check the key, which may have been changed")
EVENT(log_dropped, WARN, "the reader of the log was too slow, and this many "
	"lines were not written: make it faster, or set log.level or "
	"log.access")
EVENT(client_slow, DEBUG, "a client did not send its request, or read its "
	"answer, in time; its connection was closed")
EVENT(connections_full, WARN, "this many new connections were answered 503 "
	"(overloaded) and closed, because as many are open as may be: "
	"raise limits.connections, or find out who keeps them open")
EVENT(memory_full, WARN, "the memory for requests in flight is used up, and "
	"clients get 503 (overloaded): raise limits.in_flight_bytes, or find "
	"out who sends such large requests; logged at most once a second")
EVENT(events_full, ERROR, "a stream of events has store.events.maxlen entries "
	"that a relay has not brought yet, and store.events.overflow is "
	"refuse, so new keys get 503 (overloaded): see which relay is behind "
	"and why (GET /relays), or give the stream a greater maxlen; logged "
	"at most once a second")
EVENT(answer_unread, WARN, "the memory for requests in flight was used up "
	"until the upstream's timeout was over, so its answer was not read, "
	"and only the status counted: raise limits.in_flight_bytes, or find "
	"out who sends such large requests")
EVENT(certificate_invalid, ERROR, "clients refuse this listener, because "
	"its certificate is over or not valid yet: renew it and send SIGHUP, "
	"or set the clock")
EVENT(descriptors_few, WARN, "the process may not open enough descriptors for "
	"limits.connections, so it accepts this many clients at once; some are "
	"kept in reserve for the admin interface, Redis and the journal, and "
	"for idle connections to upstreams. Raise the limit (LimitNOFILE= in "
	"systemd, ulimit -Hn) to what is needed, or lower limits.connections")
EVENT(source_broker_up, INFO, "the broker of this source answers again")
EVENT(source_broker_down, ERROR, "the broker of this source cannot be "
	"reached, or does not let the gateway in; nothing is lost, and its "
	"messages are taken when that is over: check the broker, the network "
	"path to it, and the user and its password")
EVENT(source_refused, ERROR, "the broker of this source answers, and refuses "
	"what is needed to take or to finish its messages; error has its "
	"words, and onceproxy doctor the rights that are missing: check the "
	"user, its password and its rights, what is stored under these names, "
	"who else is in its group, and the broker's memory")
EVENT(source_accepted, INFO, "the broker of this source does not refuse any "
	"more what error says")
EVENT(source_group_made, INFO, "the consumer group of this source was not "
	"there and has been made, as start says; if there should have been "
	"one, check stream and group")
EVENT(source_group_made_again, WARN, "the consumer group of this source, or "
	"its stream, has vanished while it was read, and the stream has "
	"nothing any more of what was read of it; it was made again, before "
	"the first entry: find out who deletes it, or whether the broker has "
	"lost data")
EVENT(source_lost, ERROR, "the broker has lost messages of this source: "
	"trimmed before they were read (trimmed-unread), or while they were "
	"pending (trimmed-pending), or deleted; they are not executed any "
	"more, unless they were already: let the broker keep more (a stream's "
	"MAXLEN or MINID, a topic's retention), or find out why the source "
	"lags, and ask the producers for them")
EVENT(source_parts, INFO, "this gateway reads this many parts of the table, "
	"and others the rest")
EVENT(source_row_deleted, WARN, "somebody else deleted a row while its message "
	"was worked on: what was to be put with its acknowledgement is not "
	"put; find out who deletes from the table besides the gateways")
EVENT(source_row_locked, WARN, "somebody else has locked the row of a message "
	"that has ended; it is executed no more, and its row finished when it "
	"is free, while others go on: find out whose transaction stays open "
	"(pg_locks, pg_stat_activity)")
EVENT(source_partitions, INFO, "this gateway reads this many partitions of "
	"the source's topics, and others the rest")
EVENT(source_opened_again, WARN, "the broker's library (librdkafka) does not "
	"read this partition any more, though it has messages and its leader "
	"answers: the client of this source is opened again and reads on; "
	"nothing is lost, and what is being executed is not executed again. It "
	"may be so where a leader moves and is back at once; if no leader "
	"moves, look for a newer librdkafka")
EVENT(source_unproven, ERROR, "nothing tells whether what was read of this "
	"partition is still there: another message stands where the last one "
	"was finished, or none, or the log ends before it. It is not read. "
	"Find out whether the topic was made again, or the broker has lost "
	"data (an unclean election, a disk that was restored), and decide: "
	"onceproxy messages resume --unproven goes on behind what was "
	"finished, onceproxy messages rewind reads the log from its "
	"beginning; what has a record is not executed again "
	"(onceproxy-kafka(7), POSITIONS)")
EVENT(source_rewound, WARN, "the consumer group of this source was set back, "
	"or its offsets have expired, from what was finished (to) to this "
	"offset: what this source has finished is neither read nor executed "
	"again. Find out who resets the group; if its messages are to be read "
	"again, say onceproxy messages rewind")
EVENT(source_set_ahead, WARN, "somebody who is no gateway has set the consumer "
	"group of this source ahead: what stands from offset up to this one "
	"(to), and was not finished, is never executed. If that was not meant, "
	"say onceproxy messages rewind: what has a record is not executed "
	"again. Find out who commits for this group")
EVENT(source_library, DEBUG, "what the broker's library says")
EVENT(message_held, WARN, "nobody knows the outcome of this message's request; "
	"it is not executed again and not acknowledged: ask the upstream what "
	"happened, then resolve the key (onceproxy keys)")
EVENT(message_letter_too_large, WARN, "the copy of this dead letter is larger "
	"than its topic takes: the message is held, and what comes behind it "
	"in its order waits, while others go on. Raise max.message.bytes of "
	"the topic, which then has it within some minutes, or drop the message "
	"(onceproxy messages)")
EVENT(message_result_too_large, WARN, "the result of this message is larger "
	"than its topic takes: the message was executed and is held, and what "
	"comes behind it in its order waits, while others go on. Raise "
	"max.message.bytes of the topic, which then has the result within some "
	"minutes, or drop the message, and it has none (onceproxy messages)")
EVENT(message_not_finished, WARN, "the broker does not let this message be "
	"finished, or does not take what is put with that, while it takes "
	"others: the message is held, what comes behind it in its order waits, "
	"and it is tried again by itself. error has the broker's words: a "
	"trigger, a constraint, a foreign key or a policy for rows refuses it; "
	"mend that, or drop the message (onceproxy messages)")
EVENT(message_record_gone, WARN, "this message was sent, nobody knows the "
	"outcome, and the record that said so is gone, or is one of an attempt "
	"before: Redis has lost data, somebody has deleted it, or it has "
	"another key_id since the route, its scope or the source's headers "
	"were changed; the record is made again, UNKNOWN, so that nobody "
	"executes it: ask the upstream what happened, then complete or release "
	"it (onceproxy keys)")
EVENT(operator_message, WARN, "an operator has had this message acknowledged "
	"as it was: it is not executed any more, and its key's record is "
	"untouched")
EVENT(operator_message_unsure, WARN, "an operator has had this message dropped "
	"or replayed, and that has not come about yet; it is tried again until "
	"it has: see what has become of the message")
EVENT(operator_replay, WARN, "an operator has had this dead letter, or held "
	"message, executed again, under the same key; what is parked behind it "
	"follows")
EVENT(source_stands, WARN, "this source takes no messages until what is in the "
	"way is gone; it tries again by itself, and nothing is counted against "
	"a message: reason and error say where to look")
EVENT(source_paused, WARN, "an operator has paused this source on all "
	"gateways: nothing is read or executed until somebody resumes it "
	"(onceproxy messages resume)")
EVENT(source_resumed, INFO, "an operator has resumed this source, which goes "
	"on where it stopped")
EVENT(source_restored, WARN, "an operator has had the letters of this source "
	"restored from the copies in its broker's own place: so many are "
	"letters again, were letters still, or are over, as they were replayed "
	"or dropped")
EVENT(source_not_restored, ERROR, "the letters of this source were not all "
	"restored: see error, and restore them again, which goes on where this "
	"stopped")
EVENT(operator_source, WARN, "an operator has paused or resumed this source, "
	"for all gateways")
EVENT(operator_source_unsure, WARN, "Redis did not reply to an operator's word "
	"about this source: look whether it is paused, and say it again")
EVENT(operator_decided, WARN, "an operator has decided what becomes of "
	"partitions of this source: whoever has one goes on behind what was "
	"finished (resume), or reads its log from the beginning (rewind), "
	"where what its records still know is not executed again")
EVENT(operator_decided_unsure, WARN, "Redis did not reply to an operator's "
	"decision about partitions of this source: say it again")
EVENT(operator_trust_unsure, WARN, "Redis did not reply to an operator's word "
	"about the witness of this route: look at GET /status, and say it "
	"again")
EVENT(source_goes, INFO, "this reason no longer keeps the source from taking "
	"messages")
EVENT(relay_begins, INFO, "this gateway runs this relay from now on")
EVENT(relay_ends, WARN, "this gateway does not run this relay any more: "
	"another one may have taken it over, or Redis did not renew its "
	"leadership in time; nothing is lost, and whoever runs it next goes on "
	"where it stands")
EVENT(relay_up, INFO, "what this relay brings is taken")
EVENT(relay_down, ERROR, "what this relay brings cannot be brought; nothing is "
	"lost while the streams of events keep it (store.events.maxlen), and "
	"it goes on by itself: error says where to look")
EVENT(relay_lost, ERROR, "this relay has not brought so many events, which are "
	"gone: find out why it was behind, give store.events a greater maxlen, "
	"and ask GET /keys what became of those keys")
EVENT(relay_unsealed, ERROR, "an event that this relay was still to bring, and "
	"kept in Redis, is not what it put there, or was kept before "
	"store.encryption_keys were set: it is not sent, and counts as lost; "
	"find out who else writes into Redis, and ask GET /keys what became of "
	"that key")
EVENT(relay_stream_again, WARN, "a stream of events, or its end, is gone, as "
	"after a failover or a deletion; this relay goes on with what is "
	"there, and what was lost with it cannot be counted: find out what "
	"Redis has lost")
EVENT(relay_fenced, WARN, "this relay's target has heard of a later term than "
	"this gateway's, which begins anew; if it says so again and again, "
	"gateways with different stores have a relay of this name and target: "
	"give each its own")
EVENT(relay_paused, WARN, "this relay is paused on all gateways: nothing is "
	"brought until an operator resumes it (POST /relays/RELAY/resume of "
	"the admin interface)")
EVENT(relay_resumed, INFO, "this relay is not paused any more, and goes on "
	"where it stands")
EVENT(operator_relay, WARN, "an operator has paused or resumed this relay, for "
	"all gateways")
EVENT(operator_relay_unsure, WARN, "Redis did not reply to an operator's word "
	"about this relay: look whether it is paused, and say it again")
EVENT(fatal, ERROR, "")
