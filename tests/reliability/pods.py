"""Run the containers of deploy/kubernetes/newsburst.yaml by Docker, as a kubelet would: settings, users, mounts, limits, probes.

    python -m tests.reliability.pods NETWORK IMAGE POSTGRES_URI

They run beside the services of docker-compose.yml, with topics and a database of their own. Kafka there has neither TLS nor
logins, so these settings of the ConfigMap are left out, and all users of Postgres are POSTGRES_URI. What only a cluster does
is not tried: Services, the NetworkPolicy, the PodDisruptionBudget, rolling updates.
"""

import subprocess
import sys
import time
from pathlib import Path

import yaml

MANIFESTS = Path(__file__).parents[2] / "deploy" / "kubernetes" / "newsburst.yaml"
HERE = {"NEWSBURST_KAFKA": "kafka:29092", "NEWSBURST_TOPIC_PREFIX": "pods", "NEWSBURST_REPLICATION": "1"}
"""Settings of the ConfigMap that are others here."""
SECURED = ("NEWSBURST_KAFKA_SECURITY", "NEWSBURST_KAFKA_USER", "NEWSBURST_KAFKA_PASSWORD_FILE", "NEWSBURST_KAFKA_CA")
READY_S, SETTLED_S = 180, 5
"""Seconds in which a container must be ready, and for which one without a probe must run."""
ANSWERS = "import urllib.request as u; u.urlopen('http://127.0.0.1:{port}{path}', timeout=9)"
CONNECTS = "import socket; socket.create_connection(('127.0.0.1', {port}), 9)"


def docker(*arguments, check=True):
    """What a command of Docker prints."""
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.strip()


def start(container, pod, network, image, values):
    """Start a container of a pod as the manifests say; returns its name."""
    name = f"pods-{container['name']}"
    user, confined = pod["securityContext"], container["securityContext"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    options = ["--name", name, "--network", network, "--user", f"{user['runAsUser']}:{user['runAsGroup']}"]
    options += ["--read-only"] * confined["readOnlyRootFilesystem"]
    options += ["--security-opt", "no-new-privileges"] * (not confined["allowPrivilegeEscalation"])
    options += [f"--cap-drop={capability}" for capability in confined["capabilities"]["drop"]]
    options += ["--memory", container["resources"]["limits"]["memory"].replace("i", "").lower()]
    for mount in container["volumeMounts"]:
        size = volumes[mount["name"]].get("emptyDir", {}).get("sizeLimit", "1Mi").replace("Mi", "m")
        options += ["--tmpfs", f"{mount['mountPath']}:size={size},mode=1777"]
    for setting, value in values.items():
        options += ["--env", f"{setting}={value}"]
    docker("run", "--detach", *options, image, *container["args"])
    return name


def ended_well(name, log):
    """Whether a container has ended with 0; its output goes to the log."""
    code = docker("wait", name)
    log.append(docker("logs", name, check=False))
    return code == "0"


def probe(name, container, kind):
    """Wait until a probe of a container succeeds, or for a while where it has none."""
    wanted = container.get(kind)
    if wanted is None:
        time.sleep(SETTLED_S)
        assert docker("inspect", "--format", "{{.State.Running}}", name) == "true", docker("logs", name, check=False)
        return
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    how, target = (ANSWERS, wanted["httpGet"]) if "httpGet" in wanted else (CONNECTS, wanted["tcpSocket"])
    script = how.format(port=ports[target["port"]], path=target.get("path"))
    deadline = time.monotonic() + READY_S
    while subprocess.run(["docker", "exec", name, "python", "-c", script], capture_output=True, check=False).returncode:
        assert time.monotonic() < deadline, f"{name}: {kind} never succeeds."
        time.sleep(1)


def main(network, image, postgres):
    """Run them all, in the order of the manifests."""
    parts = [part for part in yaml.safe_load_all(MANIFESTS.read_text(encoding="utf-8")) if part]
    (config,) = (part["data"] for part in parts if part["kind"] == "ConfigMap")
    shared = {name: value for name, value in config.items() if name not in SECURED} | HERE
    running, log = [], []

    def values(container):
        own = {setting["name"]: setting.get("value", postgres) for setting in container["env"]}
        return shared | own

    try:
        for part in parts:
            pod = part.get("spec", {}).get("template", {}).get("spec")
            if pod is None:
                continue
            containers = [*pod.get("initContainers", []), *pod["containers"]]
            for container in containers:
                name = start(container, pod, network, image, values(container))
                running.append(name)
                if part["kind"] == "Job":
                    assert ended_well(name, log), log[-1]
                    continue
                for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
                    probe(name, container, kind)
        for name in running:
            docker("stop", "--time", "30", name)
        assert all(ended_well(name, log) for name in running), log
    finally:
        for name in running:
            docker("rm", "--force", name, check=False)
    print(f"{', '.join(running)}: ready, and ended with 0")  # noqa: T201 - what it is run for


if __name__ == "__main__":
    main(*sys.argv[1:])
