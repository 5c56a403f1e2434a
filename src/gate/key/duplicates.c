/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/must.h"
#include "gate/key/duplicates.h"

const struct observed_line duplicates_lines[] = {
#define OBSERVED(name, word, is_duplicate) {word, is_duplicate},
#include "tbl/observed.h"
#undef OBSERVED
};

void
duplicates_add(struct duplicates *all, const struct duplicate *one)
{
	must(pthread_mutex_lock(&all->lock) == 0);
	all->list[all->added++ % DUPLICATES_MAX] = *one;
	must(pthread_mutex_unlock(&all->lock) == 0);
}

size_t
duplicates_read(
    struct duplicates *all, struct duplicate ret_list[DUPLICATES_MAX])
{
	must(pthread_mutex_lock(&all->lock) == 0);
	size_t added = all->added;
	size_t count = added < DUPLICATES_MAX ? added : DUPLICATES_MAX;
	for (size_t i = 0; i < count; i++)
		ret_list[i] = all->list[(added - 1 - i) % DUPLICATES_MAX];
	must(pthread_mutex_unlock(&all->lock) == 0);
	return count;
}
