/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/token/token_set.h"
#include "operators/commands/shell_quote.h"
#include "operators/doctor/look_private.h"

/* Each URL is asked once, as the gateway does, whatever names it. */
void
look_tokens(struct doctor *doctor)
{
	struct conf_keys_at at = {0, 0};
	const struct conf_scope *scope;
	while ((scope = conf_next_keys(doctor->conf, &at)) != NULL) {
		char *wrong = token_set_try(scope->set);
		if (wrong == NULL)
			continue;
		char *where = mem_printf("/routes/%zu/idempotency/scope/%zu",
		    at.route, scope->index);
		findings_add(doctor, FINDING_token_keys, where, wrong,
		    shell_quote(scope->keys));
		free(where);
	}
}
