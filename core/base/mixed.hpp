// Pseudorandom integers from integers (the finalizer of MurmurHash3).
#pragma once

#include <cstdint>

namespace nolana {

inline std::uint32_t mixed(std::uint32_t key) {
    key = (key ^ (key >> 16)) * 0x85EBCA6Bu;
    key = (key ^ (key >> 13)) * 0xC2B2AE35u;
    return key ^ (key >> 16);
}

}  // namespace nolana
