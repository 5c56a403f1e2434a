/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <microhttpd.h>

#include "base/container.h"
#include "http/front/exchange.h"

struct front;
struct large_answer;

/*
 * An exchange as the files of the front know it (front/front_private.h lists
 * them): what its owner is shown, and what libmicrohttpd does with it.  It
 * lives until both, the owner and libmicrohttpd, let go of it.  The front's
 * thread.
 */
struct mhd_exchange {
	struct exchange shown;
	struct front *front;
	struct MHD_Connection *mhd; /* NULL: libmicrohttpd is done with it */
	struct client_connection *connection; /* while there is mhd */
	enum exchange_doing {
		EXCHANGE_IDLE,
		EXCHANGE_READING,
		EXCHANGE_ANSWERING,
	} doing; /* what shown.op waits for */
	bool ended; /* the owner is done with it */

	/* The request. */
	int64_t content_length; /* -1: it is chunked */
	bool expects_continue;  /* and was not told to */
	bool client_closes;     /* behind this answer */
	bool body_over;    /* no more of it comes, or there is none */
	bool reads;        /* it goes on when the socket can be read */
	size_t read_limit; /* the length that was announced, or allowed */
	struct flow *up;   /* where it goes; NULL: nowhere, or not any more */

	/* The answer. */
	struct MHD_Response *reply; /* to be given to libmicrohttpd */
	unsigned reply_status;
	bool awaits_body;    /* the reply does, of which little is missing */
	bool queued;         /* libmicrohttpd has it */
	struct flow *down;   /* where its content comes from */
	bool end_is_close;   /* of that content, by HTTP/1.0 */
	bool down_waits;     /* for more in there, held or not */
	bool half_closed;    /* the client sends no more */
	struct large_answer *large; /* it goes past libmicrohttpd */
	bool is_blocked; /* until the socket can be written to */
	bool sent;       /* the answer has gone */

	void (*left)(void *arg); /* the owner's */
	void *left_arg;
};

static inline struct mhd_exchange *
exchange_of(struct exchange *shown)
{
	return CONTAINER_OF(shown, struct mhd_exchange, shown);
}

/* libmicrohttpd's calls about one request. */
enum MHD_Result exchange_on_request(void *front, struct MHD_Connection *mhd,
    const char *url, const char *method, const char *version,
    const char *data, size_t *len, void **context);
void exchange_on_completed(void *front, struct MHD_Connection *mhd,
    void **context, enum MHD_RequestTerminationCode code);
