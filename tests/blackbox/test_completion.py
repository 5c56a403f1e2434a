# SPDX-License-Identifier: BSD-2-Clause
"""Completion for bash and zsh: commands, verbs, options, states and files, as
the program's own help has them."""

import os
import shutil
import subprocess

from once import tap
from once.demo import source
from once.gateway import program
from once.tap import Skip, each, equal, test

BASH = """
. "$FILE"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_onceproxy
printf '%s\\n' "${COMPREPLY[@]}"
"""
# What compadd would offer, as far as it begins like the word.
ZSH = """
compadd() { [[ $1 == -- ]] && shift; print -rl -- ${(M)@:#$words[CURRENT]*} }
_files() { print -rl -- $words[CURRENT]*(N) }
words=("$@")
CURRENT=$#
complete_it() { source $FILE }
complete_it
"""
SHELLS = {"bash": ("bash/onceproxy", ["-euc", BASH, "bash"]),
          "zsh": ("zsh/_onceproxy", ["-fc", ZSH, "zsh"])}


def completed(shell, folder, *words):
    """What the shell offers for the last word."""
    name, args = SHELLS[shell]
    if not shutil.which(shell):
        raise Skip(f"there is no {shell}")
    done = subprocess.run(
        [shell, *args, program(), *words], cwd=folder, capture_output=True,
        text=True, check=False,
        env=dict(os.environ, FILE=source(f"contrib/completion/{name}")))
    equal((done.returncode, done.stderr), (0, ""), done.stdout)
    return sorted(done.stdout.split())


ROWS = [
    ("commands", ["e"], ["events"]),
    ("verbs", ["keys", "re"], ["reconcile", "release"]),
    ("a verb of one alone", ["witness", "t"], ["trust"]),
    ("verbs behind a file", ["messages", "-c", "f", "re"],
     ["replay", "restore", "resume", "rewind"]),
    ("options of a command", ["events", "--f"], ["--follow", "--from"]),
    ("short options of a command", ["doctor", "-v"], ["-v"]),
    ("options of all", ["--"], ["--help", "--version"]),
    ("the help", ["h"], ["help"]),
    ("options of a verb", ["keys", "complete", "--s"], ["--status"]),
    ("states", ["keys", "list", "--state", "U"], ["UNKNOWN"]),
    ("states of messages", ["messages", "list", "--state", "h"], ["held"]),
    ("what help is for", ["help", "d"], ["doctor"]),
    ("files", ["check", "-c", "onc"], ["once.json"]),
    ("nothing behind a command", ["serve", "a"], [])]


@each([(f"{shell}, {words}", shell, *row)
       for shell in SHELLS for words, *row in ROWS])
def it_completes(bench, shell, words, wanted):
    folder = bench.folder()
    with open(os.path.join(folder, "once.json"), "wb"):
        pass
    equal(completed(shell, folder, *words), wanted)


@each([(shell, shell) for shell in SHELLS])
def it_completes_for_who_has_no_sbin_in_the_path(bench, shell):
    name, args = SHELLS[shell]
    if not shutil.which(shell):
        raise Skip(f"there is no {shell}")
    folder = bench.folder()
    os.symlink(program(), os.path.join(folder, "onceproxy"))
    mounted = ["unshare", "-rm", "sh", "-euc",
               'mount --bind "$0" /usr/local/sbin; exec "$@"', folder]
    if subprocess.run([*mounted, "true"], check=False,
                      capture_output=True).returncode != 0:
        raise Skip("nothing can be mounted here")
    done = subprocess.run(
        [*mounted, shell, *args, "onceproxy", "e"], capture_output=True,
        text=True, check=False, env=dict(
            os.environ, FILE=source(f"contrib/completion/{name}"),
            PATH="/usr/bin:/bin"))
    equal((done.returncode, done.stdout.split()), (0, ["events"]),
          done.stderr)


@test
def every_command_and_verb_is_offered(bench):
    for shell in SHELLS:
        equal(completed(shell, ".", ""),
              ["check", "doctor", "events", "help", "keys", "messages",
               "serve", "witness"])
        equal(completed(shell, ".", "keys", ""),
              ["complete", "delete", "find", "list", "reconcile", "release",
               "show"])


tap.main()
