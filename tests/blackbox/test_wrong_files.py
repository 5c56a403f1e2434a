# SPDX-License-Identifier: BSD-2-Clause
"""Files as newcomers write them (tests/wrong), and what `check` answers: the
place, and words that lead to what was meant."""

from once import tap
from once.gateway import command
from once.tap import each, equal
from once.wrong_files import wrong_files


@each([(name, file) for name, file in wrong_files().items() if file.answers])
def a_wrong_file_is_answered_with_what_is_wrong(bench, wrong):
    file = bench.file(wrong.text().encode())
    done = command("check", "-c", file, "--strict")
    equal((done.returncode, done.stderr), (1, ""), done.stdout)
    lines = done.stdout.splitlines()
    equal(len(lines), len(wrong.answers), done.stdout)
    for line, (place, words) in zip(lines, wrong.answers):
        assert line.startswith(f"{file}:{place}: "), line
        assert words in line, line


@each([(name, file) for name, file in wrong_files().items()
       if not file.answers])
def what_wrong_files_are_made_of_is_right(bench, right):
    file = bench.file(right.text().encode())
    done = command("check", "-c", file)
    equal((done.returncode, done.stderr), (0, ""), done.stdout)


# No file of the source may be like these.
@each([("Latin-1 in a comment", b"// f\xfcr\n{}", "1:5",
        "this comment is not UTF-8: save the file as UTF-8"),
       ("a NUL byte in a comment", b"{}\n/* \0 */", "2:4",
        "a NUL byte stands here: take it out"),
       ("carriage returns alone", b"// x\r{\r}\r", "1:1",
        "lines end with a line feed; with a carriage return alone, as here, "
        "all that follows a // is comment"),
       ("comments alone", b"// x\n", "1:1",
        "the file has only blanks and comments")])
def bytes_are_wrong(bench, data, place, words):
    file = bench.file(data)
    done = command("check", "-c", file)
    equal((done.returncode, done.stdout), (1, f"{file}:{place}: {words}\n"))


tap.main()
