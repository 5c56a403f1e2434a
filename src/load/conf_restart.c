/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digest.h"
#include "base/mem.h"
#include "load/complaints_private.h"
#include "load/conf_restart_private.h"
#include "load/text_private.h"

/* Of the addresses to listen on, what their sockets are made from. */
static char *
sockets_text(const struct conf *conf)
{
	json_t *list = json_array();
	for (size_t i = 0; i < conf->n_listen; i++) {
		const struct conf_listen *listen = &conf->listen[i];
		must(json_array_append_new(list,
			 json_pack("[s?Is?]", listen->address.text,
			     (json_int_t)listen->mode, listen->group)) == 0);
	}
	char *text = json_dumps(list, JSON_COMPACT);
	json_decref(list);
	must(text != NULL);
	return text;
}

/* Each fixed option of the whole file as one digest of its JSON. */
void
conf_restart_digest(struct loader *l)
{
	uint8_t *to = mem_zero(n_options * DIGEST_BYTES);
	l->conf->fixed = to;
	for (size_t i = 0; i < n_options; i++, to += DIGEST_BYTES) {
		const struct option *option = &options[i];
		if (option->group != GROUP_ROOT || !option->restart)
			continue;
		const char *preset = option_preset(option);
		json_t *value = loader_value(l, option);
		char *text =
		    option->type == TYPE_LISTENS ? sockets_text(l->conf)
		    : value
		    ? json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS)
		    : mem_str(span_str(preset));
		struct digest digest;
		digest_begin(&digest, SPAN("option"), SPAN(""));
		digest_part(&digest, span_str(text));
		digest_end(&digest, to);
		text_free(&text);
	}
}

void
conf_restart_needed(const struct conf *running, const struct conf *next,
    struct complaints *complaints)
{
	struct loader l = {.complaints = complaints};
	for (size_t i = 0; i < n_options; i++)
		if (memcmp(running->fixed + i * DIGEST_BYTES,
			next->fixed + i * DIGEST_BYTES, DIGEST_BYTES) != 0)
			complaints_at_option(&l, NULL, &options[i],
			    "a reload does not change this; "
			    "restart the gateway");
}
