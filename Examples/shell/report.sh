#!/bin/sh
# Reports from a shell script. Each issue's id is printed once it is on the disk.
set -eu

issuectl report --app nightly-backup --severity critical --metadata volume=\"srv\" "The backup failed"

# Several at once, as records in JSON.
issuectl report --json-lines <<'RECORDS'
{"message": "The disk is nearly full", "severity": "warning", "metadata": {"percent": 93}}
{"message": "A file was skipped", "severity": "info", "metadata": {"file": "/var/tmp/x"}}
RECORDS
