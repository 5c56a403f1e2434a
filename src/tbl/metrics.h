/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * METRIC(id, kind, name, help): what GET /metrics shows, in this order; kinds
 * as in Prometheus' text format.  admin/admin_metrics.c has a row for each id.
 */
METRIC(REQUESTS, counter, "onceproxy_requests_total",
    "Finished requests, by route and outcome.")
METRIC(RESPONSES, counter, "onceproxy_responses_total",
    "Answers to clients, by route and class of their status.")
METRIC(OBSERVED, counter, "onceproxy_observed_total",
    "Requests of routes that only observe, by what had been done otherwise.")
METRIC(ASKED, counter, "onceproxy_asked_total",
    "Answers to what became of an unknown outcome, by route, by who asked (a "
    "request, the sweep, an operator), and by what came.")
METRIC(REQUEST_SECONDS, histogram, "onceproxy_request_seconds",
    "Time from a request's head to the end of its answer, by route.")
METRIC(UPSTREAM_SECONDS, histogram, "onceproxy_upstream_seconds",
    "Time that upstreams took, connecting included, by upstream.")
METRIC(STORE_SECONDS, histogram, "onceproxy_store_seconds",
    "Time that Redis took, as seen by the gateway, by operation.")
METRIC(IN_FLIGHT, gauge, "onceproxy_in_flight",
    "Claims that this gateway holds.")
METRIC(WAITING, gauge, "onceproxy_waiting",
    "HTTP retries that wait for the first request with their key; no message "
    "is one.")
METRIC(RECORDS, gauge, "onceproxy_records",
    "Records in Redis, of all gateways together, by state.")
METRIC(UNKNOWN_AGE, gauge, "onceproxy_unknown_age_seconds",
    "For how long the oldest unknown outcome has been so, of all gateways "
    "together, by route and reason; that it was asked about changes nothing.")
METRIC(JOURNAL_ENTRIES, gauge, "onceproxy_journal_entries",
    "Outcomes on disk that Redis has not accepted yet.")
METRIC(JOURNAL_BLOCKED, gauge, "onceproxy_journal_blocked_entries",
    "Outcomes on disk whose records in Redis are damaged.")
METRIC(JOURNAL_FOREIGN, gauge, "onceproxy_journal_foreign_entries",
    "Outcomes on disk that are for another store than this gateway's.")
METRIC(JOURNAL_DAMAGED, gauge, "onceproxy_journal_damaged_files",
    "Damaged files of journals that were kept aside in state_dir.")
METRIC(STORE_UP, gauge, "onceproxy_store_up",
    "1 while Redis answers, otherwise 0.")
METRIC(STORE_MEMORY, gauge, "onceproxy_store_memory_bytes",
    "Memory that Redis uses.")
METRIC(STORE_MEMORY_MAX, gauge, "onceproxy_store_memory_max_bytes",
    "Redis' maxmemory; 0 means no limit.")
METRIC(CACHE_BYTES, gauge, "onceproxy_cache_bytes",
    "Size of the answers that are kept in memory.")
METRIC(CACHE_HITS, counter, "onceproxy_cache_hits_total",
    "Retries answered without asking Redis.")
METRIC(FENCED, counter, "onceproxy_fenced_total",
    "Outcomes that arrived after another owner had decided.")
METRIC(LEASES_LOST, counter, "onceproxy_leases_lost_total",
    "Leases that could not be renewed.")
METRIC(UPSTREAM_UP, gauge, "onceproxy_upstream_up",
    "1 while a target of an upstream can be reached and says that it is well.")
METRIC(WITNESS_TRUSTED, gauge, "onceproxy_witness_trusted",
    "1 while the witness of a route may be believed, otherwise 0: what is "
    "unknown is not asked about.")
METRIC(CONNECTIONS, gauge, "onceproxy_connections",
    "Open connections, by side: client, or upstream, idle ones included.")
