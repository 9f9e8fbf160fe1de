"""What stands in deploy/: it agrees with the code, and its tools accept it."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from prometheus_client import REGISTRY

from agents.runtime import metrics
from pipeline.config import OF_COMPOSE, Settings
from pipeline.embedded.kafka import COORDINATES
from tests import containers

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
SUFFIXES = ("_total", "_bucket", "_sum", "_count", "_info")
FOREIGN = {"up", "process_start_time_seconds", "process_resident_memory_bytes", "process_cpu_seconds_total"}


def expressions():
    """All expressions that are asked of Prometheus, by dashboards and alerts."""
    dashboard = json.loads((DEPLOY / "grafana/dashboards/newsburst.json").read_text(encoding="utf-8"))
    rules = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text(encoding="utf-8"))
    return [
        *(target["expr"] for panel in dashboard["panels"] for target in panel["targets"]),
        *(rule["expr"] for group in rules["groups"] for rule in group["rules"]),
    ]


def test_every_metric_that_is_asked_for_exists_and_every_metric_is_asked_for():
    exist = {
        family.name: {sample.name for sample in family.samples} | {family.name}
        for family in REGISTRY.collect()
        if family.name.startswith("newsburst_")
    }
    asked = {
        name for text in expressions() for name in re.findall(r"\b(?:newsburst|process)_\w+|\bup\b", text)
    } - FOREIGN
    for name in asked:
        family = next((of for of in exist if name == of or name.removeprefix(of) in SUFFIXES), None)
        assert family is not None, name
    unasked = {of for of in exist if not any(name == of or name.removeprefix(of) in SUFFIXES for name in asked)}
    assert unasked == {"newsburst_build", "newsburst_partitions"}
    assert metrics.OUTCOMES


def test_each_alert_has_its_row_in_the_runbook():
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    rules = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    for rule in rules:
        path, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert (path, anchor) == ("docs/operations.md", rule["alert"].lower())
        assert f"#### {rule['alert']}\n" in page


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed: apt install prometheus")
def test_prometheus_accepts_its_configuration_and_the_alerts_fire():
    for command in (("check", "config", "prometheus.yml"), ("test", "rules", "alerts.test.yml")):
        ended = subprocess.run(
            ["promtool", *command], cwd=DEPLOY / "prometheus", capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_compose_and_the_embedded_broker_run_one_version_of_kafka():
    assert containers.image("kafka").rpartition(":")[2] == COORDINATES.rpartition(":")[2]


def test_services_of_compose_are_confined():
    for name, service in containers.SERVICES.items():
        if name in {"kafka", "postgres"}:
            assert service["volumes"]
            assert all(port.startswith("127.0.0.1:") for port in service["ports"])
            continue
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["mem_limit"], name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name


def test_what_compose_reads_may_stand_in_the_environment_of_a_command():
    read = set(re.findall(r"\$\{(NEWSBURST_\w+)", (DEPLOY.parent / "docker-compose.yml").read_text(encoding="utf-8")))
    assert read <= OF_COMPOSE | {f"NEWSBURST_{name.upper()}" for name in Settings.model_fields}
    assert read >= OF_COMPOSE


def test_kubernetes_accepts_the_manifests():
    ended = subprocess.run(
        [Path(sys.executable).with_name("kubernetes-validate"), "--strict", DEPLOY / "kubernetes/newsburst.yaml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_pods_are_confined_and_their_settings_exist():
    known = {f"NEWSBURST_{name.upper()}" for name in Settings.model_fields}
    manifests = list(yaml.safe_load_all((DEPLOY / "kubernetes/newsburst.yaml").read_text(encoding="utf-8")))
    (shared,) = [of["data"] for of in manifests if of["kind"] == "ConfigMap"]
    assert set(shared) <= known
    for pod in [of["spec"]["template"]["spec"] for of in manifests if "template" in of.get("spec", {})]:
        assert pod["enableServiceLinks"] is False, "a Service sets variables NEWSBURST_..., which are refused"
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            assert {variable["name"] for variable in container["env"]} <= known
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["resources"]["limits"]["memory"]
