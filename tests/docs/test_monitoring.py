# SPDX-License-Identifier: BSD-2-Clause
"""Monitoring: alert rules and dashboard name only metrics that exist, and each
alert is tried, and explained in the manual."""

import json
import os
import re
import shutil
import subprocess

from once import tap
from once.demo import source
from once.manual import Examples
from once.tap import Skip, each, equal, test

RULES = "contrib/prometheus/onceproxy.rules.yml"
TRIALS = "contrib/prometheus/tests/alerts.yml"
DASHBOARD = "contrib/grafana/onceproxy.json"
HTML = ("file:///usr/share/doc/onceproxy/html/"
        "onceproxy-runbook.7.html")
PARTS = {"histogram": ("_bucket", "_sum", "_count"),
         "counter": ("",), "gauge": ("",)}


def read(path):
    with open(source(path), encoding="utf-8") as file:
        return file.read()


def metrics():
    """The names of all samples."""
    found = re.findall(r'^METRIC\(\w+, (\w+), "(\w+)"',
                       read("src/tbl/metrics.h"), re.M)
    assert len(found) > 15
    return {name + part for kind, name in found for part in PARTS[kind]}


def alerts():
    """The text under the name of each alert."""
    parts = re.split(r"^ +- alert: (\w+)\n", read(RULES), flags=re.M)[1:]
    assert len(parts) > 20
    return dict(zip(parts[::2], parts[1::2]))


def panels():
    return [p for p in json.loads(read(DASHBOARD))["panels"]
            if p["type"] != "row"]


def expressions():
    """Those of the dashboard."""
    board = json.loads(read(DASHBOARD))
    found = [t["expr"] for p in panels() for t in p["targets"]]
    found += [a["expr"] for a in board["annotations"]["list"]]
    found += [v["definition"] for v in board["templating"]["list"]
              if v["type"] == "query"]
    return found


def promtool(*args):
    if not shutil.which("promtool"):
        raise Skip("there is no promtool (Debian: prometheus)")
    done = subprocess.run(["promtool", *args], capture_output=True, text=True,
                          check=False)
    equal(done.returncode, 0, done.stdout + done.stderr)


FILES = [("the alert rules", RULES), ("their trials", TRIALS),
         ("the dashboard", DASHBOARD)]


@each(FILES)
def every_metric_that_is_named_exists(bench, path):
    text = read(path)
    if path == DASHBOARD:
        text = "\n".join(expressions())
    named = set(re.findall(r"\b(?:onceproxy|process)_\w+", text))
    assert named
    prose = {name.rsplit("_", 1)[0] for name in metrics()
             if name.endswith("_bucket")}  # a histogram as a whole
    equal(named - metrics() - prose, set())


@each(FILES)
def every_outcome_and_state_that_is_named_exists(bench, path):
    text = read(path).replace('\\"', '"')
    outcomes = set(re.findall(
        r'^OUTCOME\(\w+, "([^"]+)"', read("src/tbl/outcomes.h"), re.M))
    for label, known in (("outcome", outcomes),
                         ("state", {"PROCESSING", "UNKNOWN", "FAILED"})):
        values = re.findall(rf'\b{label}=~?"([^"]+)"', text)
        named = {word for value in values for word in value.split("|")}
        assert named
        equal(named - known, set())


@test
def every_metric_is_on_the_dashboard(bench):
    text = "\n".join(expressions())
    missing = [name for name in re.findall(
        r'^METRIC\(\w+, \w+, "(\w+)"', read("src/tbl/metrics.h"), re.M)
        if name not in text]
    equal(missing, [])


@test
def every_alert_says_what_it_means_and_what_to_do(bench):
    manual = read("src/man/onceproxy-runbook.7.in")
    section = manual.split(".Sh ALERTS\n")[1].split("\n.Sh ")[0]
    for name, text in alerts().items():
        equal(re.findall(r"severity: (critical|warning)}", text) != [], True)
        for part in ("summary", "description"):
            assert f"\n          {part}: " in text, (name, part)
        where = re.findall(
            rf'runbook_url: "{re.escape(HTML)}#(\w+)"', text)
        equal(len(where), 1, name)
        assert f".Ss {where[0]}\n" in section, f"{name} has no runbook"


@test
def an_alert_about_payments_leads_to_them(bench):
    """It cannot name them: a label of each would be a time series of each."""
    manual = read("src/man/onceproxy-runbook.7.in").replace("\\-", "-")
    found = 0
    for name, text in alerts().items():
        for state in re.findall(r'onceproxy_records\{state="(\w+)"', text):
            command = f"onceproxy keys list --state {state}"
            assert command in " ".join(text.split()), name
            assert command in manual, name
            found += 1
    equal(found, 3)


@test
def every_entry_of_the_manual_is_of_an_alert(bench):
    section = read("src/man/onceproxy-runbook.7.in").split(".Sh ALERTS\n")[1]
    named = re.findall(r"^\.Ss (\w+)$", section.split("\n.Sh ")[0], re.M)
    equal(set(named) - set(alerts()), set())


@test
def every_alert_is_tried_both_ways(bench):
    text = read(TRIALS)
    for name in alerts():
        quiet = (rf'alertname="{name}", alertstate="firing"}}\''
                 r"\n +eval_time: \w+\n +exp_samples: \[\]")
        assert re.search(quiet, text), f"{name} is never seen quiet"
        assert f'labels: \'ALERTS{{alertname="{name}"' in text, name


@test
def the_panels_of_the_dashboard_stand_side_by_side(bench):
    board = json.loads(read(DASHBOARD))
    ids = [p["id"] for p in board["panels"]]
    equal(len(ids), len(set(ids)))
    taken = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24, panel["title"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                 for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


@test
def the_dashboard_takes_the_data_source_that_is_chosen(bench):
    for panel in panels():
        for where in (panel, *panel["targets"]):
            equal(where["datasource"]["uid"], "${datasource}")
        assert panel["description"], panel["title"]


@test
def prometheus_takes_the_rules(bench):
    promtool("check", "rules", source(RULES))


@test
def the_alerts_fire_when_they_should_and_not_before(bench):
    promtool("test", "rules", source(TRIALS))


@test
def what_the_page_shows_of_prometheus_is_a_configuration(bench):
    text = Examples("onceproxy-metrics.7").texts["scrape.yml"]
    rules, = re.findall(r'rule_files: \["(.*)"\]', text)
    assert rules.endswith("/prometheus/" + os.path.basename(RULES)), rules
    token, = re.findall(r"credentials_file: ([^}]*)\}", text)
    text = text.replace(rules, os.path.abspath(source(RULES)))
    text = text.replace(token, bench.file(b"secret", "token"))
    promtool("check", "config", bench.file(text.encode(), "scrape.yml"))


@test
def prometheus_takes_what_the_dashboard_asks(bench):
    """Expressions as a file of rules, with the dashboard's variables filled
    in."""
    rules = []
    for panel in panels():
        for target in panel["targets"]:
            asked = target["expr"].replace("$__rate_interval", "5m")
            rules.append({"record": "a:b", "expr": re.sub(
                r"\$\w+", ".*", asked), "labels": {"n": str(len(rules))}})
    text = json.dumps({"groups": [{"name": "panels", "rules": rules}]})
    promtool("check", "rules", bench.file(text.encode(), "panels.yml"))


tap.main()
