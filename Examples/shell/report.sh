#!/bin/sh
# Reports from a shell script. Prints the id of each record once it is on disk.
set -eu

issuectl report --app nightly-backup --severity critical --metadata volume=\"srv\" "The backup failed"

# Several records at once, as JSON.
issuectl report --json-lines <<'RECORDS'
{"message": "The disk is nearly full", "severity": "warning", "metadata": {"percent": 93}}
{"message": "A file was skipped", "severity": "info", "metadata": {"file": "/var/tmp/x"}}
RECORDS
