/* SPDX-License-Identifier: BSD-2-Clause */
/* STATE(name, letter): the states of a record, as its third byte has them. */
STATE(PROCESSING, 'P')
STATE(COMPLETED, 'C')
STATE(UNKNOWN, 'U')
STATE(FAILED, 'F')
STATE(RELEASED, 'R')
