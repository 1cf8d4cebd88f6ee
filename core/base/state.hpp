// The state of an object, declared once as a list of fields: export, restore, checks and byte counts follow from it.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "base/symmetric.hpp"

namespace nolana {

// One side of an array: a fixed number, or a size that the state itself decides (landmarks, outputs, supports).
struct Side {
    enum class Scope { part, map, learner };  // whose size it is, if a learner has several parts

    Side(std::size_t n) : value(n), most(n) {}
    Side(std::string name, std::size_t value, std::size_t most = unlimited, Scope scope = Scope::part)
        : name(std::move(name)), value(value), most(most), scope(scope) {}
    static Side outputs(std::size_t n) { return {"outputs", n, most_outputs, Scope::learner}; }
    static constexpr std::size_t most_outputs = 1 << 24;
    // The numbers in the lower triangle of a square of this side.
    Side triangle() const {
        Side side = *this;
        side.packed = true;
        return side;
    }
    std::size_t length(std::size_t n) const { return packed ? n * (n + 1) / 2 : n; }

    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
    std::string name;  // empty: fixed
    std::size_t value, most;
    Scope scope = Scope::part;
    bool packed = false;
};

using Sizes = std::map<std::string, std::size_t>;

struct Field {
    std::string name;
    std::vector<Side> shape;                 // empty: one number
    std::function<void(double*)> get;        // writes the whole array
    std::function<void(const double*)> set;  // reads it
    // Lowest and highest legal value; integers only if `whole`. A bound may depend on a size of the state.
    double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
    std::string below = {};  // name of a size that every value must stay below
    bool whole = false;
    // An array of float32: these take the place of get and set.
    std::function<void(float*)> get_single = {};
    std::function<void(const float*)> set_single = {};
    bool table = false;  // large, and empty after `resize`: a state may be exported and restored without it
    bool unit = false;   // of the units of a learner: a state may be exported without them, and restored in those in use

    std::size_t count() const {
        std::size_t n = 1;
        for (const Side& side : shape) n *= side.length(side.value);
        return n;
    }
};

class Description {
  public:
    std::vector<Field> fields;
    std::size_t bytes = 0;  // of state and scratch

    void number(const std::string& name, double& value, double low) {
        Field field = scalar(name, value);
        field.low = low;
        add(std::move(field));
    }
    static constexpr double positive = 5e-324;  // the smallest number above 0
    // A number of rows or moves.
    void count(const std::string& name, double& value) {
        Field field = scalar(name, value);
        field.low = 0;
        field.high = 0x1p53;
        field.whole = true;
        add(std::move(field));
    }
    void vector(const std::string& name, Buffer& buffer, const Side& n) {
        bytes += buffer.bytes();
        add({name, {n}, [&buffer, n = n.value](double* to) { std::copy_n(buffer.data(), n, to); },
             [&buffer, n = n.value](const double* from) { std::copy_n(from, n, buffer.data()); }});
    }
    // Rows `stride` apart.
    void matrix(const std::string& name, Buffer& buffer, const Side& rows, const Side& columns, std::size_t stride) {
        bytes += buffer.bytes();
        const std::size_t r = rows.value, c = columns.value;
        add({name, {rows, columns},
             [&buffer, r, c, stride](double* to) {
                 for (std::size_t i = 0; i < r; ++i) std::copy_n(buffer.data() + i * stride, c, to + i * c);
             },
             [&buffer, r, c, stride](const double* from) {
                 for (std::size_t i = 0; i < r; ++i) std::copy_n(from + i * c, c, buffer.data() + i * stride);
             }});
    }
    // The lower triangle, row by row; row i of the field is row place(i) of the matrix.
    template <class Place> void symmetric(const std::string& name, Symmetric& m, const Side& n, Place place) {
        bytes += m.bytes();
        add({name, {n.triangle()},
             [&m, n = n.value, place](double* to) {
                 for (std::size_t i = 0; i < n; ++i)
                     for (std::size_t j = 0; j <= i; ++j) *to++ = m(place(i), place(j));
             },
             [&m, n = n.value, place](const double* from) {
                 for (std::size_t i = 0; i < n; ++i)
                     for (std::size_t j = 0; j <= i; ++j) m.set(place(i), place(j), *from++);
             }});
    }
    void add(Field field) {
        field.name = own_ + field.name;
        for (Side& side : field.shape)
            if (!side.name.empty() && side.scope != Side::Scope::learner)
                side.name = (side.scope == Side::Scope::map ? map_ : own_) + side.name;
        fields.push_back(std::move(field));
    }
    template <class... Buffers> void scratch(const Buffers&... buffers) { bytes += (buffers.bytes() + ... + 0); }

    // The fields of one of several parts begin with `own`; sizes that belong to its map begin with `map`.
    void begin_part(const std::string& map, const std::string& own) {
        map_ = map;
        own_ = own;
    }
    void begin_part(const std::string& own) { begin_part(own, own); }

