/* SPDX-License-Identifier: BSD-2-Clause */
#include "broker/kafka/kafka_ring.h"

/* How much of a range there is from one offset up to another. */
static int64_t
overlap(const struct kafka_range *range, int64_t from, int64_t to)
{
	if (from < range->from)
		from = range->from;
	if (to > range->to)
		to = range->to;
	return from < to ? to - from : 0;
}

uint64_t
kafka_ring_cut(struct kafka_ring *ring, int64_t begin)
{
	struct kafka_stand *kept = &ring->kept;
	int64_t lost = begin - ring->next;
	kept->sure |= kept->anchor.offset < begin;
	for (size_t i = 0; i < kept->n_ranges; i++)
		lost -= overlap(&kept->ranges[i], ring->next, begin);
	return (uint64_t)lost;
}
