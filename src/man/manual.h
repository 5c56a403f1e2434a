/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

/*
 * The part of gen that prints for the manual pages (mdoc, see mdoc(7)): what
 * the tables of tbl/ have, to stand where src/man/ has a line "@WORDS@".  A
 * part of the build, not of the program.  The words are a list's name and, of
 * "options", a group's and which of its members.  False: there is no such list.
 */
bool manual_print(char **words);
