# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 2: commands, options, exit codes."""

import os
import re
import signal
import socket
import subprocess

from once import tap
from once.gateway import command, is_without, program, write
from once.tap import each, equal, test


def config_file(bench, config=None):
    file = os.path.join(bench.folder(), "onceproxy.json")
    write(file, config or bench.config("http://127.0.0.1:9",
                                       redis="unix:/nowhere"))
    return file


@test
def version_names_program_and_version(bench):
    done = command("--version")
    equal(done.returncode, 0)
    assert done.stdout.startswith("onceproxy 0."), done.stdout
    assert re.search(r"^with(out)? postgres$", done.stdout, re.M), done.stdout


@each([("libpq", "libpq.", "postgres"), ("librdkafka", "librdkafka.", "kafka"),
       ("libsystemd", "libsystemd.", "systemd")])
def what_it_was_built_without_it_does_not_need(bench, library, part):
    loaded = subprocess.run(["ldd", program()], capture_output=True, text=True,
                            check=True).stdout
    equal(library in loaded, not is_without(part))


@test
def help_names_the_commands(bench):
    done = command("--help")
    equal(done.returncode, 0)
    for word in ("serve", "check", "doctor", "keys", "messages", "events",
                 "witness", "--version", "example:"):
        assert word in done.stdout, done.stdout


@each([("serve", "serve"), ("check", "check"), ("doctor", "doctor"),
       ("keys", "keys"), ("events", "events")])
def a_command_has_its_own_help_with_an_example(bench, name):
    done = command(name, "--help")
    equal(done.returncode, 0)
    assert name in done.stdout and "-c" in done.stdout, done.stdout
    example = done.stdout.split("example:\n")[1]
    assert example.startswith(f"  onceproxy {name} "), example


@each([("no command", []), ("an unknown command", ["sevre"]),
       ("an unknown option", ["--colour"]),
       ("an unknown option of serve", ["serve", "--colour"]),
       ("an unknown option of check", ["check", "--colour"]),
       ("an unknown option of doctor", ["doctor", "--colour"]),
       ("an unknown option of events", ["events", "--since", "1h"]),
       ("an option of events", ["check", "--follow"]),
       ("an option of check", ["doctor", "--explain"]),
       ("an option of doctor", ["check", "--acl"]),
       ("a letter of doctor", ["serve", "-v"]),
       ("an option without its value", ["check", "-c"]),
       ("a word too many", ["check", "-c", "a", "b"])])
def wrong_usage_is_exit_2_and_said_on_standard_error(bench, args):
    done = command(*args)
    equal(done.returncode, 2, done.stderr)
    assert done.stderr.strip(), "nothing was said"
    equal(done.stdout, "")


@each([("apart", lambda file: ["-c", file]),
       ("joined", lambda file: ["-c" + file]),
       ("long", lambda file: ["--config", file]),
       ("long and joined", lambda file: ["--config=" + file])])
def the_file_may_stand_before_the_command(bench, words):
    file = config_file(bench)
    done = command(*words(file), "check")
    equal((done.returncode, done.stdout), (0, f"{file}: ok\n"), done.stderr)
    done = command(*words(file))
    equal((done.returncode, done.stdout), (2, ""))
    assert "a command is missing" in done.stderr, done.stderr


@test
def doctor_names_the_file_that_is_not_there(bench):
    done = command("doctor", "-c", "/gone/onceproxy.json")
    equal((done.returncode, done.stderr), (1, ""))
    assert done.stdout.startswith(
        "fail  /gone/onceproxy.json: cannot be read: "), done.stdout


@each([("a command", ["sevre"], "serve"),
       ("a command with a dash", ["--verison"], "--version"),
       ("an option", ["check", "--explian"], "--explain"),
       ("an option with a value", ["events", "--form=15m"], "--from"),
       ("a file", ["check", "shop.json"], "-c shop.json"),
       ("a verb", ["keys", "relase"], "release"),
       ("an option of a verb", ["keys", "list", "--stats", "X"], "--state"),
       ("a verb of messages", ["messages", "reply"], "replay")])
def what_was_meant_is_said_of(bench, args, meant):
    done = command(*args)
    equal((done.returncode, done.stdout), (2, ""))
    assert f"; did you mean {meant}?\n" in done.stderr, done.stderr


