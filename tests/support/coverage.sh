#!/bin/sh
# Prints the line coverage of the Python code and of the C++ core. Called by make coverage.
set -eu
PYTHON=${PYTHON:-python3}
here=$(cd "$(dirname "$0")/../.." && pwd)
case $PYTHON in */*) PYTHON=$(cd "$(dirname "$PYTHON")" && pwd)/$(basename "$PYTHON") ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake -S "$here" -B "$work/build" -DNOLANA_COVERAGE=ON -DPython_EXECUTABLE="$PYTHON" >"$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$work/build" --parallel 2 >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
mkdir "$work/src"
cp -r "$here/src/nolana" "$work/src/nolana"
rm -f "$work"/src/nolana/_c*.so
cp "$work"/build/_c*.so "$work/src/nolana/"
cd "$here"
# PYTHONPATH comes before the editable install, so that the instrumented copy is measured.
PYTHONPATH="$work/src" "$PYTHON" - "$work" <<'PY'
import nolana.backend, sys
core = nolana.backend.backend()
assert core.__file__.startswith(sys.argv[1]), f"{core.__file__} is another build"
PY
failed=0
OPENBLAS_NUM_THREADS=1 PYTHONPATH="$work/src" COVERAGE_FILE="$work/coverage" "$PYTHON" -m pytest -n 2 -m "not soak" \
  --timeout 600 --cov --cov-report=term "$@" || failed=1
echo
echo "C++"
"$PYTHON" -m gcovr --root "$here" --filter core/ --object-directory "$work/build" --merge-lines "$work/build"
exit $failed
