#!/bin/sh
# Builds the core with AddressSanitizer and UBSan and runs the tests that drive it. Called by make sanitize.
set -eu
PYTHON=${PYTHON:-python3}
here=$(cd "$(dirname "$0")/../.." && pwd)
case $PYTHON in */*) PYTHON=$(cd "$(dirname "$PYTHON")" && pwd)/$(basename "$PYTHON") ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake -S "$here" -B "$work/build" -DNOLANA_SANITIZE=ON -DPython_EXECUTABLE="$PYTHON" >"$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$work/build" --parallel 2 >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cp -r "$here/src/nolana" "$work/nolana"
rm -f "$work"/nolana/_c*.so
cp "$work"/build/_c*.so "$work/nolana/"
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$work/build/CMakeCache.txt")
preload="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libubsan.so)"
cd "$here/tests"
# Each kind of code in the core once; with "endurance" every test that drives it.
tests="engine/test_stream_parts.py engine/test_sparse_rows.py engine/test_cells.py engine/test_neighbours.py
  engine/test_stack.py engine/test_robust_scaling.py learner/test_restore.py learner/test_threads.py
  sources/test_json.py sources/test_streams.py research/rivals/test_budget.py"
if [ "${1:-}" = endurance ]; then
  tests="engine learner/test_splitting.py learner/test_restore.py learner/test_threads.py
    estimators/test_bad_input.py estimators/test_odd_but_legal.py sources/test_streams.py sources/test_json.py
    research/rivals/test_budget.py research/rivals/test_fourier.py research/rivals/test_passive_aggressive.py research/rivals/test_projection.py
    research/rivals/test_weights.py modelfile/test_continue.py modelfile/test_fuzz.py"
fi
# shellcheck disable=SC2086
LD_PRELOAD="$preload" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc NOLANA_EFFORT=fast \
  OPENBLAS_NUM_THREADS=1 PYTHONPATH="$work" "$PYTHON" -m pytest -q --timeout 600 -p no:cacheprovider -c /dev/null \
  --rootdir "$here/tests" --import-mode=importlib -o pythonpath="$here/tests $here/tests/support" -o markers="soak: long" \
  -m "not soak" $tests
LD_PRELOAD="$preload" ASAN_OPTIONS=detect_leaks=0 PYTHONPATH="$work" "$PYTHON" - "$work" <<'PY'
import nolana.backend, pathlib, sys
core = nolana.backend.backend()
assert pathlib.Path(core.__file__).is_relative_to(sys.argv[1]), f"{core.__file__} is another build"
maps = pathlib.Path("/proc/self/maps").read_text()
assert "libasan" in maps, "the sanitizer is not loaded"
print("AddressSanitizer and UBSan found nothing in", pathlib.Path(core.__file__).name)
PY
