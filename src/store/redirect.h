/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/span.h"

/*
 * What to do about a command that a server of a cluster refused: its slot is
 * another server's, or being moved there, or the server cannot serve and may
 * have been replaced.  Nothing ran.  It tells the topology what it learns, and
 * knows nothing of calls.  For src/store/ alone; the store's thread.
 */
struct node;

struct redirect {
	enum {
		REDIRECT_NONE,  /* none of these: the error is final */
		REDIRECT_TO,    /* to be sent to node */
		REDIRECT_AGAIN, /* no node can run it now: again in a moment */
	} what;
	struct node *node; /* REDIRECT_TO */
	bool asking;       /* only this time, and after ASKING */
};

/* error is the answer of that node of a cluster. */
struct redirect redirect_of(struct node *node, struct span error);
