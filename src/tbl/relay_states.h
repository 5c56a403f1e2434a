/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RELAY_STATE(name): what an event may lead to, by the word that it has in the
 * event and in a relay's `states`; NONE: there is no record, or it is free.
 */
RELAY_STATE(NONE)
RELAY_STATE(PROCESSING)
RELAY_STATE(COMPLETED)
RELAY_STATE(FAILED)
RELAY_STATE(UNKNOWN)