METRIC(RELOADS, counter, "onceproxy_reloads_total",
    "Reloads of the configuration, by result: loaded, or refused.")
METRIC(LOG_DROPPED, counter, "onceproxy_log_dropped_total",
    "Lines of the log that nobody read in time.")
METRIC(CERTIFICATE, gauge, "onceproxy_certificate_expiry_seconds",
    "When the certificate of an address ends, in seconds since 1970.")
METRIC(MESSAGES, counter, "onceproxy_messages_total",
    "What became of messages, by source and outcome.")
METRIC(MESSAGE_SECONDS, histogram, "onceproxy_message_seconds",
    "Time from taking a message to its acknowledgement, by source.")
METRIC(MESSAGE_AGE, histogram, "onceproxy_message_age_seconds",
    "Age of messages when they were taken, by source.")
METRIC(SOURCE_IN_FLIGHT, gauge, "onceproxy_source_in_flight",
    "Messages that this gateway has taken and is at work on, by source.")
METRIC(SOURCE_HELD, gauge, "onceproxy_source_held",
    "Messages that wait until somebody decides about their keys, by source.")
METRIC(SOURCE_PARKED, gauge, "onceproxy_source_parked",
    "Messages that are parked behind a dead letter of their order, by source; "
    "each gateway that has it says all of them.")
METRIC(SOURCE_RETRYING, gauge, "onceproxy_source_retrying",
    "Messages that wait to be tried again, by source.")
METRIC(SOURCE_LAG, gauge, "onceproxy_source_lag",
    "Messages that nobody has taken yet, by source, where that is known.")
METRIC(SOURCE_GAP, gauge, "onceproxy_source_gap",
    "Messages finished although one taken before them is not, by source.")
METRIC(SOURCE_STANDING, gauge, "onceproxy_source_standing",
    "1 while the source takes no messages for that reason.")
METRIC(SOURCE_PARTS_STANDING, gauge, "onceproxy_source_parts_standing",
    "Topics and partitions that are not read, while others of the source are.")
METRIC(SOURCE_LOST, counter, "onceproxy_source_lost_total",
    "Messages that the broker has lost, by source and by how.")
METRIC(SOURCE_REBALANCES, counter, "onceproxy_source_rebalances_total",
    "Times that a source's messages were parted anew among gateways.")
METRIC(DEAD_LETTERS, counter, "onceproxy_dead_letters_total",
    "Messages that became dead letters, by source and reason.")
METRIC(RESULTS, counter, "onceproxy_results_total",
    "Results that were put, by source.")
METRIC(TRANSACTIONS, counter, "onceproxy_transactions_total",
    "Transactions with results or dead letters, by source of Kafka and result: "
    "committed, aborted, fenced, or unclear.")
METRIC(BROKER_UP, gauge, "onceproxy_broker_up",
    "1 while all of this gateway's sources reach their broker, otherwise 0.")
METRIC(RELAY_EVENTS, counter, "onceproxy_relay_events_total",
    "Events that were brought, by relay.")
METRIC(RELAY_LAG, gauge, "onceproxy_relay_lag",
    "Events still to be brought, of each relay that this gateway runs.")
METRIC(RELAY_LOST, counter, "onceproxy_relay_lost_total",
    "Events that were gone before they could be brought, by relay.")
METRIC(RELAY_UP, gauge, "onceproxy_relay_up",
    "1 while events can be brought, of each relay that this gateway runs.")
METRIC(BUILD_INFO, gauge, "onceproxy_build_info",
    "Always 1; the version is a label.")
METRIC(CPU_SECONDS, counter, "process_cpu_seconds_total",
    "User and system CPU time of the process.")
METRIC(RESIDENT_BYTES, gauge, "process_resident_memory_bytes",
    "Resident memory.")
METRIC(OPEN_FDS, gauge, "process_open_fds",
    "Open file descriptors.")
METRIC(START_TIME, gauge, "process_start_time_seconds",
    "When the process started, in seconds since 1970.")