  private:
    static Field scalar(const std::string& name, double& value) {
        return {name, {}, [&value](double* to) { *to = value; }, [&value](const double* from) { value = *from; }};
    }
    std::string map_, own_;
};

// Something with a state.
class Stateful {
  public:
    virtual ~Stateful() = default;
    virtual void describe(Description& d) = 0;
    // Clear, with room for a state of these sizes; the fields are asked for again afterwards.
    virtual void resize(const Sizes& sizes) = 0;
};

// A named array that a state is restored from.
struct Array {
    std::vector<std::size_t> shape;
    const double* data;
    const float* single = nullptr;  // if it is an array of float32
};
// Throws if there is no such array.
using Source = std::function<Array(const std::string&)>;

inline std::string shape_text(const std::vector<std::size_t>& shape) {
    std::string out;
    for (const std::size_t n : shape) out += (out.empty() ? "" : ", ") + std::to_string(n);
    return "(" + out + (shape.size() == 1 ? ",)" : ")");
}

// Checks one field and notes the sizes that it decides.
inline void check(const Field& field, const Array& array, Sizes& sizes) {
    const auto refuse = [&](const std::string& why) { throw std::invalid_argument("state: " + field.name + " " + why); };
    if (static_cast<bool>(field.set_single) != static_cast<bool>(array.single))
        refuse(field.set_single ? "is not an array of float32" : "is not an array of float64");
    const std::size_t sides = field.shape.size();
    if (array.shape.size() != sides)
        refuse("has " + std::to_string(array.shape.size()) + " dimensions, expected " + std::to_string(sides));
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < sides; ++i) {
        const Side& side = field.shape[i];
        std::size_t n = side.value;
        if (!side.name.empty()) {
            if (!side.packed && !sizes.contains(side.name)) {
                if (array.shape[i] > side.most)
                    refuse("has " + std::to_string(array.shape[i]) + " " + side.name + ", but there is room for " +
                           std::to_string(side.most));
                sizes[side.name] = array.shape[i];
            }
            n = sizes.at(side.name);
        }
        expected.push_back(side.length(n));
    }
    if (array.shape != expected) refuse("has shape " + shape_text(array.shape) + ", expected " + shape_text(expected));
    const double high = field.below.empty() ? field.high : static_cast<double>(sizes.at(field.below)) - 1;
    std::size_t count = 1;
    for (const std::size_t n : array.shape) count *= n;
    const auto suspicious = [&](const auto* data) {  // states are large: without a branch for each number
        int outside = field.whole;
        for (std::size_t i = 0; i < count; ++i) {
            const auto value = static_cast<double>(data[i]);
            outside |= !(value >= field.low) | !(value <= high);
        }
        return outside != 0;
    };
    if (!(array.single ? suspicious(array.single) : suspicious(array.data))) return;
    for (std::size_t i = 0; i < count; ++i) {
        const double value = array.single ? static_cast<double>(array.single[i]) : array.data[i];
        if (value >= field.low && value <= high && (!field.whole || value == std::floor(value))) continue;
        if (std::isnan(value) && !field.whole && std::isinf(field.low) && std::isinf(high)) continue;  // a diverged model can be copied
        refuse("holds " + std::to_string(value) + ", which is " +
               (field.whole ? "not an integer in its range" : "out of range"));
    }
}

inline void set(const Field& field, const Array& array) {
    if (array.single)
        field.set_single(array.single);
    else
        field.set(array.data);
}

// Takes the fields of these names; the others stay, and every size stays what it is.
inline void restore_part(Stateful& self, const std::set<std::string>& names, const Source& source) {
    Description description;
    self.describe(description);
    Sizes sizes;
    for (const Field& field : description.fields)
        for (const Side& side : field.shape)
            if (!side.name.empty()) sizes[side.name] = side.value;
    std::size_t known = 0;
    for (const Field& field : description.fields)
        if (names.contains(field.name)) check(field, source(field.name), sizes), ++known;
    if (known < names.size()) throw std::invalid_argument("state: a field that this object does not have");
    for (const Field& field : description.fields)
        if (names.contains(field.name)) set(field, source(field.name));
}

// Fields of a state that are exported or restored: all, or all but tables, units or both.
struct StateExtent {
    bool tables = true, units = true;
    bool includes(const Field& field) const { return (tables || !field.table) && (units || !field.unit); }
};

// Everything is checked before anything changes. Sizes are decided by the first field that has them as a plain side.
// Without tables those are not read, and empty afterwards; without units those stay what they are.
inline void restore(Stateful& self, const Source& source, const StateExtent& extent) {
    Description before;
    self.describe(before);
    Sizes sizes;
    for (const bool plain : {true, false})
        for (const Field& field : before.fields) {
            bool packed = false;
            for (const Side& side : field.shape) packed |= side.packed;
            if (packed != plain && extent.includes(field)) check(field, source(field.name), sizes);
        }
    self.resize(sizes);
    Description after;
    self.describe(after);
    for (const Field& field : after.fields)
        if (extent.includes(field)) set(field, source(field.name));
}

}  // namespace nolana
