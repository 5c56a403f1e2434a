/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * The parts of gen that print for the manual pages (mdoc, see mdoc(7)): what
 * the tables of tbl/ have, to stand where src/man/ has a line "@NAME@".  A
 * part of the build, not of the program.  Each returns 0.
 */
int manual_options(void);
int manual_problems(void);
int manual_events(void);
int manual_outcomes(void);
int manual_standings(void);
int manual_states(void);
int manual_reasons(void);
int manual_faults(void);
int manual_metrics(void);
int manual_findings(void);
int manual_rights(void);
int manual_presets(void);
