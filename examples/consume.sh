#!/usr/bin/env bash
# Print the headline of each new event: `consume.sh broker:9092`. Needs kcat and jq.
set -euo pipefail
kcat -C -q -u -b "$1" -t "${2:-newsburst.events}" -o beginning -X isolation.level=read_committed |
    jq --unbuffered -r 'select(.state == "started") | .headline'
