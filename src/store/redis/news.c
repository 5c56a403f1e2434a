/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/loop/log.h"
#include "store/redis/link_private.h"
#include "store/redis/news_private.h"

static bool
is_of_cluster(const struct link *link)
{
	return link->redis->cluster.count > 0;
}

static void
log_reason(const struct link *link, enum event event)
{
	struct logline line = log_begin(event);
	if (link->socket != NULL || link->host != NULL)
		log_str(&line, "redis",
		    link->socket ? link->socket : link->host);
	if (link->host != NULL)
		log_int(&line, "port", link->port);
	log_str(&line, "error", link->message);
	log_end(&line);
}

static bool
tells(const struct link *link, const char *message)
{
	return link->events.tells == NULL ||
	    link->events.tells(link->events.arg, message);
}

void
news_down(struct link *link)
{
	if (link->said_down || link->channels != NULL || link->sentinel ||
	    link->events.unsaid)
		return;
	link->said_down = true;
	if (tells(link, link->message))
		log_reason(link,
		    is_of_cluster(link) ? EV_node_down : EV_store_down);
}

void
news_up(struct link *link)
{
	if (link->said_down && tells(link, NULL))
		log_event(is_of_cluster(link) ? EV_node_up : EV_store_up);
	link->said_down = false;
}

void
news_freed(struct link *link)
{
	if (link->said_down)
		(void)tells(link, NULL);
	link->said_down = false;
}

void
news_garbled(const struct link *link)
{
	log_reason(link, EV_store_garbled);
}
