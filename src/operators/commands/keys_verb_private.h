/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/commands/keys_line_private.h"

/*
 * What `onceproxy keys` does: each verb asks the gateway, whose address is in
 * line->conf, and prints its answer.  Each returns an exit code.  Main thread.
 */
int keys_verb_list(struct keys_line *line);
int keys_verb_find(struct keys_line *line);
int keys_verb_show(struct keys_line *line);
int keys_verb_release(struct keys_line *line);
int keys_verb_complete(struct keys_line *line);
int keys_verb_delete(struct keys_line *line);
