/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/digits.h"
#include "base/list.h"
#include "base/loop/timer.h"
#include "store/record/answer_codec.h"
#include "store/record/redis_keys.h"
#include "store/record/script.h"
#include "store/redis/info.h"
#include "store/types.h"

struct journal_awaited;

/*
 * The fields of a store, for the files of src/store/ alone; the comment at the
 * head of store.c says who holds whom.
 */
struct function_library;
struct store_health;
struct topology;

/*
 * The numbers of the last claim's terms, those of its route, and how they are
 * written: the next one has most often the same.
 */
enum { CLAIM_NUMBERS = 5 };
struct claim_numbers {
	int64_t list[CLAIM_NUMBERS];
	char text[CLAIM_NUMBERS * (DIGITS_MAX + 1)];
	size_t len;
};

struct store {
	struct loop *loop;
	const struct conf *conf;
	struct list nodes; /* without a cluster, exactly one */
	unsigned n_nodes;  /* ever made; the next one's number less one */
	struct topology *topology; /* NULL without a cluster */
	bool hurries;    /* store_hurry was called */
	bool listens;    /* store_listen was called */
	bool subscribed; /* and the listener was told that it hears all */
	struct store_listener listener;
	struct list hearings;   /* of notices (subscriber.h) */
	uint64_t next_run;      /* the name of the next one; begins anywhere */
	struct histogram *took; /* of each script; NULL: not measured */
	struct script_names names;
	struct shard_names shard_names;
	struct function_library
	    *library; /* NULL: scripts are run by their text */
	struct answer_codec codec;
	struct identity identity;
	/* No record lives longer, ms; so long the indexes are kept. */
	int64_t longest_ms;

	/* In a cluster, calls that wait for the first topology, … */
	struct list unplaced;
	/* … and those that are tried again in a moment. */
	struct list again;
	struct timer again_timer;

	struct claim_numbers claim_numbers;
	/* Claims that were made and are not answered. */
	unsigned n_claims;
	/* Claims that are being given back (claim.c), the last one first. */
	struct list claim_revokes;
	unsigned n_claim_revokes; /* those that the journal does not have */
	struct timer claim_revoke_timer;

	/* The sweeper, where this store has one, as one of the process. */
	bool sweeps;
	struct journal_awaited *awaited; /* the process' */
	struct timer sweep;
	unsigned sweep_shard; /* the last that was searched */
	unsigned sweeping;    /* shards that are being searched */

	struct store_health *health; /* of all stores of the process */

	/* The kind of error last logged, and when (channel_log_refused). */
	char refused[24];
	int64_t refused_ms;
	int64_t few_ms; /* when too few replicas were last logged; 0: never */
	int64_t few_count; /* how many those were */
};
