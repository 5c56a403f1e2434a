/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <zstd.h>

#include "store/info.h"
#include "store/ear.h"
#include "store/link.h"
#include "store/script.h"
#include "store/store.h"

/*
 * The inside of a store, for the files of src/store/ alone.
 */
struct giveback;
struct store_health;

/* What a store knows of its Redis besides that it answers (health.h). */
struct health {
	struct link_call call; /* INFO; first: on_info finds us by it */
	struct store *store;
	struct store_health *common; /* of the process */
	struct timer timer;
	bool watches;   /* for the whole process */
	bool asking;    /* INFO is under way */
	bool forbidden; /* on this link */
	bool known;     /* it was answered on this link */
	unsigned as_replica; /* so often in a row it said that it is one */
	enum store_fault fault;
};

struct store {
	struct loop *loop;
	const struct conf *conf;
	struct budget *budget;
	struct link *link;
	struct ear ear;
	struct histogram *took; /* of each script; NULL: nobody asks */
	struct script_names names;
	ZSTD_CCtx *compress; /* NULL: store.compression is none */
	ZSTD_DCtx *decompress;
	/* No record lives longer, ms: how long the indexes are kept. */
	int64_t longest_ms;

	/* Calls that wait for the link, in order. */
	struct store_call *queue;
	struct store_call **queue_end;

	/* Claims to be given back. */
	struct giveback *givebacks;
	unsigned n_givebacks;
	struct timer giveback_timer;

	/* The sweeper, where this store has one. */
	struct timer sweep;
	unsigned sweep_shard; /* the next to be looked at */

	struct health health;

	/* What Redis refused last, so that the log has it once a second. */
	char refused[24];
	int64_t refused_ms;
};
