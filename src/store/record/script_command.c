/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/record/script_command.h"

void
script_command_begin(struct resp *command, const struct script_names *names,
    const struct function_library *library, enum script script,
    enum script_as as, size_t n_args)
{
	resp_begin(command, 2 + n_args);
	if (library != NULL) {
		resp_arg(command, SPAN("FCALL"));
		resp_arg(command,
		    span_str(as == SCRIPT_AS_READER
			    ? library->readers[script]
			    : library->functions[script]));
	} else if (as == SCRIPT_AS_TEXT) {
		resp_arg(command, SPAN("EVAL"));
		resp_arg(command, script_text(script));
	} else {
		resp_arg(command, SPAN("EVALSHA"));
		resp_arg(command, span_of(names->sha[script], SHA1_HEX));
	}
}
