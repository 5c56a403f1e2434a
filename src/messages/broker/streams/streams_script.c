/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/hex.h"
#include "base/must.h"
#include "base/test_build.h"
#include "messages/broker/streams/streams_script.h"

/* In src/store/record/lua/scripts.c, which make generates. */
#define EACH(SCRIPT)                                                          \
	SCRIPT(GROUP, stream_group)                                           \
	SCRIPT(ORIGIN, stream_origin)                                         \
	SCRIPT(TAKE, stream_take)                                             \
	SCRIPT(CLAIM, stream_claim)                                           \
	SCRIPT(BEAT, stream_beat)                                             \
	SCRIPT(PUT, stream_put)                                               \
	SCRIPT(MARK, stream_mark)                                             \
	SCRIPT(MISSING, stream_missing)                                       \
	SCRIPT(COPIES, stream_copies)
#define DECLARE(name, file) extern const char script_##file[];
EACH(DECLARE)
#undef DECLARE

static struct span
text_of(enum streams_script script)
{
	switch (script) {
#define TEXT(name, file)                                                      \
	case STREAMS_SCRIPT_##name:                                           \
		return span_str(SCRIPT_IN_TRIAL(#file, script_##file));
		EACH(TEXT)
#undef TEXT
	case STREAMS_SCRIPT_COUNT_:
		break;
	}
	must(false);
	return SPAN("");
}

void
streams_script_init(struct streams_scripts *scripts)
{
	uint8_t hash[SHA1_BYTES];
	for (int i = 0; i < STREAMS_SCRIPT_COUNT_; i++) {
		sha1(text_of((enum streams_script)i), hash);
		hex_encode(hash, sizeof hash, scripts->sha[i]);
	}
	streams_script_forget(scripts);
}

void
streams_script_forget(struct streams_scripts *scripts)
{
	memset(scripts->known, 0, sizeof scripts->known);
}

void
streams_script_begin(struct streams_scripts *scripts,
    enum streams_script script, struct span key, struct span other_key,
    size_t n_args, struct resp *ret_command)
{
	bool two = other_key.ptr != NULL;
	bool known = scripts->known[script];
	resp_begin(ret_command, 4 + two + n_args);
	resp_arg(ret_command, known ? SPAN("EVALSHA") : SPAN("EVAL"));
	resp_arg(ret_command,
	    known ? span_str(scripts->sha[script]) : text_of(script));
	resp_number(ret_command, 1 + two);
	resp_arg(ret_command, key);
	if (two)
		resp_arg(ret_command, other_key);
	scripts->known[script] = true;
}
