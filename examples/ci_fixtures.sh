#!/bin/sh
# In a CI job: replay captured evidence, and fail when a diagnosis changes. Each folder holds a capture and its expected.yaml.
set -eu
for capture in "${1:?folder with captures}"/*/; do
  sparkdiag replay "$capture" --format line
done
