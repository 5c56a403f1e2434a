/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * EVENT(name, level, words): what the log may say, one line each.  The words
 * tell the operator what happened and, where there is something to do, what.
 */
EVENT(request, INFO, "")
EVENT(step, DEBUG, "")
EVENT(ready, INFO, "")
EVENT(starting, INFO, "")
EVENT(draining, INFO, "no new connections; what is in flight ends first")
EVENT(stopped, INFO, "")
EVENT(reloaded, INFO, "new requests are served under the new configuration")
EVENT(reload_refused, ERROR, "the file is not valid; the old configuration "
	"stays in force until the file is mended and SIGHUP is sent again")
EVENT(reload_partial, WARN, "this member needs a restart to change")
EVENT(drain_timeout, WARN, "the upstream has not answered by drain_timeout; "
	"the outcome is unknown: ask the upstream what happened, then "
	"resolve the key (onceproxy keys)")
EVENT(store_up, INFO, "Redis answers")
EVENT(store_down, ERROR, "Redis is out of reach; keyed requests get 503 and "
	"nothing is forwarded (or what on_store_down says) until it is back: "
	"look at Redis and the way to it")
EVENT(node_up, INFO, "a server of the cluster answers again")
EVENT(node_down, ERROR, "a server of the cluster is out of reach; the keys "
	"that it has get 503 until it is back or a replica has its place: look "
	"at it and the way to it")
EVENT(cluster_changed, INFO, "other servers of the cluster have some of our "
	"shards now, as after a failover or when slots were moved")
EVENT(cluster_down, ERROR, "the cluster says that it is down: a master is gone "
	"and nothing has taken its place, or it sees no majority; see CLUSTER "
	"INFO, and cluster-require-full-coverage")
EVENT(cluster_serves, INFO, "the cluster says that it serves again")
EVENT(cluster_moving, WARN, "a slot is being moved, and its new keys have to "
	"wait or get 503 until it has arrived: finish the move")
EVENT(store_volatile, WARN, "Redis keeps no append-only file: a restart "
	"forgets claims, whose payments may be made again; set appendonly")
EVENT(store_unsafe, ERROR, "Redis cannot be trusted with new claims; they get "
	"503 until it is mended, and outcomes are still stored; see fault")
EVENT(store_safe, INFO, "Redis can be trusted with new claims again")
EVENT(store_replaced, WARN, "Redis was restarted, or another answers in its "
	"place; what was not on its disk is forgotten, and such payments may "
	"be made again: see AFTER REDIS WAS LOST in onceproxy-recipes(7)")
EVENT(store_unexamined, WARN, "this user of Redis may not run INFO, so that "
	"eviction, a change of role and restarts go unnoticed; allow it (ACL: "
	"+info)")
EVENT(master_found, INFO, "the Sentinels name the master")
EVENT(master_moved, WARN, "the Sentinels name another master, and the gateway "
	"goes there; what it had not got from the one before is forgotten, and "
	"such payments may be made again: see AFTER REDIS WAS LOST in "
	"onceproxy-recipes(7)")
EVENT(master_unknown, ERROR, "no Sentinel names a master of this name: the "
	"last one is kept, and a failover goes unnoticed; look at the "
	"Sentinels, store.sentinels and store.master")
EVENT(sentinel_lost, WARN, "this Sentinel is not asked with success; error "
	"says why: look at it and the way to it")
EVENT(sentinel_back, INFO, "this Sentinel names the master again")
EVENT(store_deaf, WARN, "Redis does not let us publish on the channel of "
	"changes; answers are not kept in memory: allow PUBLISH on it")
EVENT(store_refused, ERROR, "Redis refused a command; error has its words: a "
	"missing right, a full memory or disk is mended there")
EVENT(replicas_few, ERROR, "fewer replicas than store.wait_replicas have what "
	"was written: new claims get 503, and answers go to the journal first; "
	"look at the replicas and the way to them")
EVENT(event_lost, ERROR, "Redis took a step and refused its entry in the "
	"stream of store.events, whose readers miss it; error says why: "
	"mend that in Redis")
EVENT(managed_started, INFO, "the private Redis runs")
EVENT(managed_replaced, WARN, "a private Redis of an earlier gateway was still "
	"running and was ended first")
