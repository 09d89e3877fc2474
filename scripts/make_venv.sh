#!/bin/sh
# Make the virtual environment, or bring it up to date:  make_venv.sh PYTHON VENV REQUIREMENTS
# Says in one line what is missing instead of failing half-way.
set -eu
python=$1 venv=$2 requirements=$3

fail() {
    echo "error: $1" >&2
    exit 1
}

if ! [ -x "$venv/bin/python" ] || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    command -v "$python" >/dev/null || fail "$python is not installed: apt-get install python3 python3-venv"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "Python 3.11 or newer is needed, and $python is $("$python" -V 2>&1); name another: make PYTHON=python3.12 ..."
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "Python's venv module is missing: apt-get install python3-venv"
    echo "Making the virtual environment $venv ..."
    # What is there is the rest of an interrupted or moved one.
    rm -rf "$venv"
    "$python" -m venv "$venv" || fail "the virtual environment $venv can't be made; see above"
fi

echo "Installing the packages of $requirements ..."
"$venv/bin/python" -m pip install --quiet --quiet --disable-pip-version-check --no-input --requirement "$requirements" ||
    fail "the packages of $requirements can't be installed; see above"
