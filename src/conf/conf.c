/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "conf/loader_private.h"

const struct conf *
conf_ref(const struct conf *conf)
{
	/* Only the count changes, and only here and in conf_unref. */
	struct conf *counted = (struct conf *)(uintptr_t)conf;
	atomic_fetch_add_explicit(&counted->refs, 1, memory_order_relaxed);
	return conf;
}

void
clear_group(enum group group, void *base)
{
	static void (*const clear[])(void *base, void *field) = {
#define TYPE(name, ctype, parse, clear, ...) clear_##clear,
#include "conf/types.h"
#undef TYPE
	};
	for (size_t i = 0; i < n_options; i++)
		if (options[i].group == group)
			clear[options[i].type](
			    base, (char *)base + options[i].offset);
}

static void
conf_free(struct conf *conf)
{
	clear_group(GROUP_ROOT, conf);
	free(conf->fixed);
	free(conf->file);
	free(conf);
}

void
conf_unref(const struct conf **conf)
{
	struct conf *counted = (struct conf *)(uintptr_t)*conf;
	*conf = NULL;
	if (counted != NULL && atomic_fetch_sub_explicit(&counted->refs, 1,
				   memory_order_acq_rel) == 1)
		conf_free(counted);
}
