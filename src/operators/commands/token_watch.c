/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "conf/token/token_file.h"
#include "operators/commands/token_watch.h"

enum { PAUSE_MS = 1000 };

/* Files that were logged already, of those that one round found changed. */
struct files_told {
	const char **files; /* borrowed */
	size_t count;
};

/* Reads a file again, and logs it once, though several routes may name it. */
static void
renew_keys(struct files_told *told, const struct conf_route *route,
    const struct conf_scope *scope)
{
	char *wrong = NULL;
	enum token_file_news news = token_file_look(scope->file, &wrong);
	bool known = news == TOKEN_FILE_SAME;
	for (size_t i = 0; i < told->count && !known; i++)
		known = !strcmp(told->files[i], scope->keys);
	if (!known) {
		told->files = mem_grow(
		    told->files, (told->count + 1) * sizeof *told->files);
		told->files[told->count++] = scope->keys;
		struct logline line =
		    log_begin(news == TOKEN_FILE_NEW ? EV_token_keys_new
						     : EV_token_keys_wrong);
		log_str(&line, "route", route->name);
		log_str(&line, "file", scope->keys);
		if (wrong != NULL)
			log_str(&line, "error", wrong);
		log_end(&line);
	}
	free(wrong);
}

static void
renew_all_keys(void *arg)
{
	struct token_watch *watch = arg;
	const struct conf *conf = *watch->conf;
	struct files_told told = {NULL, 0};
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		if (route->idempotency == NULL)
			continue;
		const struct conf_scopes *scopes = &route->idempotency->scope;
		for (size_t k = 0; k < scopes->count; k++)
			if (scopes->list[k].file != NULL)
				renew_keys(&told, route, &scopes->list[k]);
	}
	free(told.files);
	timer_set(&watch->timer, PAUSE_MS);
}

void
token_watch_start(struct token_watch *watch, struct loop *loop,
    const struct conf *const *conf)
{
	watch->conf = conf;
	timer_init(&watch->timer, loop, renew_all_keys, watch);
	timer_set(&watch->timer, PAUSE_MS);
}

void
token_watch_stop(struct token_watch *watch)
{
	timer_clear(&watch->timer);
}
