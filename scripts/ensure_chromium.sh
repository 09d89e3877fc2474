#!/bin/sh
# The browser tests need Chromium. Root gets it from the distribution; anyone else is told the command, before any test.
set -eu
packages="chromium fonts-dejavu-core fonts-noto-cjk"

for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "error: The browser tests need Chromium: sudo apt-get install $packages" >&2
    exit 1
fi

echo "Installing Chromium for the browser tests ..."
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086 # the list is meant to be split
apt-get install -y -qq --no-install-recommends $packages >/dev/null
