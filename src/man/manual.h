/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

/*
 * The part of gen that prints for the manual pages (mdoc, see mdoc(7)): what
 * the tables of tbl/ have, to stand where src/man/ has a line "@NAME@".  A
 * part of the build, not of the program.  False: there is no list of that name.
 */
bool manual_print(const char *list);
