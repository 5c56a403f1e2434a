/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "conf/token/token_set.h"
#include "operators/commands/token_watch.h"

enum { PAUSE_MS = 1000 };

/* A set is shared by all that name it: what is new is told once. */
static void
renew_keys(const struct conf_route *route, const struct conf_scope *scope)
{
	struct token_news news = token_set_look(scope->set);
	if (news.what == TOKEN_SAME)
		return;
	struct logline line =
	    log_begin(news.what == TOKEN_NEW ? EV_token_keys_new
					     : EV_token_keys_wrong);
	bool url = token_set_is_url(scope->keys);
	log_str(&line, "route", route->name);
	log_str(&line, url ? "url" : "file", scope->keys);
	if (url)
		log_int(&line, "again_s", news.again_s);
	if (news.wrong != NULL)
		log_str(&line, "error", news.wrong);
	log_end(&line);
	free(news.wrong);
}

static void
renew_all_keys(void *arg)
{
	struct token_watch *watch = arg;
	const struct conf *conf = *watch->conf;
	struct conf_keys_at at = {0, 0};
	const struct conf_scope *scope;
	while ((scope = conf_next_keys(conf, &at)) != NULL)
		renew_keys(&conf->routes[at.route], scope);
	timer_set(&watch->timer, PAUSE_MS);
}

void
token_watch_start(struct token_watch *watch, struct loop *loop,
    const struct conf *const *conf)
{
	watch->conf = conf;
	timer_init(&watch->timer, loop, renew_all_keys, watch);
	timer_set(&watch->timer, 0);
}

void
token_watch_stop(struct token_watch *watch)
{
	timer_clear(&watch->timer);
}
