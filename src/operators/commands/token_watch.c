/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/loop/log.h"
#include "conf/conf.h"
#include "conf/token/token_set.h"
#include "operators/commands/token_watch.h"

enum { PAUSE_MS = 1000 };

static void
renew_keys(void *arg)
{
	struct token_watch *watch = arg;
	const struct conf *conf = *watch->conf;
	struct conf_keys_at at = {0, 0};
	const struct conf_scope *scope;
	while ((scope = conf_next_keys(conf, &at)) != NULL) {
		struct token_news news = token_set_look(scope->set);
		/* A set is shared by all that name it: it is told once. */
		if (news.what == TOKEN_SAME)
			continue;
		struct logline line =
		    log_begin(news.what == TOKEN_NEW ? EV_token_keys_new
						     : EV_token_keys_wrong);
		bool url = token_set_is_url(scope->keys);
		log_str(&line, "route", conf->routes[at.route].name);
		log_str(&line, url ? "url" : "file", scope->keys);
		if (url)
			log_int(&line, "again_s", news.again_s);
		log_any(&line, "error", span_str(news.wrong));
		log_end(&line);
		free(news.wrong);
	}
	timer_set(&watch->timer, PAUSE_MS);
}

void
token_watch_start(struct token_watch *watch, struct loop *loop,
    const struct conf *const *conf)
{
	watch->conf = conf;
	timer_init(&watch->timer, loop, renew_keys, watch);
	timer_set(&watch->timer, 0);
}
