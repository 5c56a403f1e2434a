/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "store/record/redis_keys.h"
#include "store/record/shard_names.h"

struct shard_names_of {
	struct resp args; /* empty until they are needed */
	size_t leases_len;
};

void
shard_names_init(struct shard_names *names, const struct conf *conf)
{
	size_t shards = (size_t)conf->store.shards;
	names->conf = conf;
	names->list = mem_zero(shards * sizeof *names->list);
}

void
shard_names_free(struct shard_names *names)
{
	for (int64_t i = 0; i < names->conf->store.shards; i++)
		resp_clear(&names->list[i].args);
	free(names->list);
	names->list = NULL;
}

size_t
shard_names_put(struct shard_names *names, unsigned shard, struct resp *args)
{
	struct shard_names_of *of = &names->list[shard];
	if (of->args.len == 0) {
		redis_keys_index(&of->args, names->conf, shard, "leases");
		of->leases_len = of->args.len;
		redis_keys_index(&of->args, names->conf, shard, "held");
	}
	resp_bytes(args, span_of(of->args.bytes, of->args.len));
	return of->leases_len;
}
