#!/bin/sh
# Builds the core with AddressSanitizer and UBSan and runs the tests that drive it. Called by make sanitize.
set -eu
PYTHON=${PYTHON:-python3}
here=$(cd "$(dirname "$0")/.." && pwd)
case $PYTHON in */*) PYTHON=$(cd "$(dirname "$PYTHON")" && pwd)/$(basename "$PYTHON") ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake -S "$here" -B "$work/build" -DNOLANA_SANITIZE=ON -DPython_EXECUTABLE="$PYTHON" >"$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$work/build" --parallel 2 >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cp -r "$here/src/nolana" "$work/nolana"
rm -f "$work"/nolana/_core*.so
cp "$work"/build/_core*.so "$work/nolana/"
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$work/build/CMakeCache.txt")
preload="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libubsan.so)"
cd "$here/tests"
LD_PRELOAD="$preload" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
  OPENBLAS_NUM_THREADS=1 PYTHONPATH="$work" "$PYTHON" -m pytest -q -p no:cacheprovider -c /dev/null --rootdir "$here/tests" \
  test_core_against_reference.py test_moves.py test_newton.py test_splitting.py test_bad_input.py test_odd_but_legal.py test_threads.py test_streams.py test_streams_json.py \
  test_rivals_budget.py test_rivals_fourier.py test_rivals_passive_aggressive.py test_rivals_projection.py test_rivals_weights.py \
  test_restore.py test_modelfile_continue.py test_modelfile_fuzz.py --deselect test_modelfile_fuzz.py::test_much_damage_and_malice
LD_PRELOAD="$preload" ASAN_OPTIONS=detect_leaks=0 PYTHONPATH="$work" "$PYTHON" - <<'PY'
import nolana._core as core, nolana, pathlib
maps = pathlib.Path("/proc/self/maps").read_text()
assert "libasan" in maps, "the sanitizer is not loaded"
print("AddressSanitizer and UBSan found nothing in", pathlib.Path(core.__file__).name, "and", nolana.build_name())
PY
