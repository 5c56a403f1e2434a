/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/must.h"

/*
 * Folders and files of ours below state_dir.  Where others may write, they may
 * have put a link in the place of a file that we are about to make, and we
 * would write to what it leads to; such a place is refused.  It knows nothing
 * of what the files are for.  Any thread.
 *
 * Each function returns a descriptor, or -1 with a few words in *ret_why that
 * are static or strerror()'s, and errno.
 */

/* state_dir, made where it is missing; it may be a symbolic link itself. */
MUST_USE int own_file_state_dir(const char *path, const char **ret_why);
/* A folder in a folder, made where it is missing. */
MUST_USE int own_file_folder(int at, const char *name, const char **ret_why);
/* A file to be written, made where it is missing; O_TRUNC may be in flags. */
MUST_USE int own_file_open(
    int at, const char *name, int flags, const char **ret_why);