EVENT(managed_died, ERROR, "the private Redis ended by itself; it is started "
	"again: look who ended it (memory, an operator)")
EVENT(outcome_unknown, WARN, "a request may have been sent, and nobody "
	"knows what became of it; unless on_unknown says otherwise its key "
	"is held: ask the upstream, then resolve it (onceproxy keys)")
EVENT(not_sent, WARN, "nothing could be sent to the upstream, and its key is "
	"free again; error says why: look whether its targets can be reached")
EVENT(pass_failed, WARN, "a request without a key got no whole answer from "
	"its upstream; error says why: look whether its targets answer")
EVENT(reconcile_failed, WARN, "the upstream was asked about an unknown "
	"outcome and gave no answer to go by; the key stays held, and the "
	"next retry asks again: look at that path of the upstream")
EVENT(settle_late, WARN, "the outcome could not be stored in Redis yet; it "
	"is tried again until it is, and nothing is to be done")
EVENT(settle_lost, ERROR, "the outcome could not be stored before the "
	"gateway had to end; its key becomes unknown when its lease ends: "
	"ask the upstream what happened")
EVENT(attempts_exhausted, WARN, "max_attempts of this key went to the "
	"upstream and none was stored; its retries get 409: ask the upstream, "
	"then release or complete it (onceproxy keys)")
EVENT(fenced, WARN, "another owner has decided about this key meanwhile; "
	"this answer was not given to the client: ask the upstream how often "
	"it executed")
EVENT(journal_adopted, WARN, "a process that died left outcomes in its "
	"journal; they are delivered to Redis now")
EVENT(journal_delivered, INFO, "an outcome from the journal is in Redis")
EVENT(journal_late, WARN, "an outcome from the journal came too late: its "
	"record is gone or another has decided; ask the upstream what is true")
EVENT(journal_writable, INFO, "the journal can be written again")
EVENT(journal_damaged, ERROR, "an entry of this file of the journal cannot be "
	"read: the outcome of one key is not known here, nor which key that "
	"is; its record becomes UNKNOWN when its lease ends: find it "
	"(onceproxy keys list --state UNKNOWN), ask the upstream what "
	"happened, resolve it, and look at the disk of state_dir")
EVENT(journal_unwritable, ERROR, "the journal cannot be written; no new claims "
	"are forwarded until it can: look at the disk of state_dir")
EVENT(lease_lost, WARN, "a lease could not be renewed: the record belongs to "
	"somebody else or is gone; look whether this gateway was frozen, and "
	"at Redis")
EVENT(record_broken, ERROR, "a stored record cannot be read; its key is "
	"refused, not executed, until an operator who has asked the upstream "
	"deletes it")
EVENT(encryption_key_missing, ERROR, "a stored answer is encrypted with a key "
	"that store.encryption_keys does not have; its retries get 500, and "
	"nothing is executed: add the key of this id again, behind the first, "
	"and restart, and it is given again")
EVENT(answer_not_authentic, ERROR, "a stored answer does not open with the key "
	"that it names; its retries get 500, and nothing is executed: either "
	"this id is another key on the gateway that wrote it, or the record "
	"was changed in Redis; look who may write there")
EVENT(operator, WARN, "an operator has decided about this key")
EVENT(operator_unsure, WARN, "Redis did not answer an operator's act, or broke "
	"it off: look at the key, which may have been changed")
EVENT(log_dropped, WARN, "who reads the log was too slow, and so many lines "
	"were not written: make it faster, or set log.level or log.access")
EVENT(client_slow, DEBUG, "a client did not send its request, or read its "
	"answer, in time; its connection was closed")
EVENT(connections_full, WARN, "so many new connections were told 503 "
	"(overloaded) and closed, because the worker has all that it may: "
	"raise limits.connections, or look who keeps them open")
EVENT(memory_full, WARN, "the memory for requests in flight is used up, and "
	"clients are told 503 (overloaded): raise limits.in_flight_bytes, or "
	"look who sends what is so large; said once a second at most")
EVENT(descriptors_few, WARN, "the process may not open enough descriptors for "
	"limits.connections; fewer are taken. Raise the limit (LimitNOFILE= of "
	"systemd, ulimit -Hn) to twice that number and some, or lower it")
EVENT(fatal, ERROR, "")
