/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/source/source_meter.h"

const char *const source_meter_outcomes[MESSAGE_COUNT_] = {
#define MESSAGE_OUTCOME(name, word) [MESSAGE_##name] = word,
#include "tbl/message_outcomes.h"
};

const char *const source_meter_transactions[BROKER_TRANSACTION_COUNT_] = {
    [BROKER_COMMITTED] = "committed",
    [BROKER_ABORTED] = "aborted",
    [BROKER_FENCED] = "fenced",
    [BROKER_UNCLEAR] = "unclear",
};
