# SPDX-License-Identifier: BSD-2-Clause
"""A plain consumer of a topic, as librdkafka has it: writes down when each
message came, and its key.  Arguments: the file, the topic, and the settings in
JSON."""

import json
import os
import signal
import sys
import time

import confluent_kafka


def main():
    log, topic, settings = sys.argv[1:]
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    consumer = confluent_kafka.Consumer(json.loads(settings))
    consumer.subscribe([topic])
    while not ended:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            os.write(out, f"{time.time():.3f} {message.key().decode()}\n"
                     .encode())
    consumer.close()


main()
