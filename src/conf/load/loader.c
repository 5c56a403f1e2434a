/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/secret.h"
#include "base/swappable.h"
#include "conf/load/conf_said.h"
#include "conf/load/loader_private.h"

char *
loader_printf(struct loader *l, const char *fmt, ...)
{
	va_list args;
	char *made = NULL;
	va_start(args, fmt);
	must(vasprintf(&made, fmt, args) >= 0);
	va_end(args);
	char *text = loader_str(l, made);
	secret_wipe(made); /* a webhook's path is a secret */
	return text;
}

void
loader_own(struct loader *l, void *what, void (*free_it)(void *what))
{
	struct conf_owned *owned = loader_alloc(l, sizeof *owned);
	*owned = (struct conf_owned){l->conf->owned, what, free_it};
	l->conf->owned = owned;
}

static void
free_swappable(void *what)
{
	struct swappable *swappable = what;
	swappable_free(&swappable);
}

struct swappable *
loader_swappable(
    struct loader *l, void *object, void (*free_object)(void *object))
{
	struct swappable *swappable = swappable_new(object, free_object);
	loader_own(l, swappable, free_swappable);
	return swappable;
}

json_t *
loader_value(json_t *object, const char *path)
{
	json_t *value = object;
	struct span rest = span_str(path);
	struct span member;
	while (value != NULL && span_next(&rest, '.', &member)) {
		char *name = mem_str(member);
		value = json_object_get(value, name);
		free(name);
	}
	return value;
}

bool
loader_wrong_alone(const struct loader *l, const struct conf_route *route,
    const char *path)
{
	char *said = conf_said(l->conf, route, path);
	bool wrong = false;
	for (size_t i = 0; i < l->n_alone && said != NULL && !wrong; i++)
		wrong = !strcmp(l->complaints->list[i].pointer, said);
	free(said);
	return wrong;
}
