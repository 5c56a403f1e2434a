/* SPDX-License-Identifier: BSD-2-Clause */
/* TARGET(name, what its input is): fuzz_NAME() in NAME.c, corpus/NAME/. */
TARGET(conf, "the text of a configuration")
TARGET(answer_framing, "what stands behind the head of a chunked answer")
TARGET(head_check, "a request's head, a line feed behind each line")
TARGET(head, "what an upstream sends, from its status line on")
TARGET(journal, "how to write a journal, and how to damage it")
TARGET(json, "a body")
TARGET(key, "the value of a key's field")
TARGET(record, "what stands in Redis under a record's name")
TARGET(request_target, "a request target")
TARGET(store, "operations of a store, and what Redis replies")
TARGET(url, "a URL of an upstream or of Redis")
TARGET(wire, "which beginning, and what a client sends behind it")