@each([("commands", ["colour"], "no such command: colour\nThe commands are "
        "serve, check, doctor, events, keys, messages, witness and "
        "help.\n"),
       ("verbs", ["keys", "lst"], "no such verb: lst; did you mean list?\n"
        "The verbs are list, find, show, release, complete, reconcile and "
        "delete.\n"),
       ("verbs, where none is", ["keys"], "a verb is missing\n"
        "The verbs are list, find, show, release, complete, reconcile and "
        "delete.\n")])
def what_there_is_is_said(bench, args, words):
    done = command(*args)
    equal((done.returncode, done.stdout), (2, ""))
    assert words in done.stderr, done.stderr


@test
def what_is_near_to_nothing_is_not_guessed_at(bench):
    for args in (["colour"], ["check", "--acl"], ["keys", "x"]):
        done = command(*args)
        equal(done.returncode, 2)
        assert "did you mean" not in done.stderr, done.stderr


@test
def help_and_version_have_two_ways(bench):
    equal(command("-V").stdout, command("--version").stdout)
    for name in ("check", "keys", "messages", "doctor"):
        equal(command("help", name).stdout, command(name, "--help").stdout)
    equal(command("help").stdout, command("--help").stdout)
    equal(command("help", "colour").returncode, 2)


@test
def check_says_ok_for_a_good_file(bench):
    file = config_file(bench)
    done = command("check", "-c", file)
    equal((done.returncode, done.stdout), (0, f"{file}: ok\n"))


@test
def check_of_a_missing_file_is_exit_1_and_names_it(bench):
    done = command("check", "-c", "/nowhere/x.json")
    equal(done.returncode, 1)
    assert "/nowhere/x.json" in done.stdout, done.stdout


@test
def the_default_file_is_below_the_system_configuration(bench):
    done = command("check")
    assert done.returncode in (0, 1)
    assert "/onceproxy/onceproxy.json: " in done.stdout, done.stdout


@test
def check_opens_no_port_and_needs_no_redis(bench):
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    config = bench.config("http://127.0.0.1:9", redis="unix:/nowhere",
                          listen=["127.0.0.1:%d" % taken.getsockname()[1]])
    equal(command("check", "-c", config_file(bench, config)).returncode, 0)
    taken.close()


@test
def serve_refuses_a_bad_file_with_exit_1_and_its_pointer(bench):
    config = bench.config("http://127.0.0.1:9", redis="unix:/nowhere",
                          colour="red")
    done = command("serve", "-c", config_file(bench, config))
    equal(done.returncode, 1)
    assert "/colour" in done.stderr, done.stderr


@test
def serve_refuses_a_taken_address_with_exit_1_and_names_it(bench):
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    address = "127.0.0.1:%d" % taken.getsockname()[1]
    config = bench.config("http://127.0.0.1:9", listen=[address])
    done = command("serve", "-c", config_file(bench, config))
    equal(done.returncode, 1)
    assert address in done.stderr, done.stderr
    taken.close()


@each([("SIGTERM", signal.SIGTERM), ("SIGINT", signal.SIGINT)])
def a_signal_ends_serve_with_exit_0(bench, number):
    _, gateway = bench.pair()
    equal(gateway.ask("pay-1").status, 201)
    gateway.stop(number)


@test
def the_ready_line_has_the_real_addresses(bench):
    path = os.path.join(bench.folder(), "listen")
    _, gateway = bench.pair(
        listen=["127.0.0.1:0", "unix:" + path, "[::1]:0"]
        if socket.has_ipv6 and ipv6_works() else
        ["127.0.0.1:0", "unix:" + path])
    host, port = gateway.addresses[0].rsplit(":", 1)
    equal(host, "127.0.0.1")
    assert int(port) > 0
    equal(gateway.addresses[1], "unix:" + path)
    for address in gateway.addresses:
        gateway.address = address
        equal(gateway.ask(f"pay-{address}").status, 201)


def ipv6_works():
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
        return True
    except OSError:
        return False


@test
def a_second_start_on_one_unix_socket_after_a_kill_works(bench):
    path = os.path.join(bench.folder(), "listen")
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, listen=["unix:" + path])
    gateway.kill()
    gateway = bench.gateway(upstream, listen=["unix:" + path])
    equal(gateway.ask("pay-1").status, 201)


tap.main()
