/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * The parts of gen that print for the manual pages (mdoc, see mdoc(7)): what
 * the tables of tbl/ have, to stand where src/man/ has a line "@NAME@".  A
 * part of the build, not of the program.  Each returns 0.
 */
int print_manual_options(void);
int print_manual_problems(void);
int print_manual_events(void);
int print_manual_outcomes(void);
int print_manual_states(void);
int print_manual_reasons(void);
int print_manual_faults(void);
int print_manual_metrics(void);
int print_manual_findings(void);
int print_manual_rights(void);
