#!/bin/bash
# Fetches NVIDIA's CUPTI of other versions than the toolkit's, libraries and headers, for the tests that compare with them. They are
# NVIDIA's, come from the Python package index (10 to 15 MB each), and stay out of the project.
#
#   tests/fetch_cupti.sh [VERSION...]     e.g. 11.8 12.9; default: all below
#
# They lie in $TP_CUPTI_VERSIONS (default: ~/.cache/tensorprof/cupti), a folder for each version; what is there is not fetched again.
# Exits with 0 when all are there.
set -uo pipefail

folder=${TP_CUPTI_VERSIONS:-$HOME/.cache/tensorprof/cupti}
declare -A package=(
  [11.7]=nvidia-cuda-cupti-cu11==11.7.101 [11.8]=nvidia-cuda-cupti-cu11==11.8.87
  [12.0]=nvidia-cuda-cupti-cu12==12.0.146 [12.1]=nvidia-cuda-cupti-cu12==12.1.105 [12.2]=nvidia-cuda-cupti-cu12==12.2.142
  [12.3]=nvidia-cuda-cupti-cu12==12.3.101 [12.4]=nvidia-cuda-cupti-cu12==12.4.127 [12.5]=nvidia-cuda-cupti-cu12==12.5.82
  [12.6]=nvidia-cuda-cupti-cu12==12.6.80 [12.8]=nvidia-cuda-cupti-cu12==12.8.90 [12.9]=nvidia-cuda-cupti-cu12==12.9.79
  [13.0]=nvidia-cuda-cupti==13.0.85 [13.1]=nvidia-cuda-cupti==13.1.115 [13.2]=nvidia-cuda-cupti==13.2.86
  [13.3]=nvidia-cuda-cupti==13.3.75 [13.4]=nvidia-cuda-cupti==13.4.92 [13.5]=nvidia-cuda-cupti==13.5.25
)
versions=("$@")
if [ ${#versions[@]} -eq 0 ]; then
  mapfile -t versions < <(printf '%s\n' "${!package[@]}" | sort -V)
fi

mkdir -p "$folder"
partial=$(mktemp -d "$folder/.partial-XXXXXX")
trap 'rm -rf "$partial"' EXIT
missing=0
for version in "${versions[@]}"; do
  [ -d "$folder/$version" ] && continue
  if [ -z "${package[$version]:-}" ]; then
    echo "$version: no such version here; there are ${!package[*]}" >&2
    missing=1
    continue
  fi
  rm -rf "$partial"/*
  if python3 -m pip download --quiet --no-deps --only-binary=:all: --timeout 10 --retries 1 --dest "$partial" "${package[$version]}" &&
    python3 -m zipfile -e "$partial"/*.whl "$partial/$version"; then
    mv "$partial/$version" "$folder/$version"
    echo "$version: fetched"
  else
    echo "$version: cannot be fetched (${package[$version]})" >&2
    missing=1
  fi
done
exit $missing
