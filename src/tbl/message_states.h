/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MESSAGE_STATE(name, word): what a message does, for operators.  Those that
 * can be listed come first; a waiting one waits for its turn behind another of
 * its order, for its source to go on, or for whoever is at work on its key.  A
 * parked one is a dead letter only because it is behind another one.
 */
MESSAGE_STATE(HELD, "held")
MESSAGE_STATE(RETRYING, "retrying")
MESSAGE_STATE(WAITING, "waiting")
MESSAGE_STATE(IN_FLIGHT, "in-flight")
MESSAGE_STATE(DEAD, "dead")
MESSAGE_STATE(PARKED, "parked")
