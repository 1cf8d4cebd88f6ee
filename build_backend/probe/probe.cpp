#include <Python.h>

#include <bit>
#include <numbers>

int main() { return std::bit_cast<unsigned long long>(std::numbers::log2e) == PY_VERSION_HEX; }
