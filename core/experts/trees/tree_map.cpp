// Complete binary trees over 8-bit codes of the row, grown one at a time by the gain of gradients.
//     i <- 2i + 1 + (code[f_i] > t_i), == t_i of a category;   gain = G_L^2/(H_L + l) + G_R^2/(H_R + l) - G^2/(H + l)
// Codes are z without the metric in steps of 1/40, or belong to the value of a category. Gradients are integers: sums are
// exact, and the same splits are found as in NumPy, whatever the order of the rows.
#include "experts/trees/tree_map.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/draw.hpp"
#include "base/vec.hpp"
#include "bind/bind.hpp"
#include "experts/effects/keys.hpp"

namespace nolana {

TreeMap::TreeMap(std::size_t features, std::size_t trees, std::size_t depth, std::size_t rows, std::uint64_t seed, bool refits,
                 std::vector<std::size_t> categories, bool trials)
    : Map(features), trees_(trees), places_(trees + (trials && trees > 0)), depth_(depth), nodes_((std::size_t{1} << std::min<std::size_t>(depth, 10)) - 1),
      leaves_(nodes_ + 1), capacity_(rows), seed_(seed), refits_(refits), categories_(std::move(categories)) {
    expect(features <= most_features || trees == 0, "a tree map takes at most 256 features");
    expect(depth >= 1 && depth <= 10, "the depth of trees is 1 to 10");
    expect(rows >= 1 && rows <= 0xFFFF, "a tree map stores 1 to 65,535 rows");
    expect(trees < most_rows / leaves_, "there are too many trees");
    split_features_ = BufferOf<std::uint8_t>(places_ * nodes_);
    thresholds_ = BufferOf<std::int8_t>(places_ * nodes_);
    codes_ = BufferOf<std::int8_t>(rows * features);
    group_codes_ = BufferOf<std::int8_t>(group * features);
    metric_ = Buffer(features);
    factors_ = Buffer(features);
    gradients_ = BufferOf<Gradient>(trees > 0 ? rows : 0);
    order_ = BufferOf<std::uint16_t>(trees > 0 ? rows : 0);
    found_ = BufferOf<std::uint32_t>(group * trees);
    features_order_.resize(features);
    learned_codes_ = BufferOf<std::uint8_t>(categories_.size() * category_codes);
    new_ = BufferOf<std::uint8_t>(categories_.empty() ? 0 : (group + 1) * features);
    for (const std::size_t j : categories_) new_[group * features + j] = 1;
    resize({}, "");
}

void TreeMap::evaluate(const double* x, std::size_t rows) {
    const std::size_t d = features();
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t j = 0; j < d; ++j) {
            const double v = std::nearbyint(x[r * d + j] * factors_[j]);
            group_codes_[r * d + j] = static_cast<std::int8_t>(std::min(largest_number, std::max(-largest_number, v)));
        }
        known_[r] = false;
        if (!raw_) continue;
        const double* raw = raw_ + r * d;
        std::int8_t* codes = group_codes_.data() + r * d;
        for (std::size_t j = 0; j < d; ++j)
            if (std::isnan(raw[j])) codes[j] = missing;
        any_new_[r] = false;
        for (std::size_t k = 0; k < categories_.size(); ++k) {
            const std::size_t j = categories_[k], code = below(column_hash(j, raw[j]), category_codes);
            codes[j] = static_cast<std::int8_t>(static_cast<int>(code) - 127);
            new_[r * d + j] = !learned_codes_[k * category_codes + code];
            any_new_[r] |= new_[r * d + j] != 0;
        }
    }
}

template <bool has_categories> std::size_t TreeMap::find_in(std::size_t q, const std::int8_t* code, std::size_t step) const {
    std::size_t i = 0;
    for (std::size_t level = 0; level < depth_; ++level) i = 2 * i + 1 + goes_right<has_categories>(q * nodes_ + i, code, step);
    return i - nodes_;
}

std::size_t TreeMap::leaf_in(std::size_t q, std::size_t place) const {
    const std::int8_t* code = codes_.data() + place;
    return categories_.empty() ? find_in<false>(q, code, capacity_) : find_in<true>(q, code, capacity_);
}

// The leaves in trees that split the row by no new value.
std::size_t TreeMap::known_leaves(std::size_t r, std::uint32_t* found) const {
    const std::int8_t* code = group_codes_.data() + r * features();
    const std::uint8_t* is_new = new_.data() + r * features();
    std::size_t count = 0;
    for (std::size_t q = 0; q < grown_; ++q) {
        const std::uint8_t* feature = split_features_.data() + q * nodes_;
        const std::int8_t* threshold = thresholds_.data() + q * nodes_;
        std::size_t i = 0;
        while (i < nodes_ && !(is_new[feature[i]] && threshold[i] < largest)) i = 2 * i + 1 + goes_right<true>(q * nodes_ + i, code);
        if (i >= nodes_) found[count++] = static_cast<std::uint32_t>(q * leaves_ + i - nodes_);
    }
    return count;
}

// Eight trees at a time: each step of one of them waits for the one before.
template <bool has_categories> void TreeMap::find_all(const std::int8_t* code, std::uint32_t* found) const {
    std::size_t q = 0;
    for (; q + together <= grown_; q += together) {
        std::uint32_t at[together] = {};
        for (std::size_t level = 0; level < depth_; ++level)
            for (std::size_t k = 0; k < together; ++k)
                at[k] = 2 * at[k] + 1 + goes_right<has_categories>((q + k) * nodes_ + at[k], code);
        for (std::size_t k = 0; k < together; ++k)
            found[q + k] = static_cast<std::uint32_t>((q + k) * leaves_ - nodes_) + at[k];
    }
    for (; q < grown_; ++q) found[q] = static_cast<std::uint32_t>(q * leaves_ + find_in<has_categories>(q, code));
}

const std::uint32_t* TreeMap::leaves_of_row(std::size_t r) const {
    std::uint32_t* found = found_.data() + r * trees_;
    if (known_[r]) return found;
    known_[r] = true;
    counts_[r] = any_new_[r] ? known_leaves(r, found) : grown_;
    if (any_new_[r]) return found;
    const std::int8_t* code = group_codes_.data() + r * features();
    if (categories_.empty()) find_all<false>(code, found);
    else find_all<true>(code, found);
    return found;
}

void TreeMap::after(std::size_t r, double rows) {
    const auto step = static_cast<std::uint64_t>(rows);
    for (std::size_t k = 0; k < categories_.size(); ++k)
        learned_codes_[k * category_codes + static_cast<std::size_t>(group_codes_[r * features() + categories_[k]] + 127)] = 1;
    if (keeps_) {
        for (std::size_t j = 0; j < features(); ++j) codes_[j * capacity_ + next_] = group_codes_[r * features() + j];
        next_ = next_ + 1 == capacity_ ? 0 : next_ + 1;
        stored_ = std::min(stored_ + 1, capacity_);
        kept_ += 1;
        fresh_ += 1;
    }
    if (!refits_ || trees_ == 0) return;
    if (const std::size_t first = std::min(trees_, started(step)); first > 0) {
        grown_ = oldest_ = stale_ = 0;
        on_trial_ = false;
        for (TreeListener* head : heads_) head->restart();
        for (std::size_t i = 0; i < first; ++i) refit(step);
    } else if (step > last_start && step % pace() == 0) {
        refit(step);
    }
}

// Of the stored rows in tree q, eight rows at a time: each step of one of them waits for the one before.
template <bool has_categories> void TreeMap::find_leaves(std::size_t q) {
    const std::int8_t* code = codes_.data();
    std::size_t i = 0;
    for (; i + together <= stored_; i += together) {
        std::uint32_t at[together] = {};
        for (std::size_t level = 0; level < depth_; ++level)
            for (std::size_t k = 0; k < together; ++k)
                at[k] = 2 * at[k] + 1 + goes_right<has_categories>(q * nodes_ + at[k], code + i + k, capacity_);
        for (std::size_t k = 0; k < together; ++k) order_[i + k] = static_cast<std::uint16_t>(at[k] - nodes_);
    }
    for (; i < stored_; ++i) order_[i] = static_cast<std::uint16_t>(find_in<has_categories>(q, code + i, capacity_));
}

// The tree on trial stays, or that before it comes back.
void TreeMap::judge() {
    const std::size_t q = (oldest_ + trees_ - 1) % trees_;
    if (!scored_->was_better(trees_, q, static_cast<std::size_t>(std::min(fresh_, static_cast<double>(stored_))))) return;
    look_up(q);
    scored_->add(q, -1);
    copy(trees_, q);
    look_up(q);
    scored_->add(q, 1);
}

// Splits of a tree, and its leaves in all heads, in the place of another.
void TreeMap::copy(std::size_t q, std::size_t to) {
    std::copy_n(split_features_.data() + q * nodes_, nodes_, split_features_.data() + to * nodes_);
    std::copy_n(thresholds_.data() + q * nodes_, nodes_, thresholds_.data() + to * nodes_);
    for (TreeListener* head : heads_) head->copy_tree(q, to);
}

void TreeMap::refit(std::uint64_t step) {
    if (on_trial_) judge();
    const std::size_t q = grown_ < trees_ ? grown_ : oldest_;
    const std::uint64_t word = draw(seed_, step * trees_ + q);
    on_trial_ = places_ > trees_ && grown_ == trees_ && stale_ == 0;
    if (on_trial_) {
        fresh_ = 0;
        copy(q, trees_);
    }
    look_up(q);
    scored_->add(q, -1);
    grow(q, scored_->gradients(word, gradients_.data()), word);
    look_up(q);
    if (grown_ < trees_) {
        ++grown_;
    } else {
        oldest_ = (q + 1) % trees_;
        if (stale_ > 0) --stale_;
    }
    for (TreeListener* head : heads_) head->start_tree(q);
    std::fill_n(known_, group, false);
}

void TreeMap::grow(std::size_t q, double ridge, std::uint64_t word) {
    std::uint8_t* features_of = split_features_.data() + q * nodes_;
    std::int8_t* thresholds = thresholds_.data() + q * nodes_;
    std::fill_n(features_of, nodes_, std::uint8_t{0});
    std::fill_n(thresholds, nodes_, static_cast<std::int8_t>(largest));
    std::iota(order_.data(), order_.data() + stored_, std::uint16_t{0});
    struct Branch {
        std::size_t node, begin, end;
    };
    Branch open[12];  // at most one for each level, and one more
    std::size_t count = 0;
    open[count++] = {0, 0, stored_};
    while (count > 0) {
        const auto [node, begin, end] = open[--count];
        std::size_t feature = 0;
        int threshold = 0;
        if (node >= nodes_ || !split(node, order_.data() + begin, end - begin, ridge, word, feature, threshold)) continue;
        features_of[node] = static_cast<std::uint8_t>(feature);
        thresholds[node] = static_cast<std::int8_t>(threshold);
        const bool category = is_category(feature);
        std::uint16_t* const middle = std::partition(order_.data() + begin, order_.data() + end, [&](std::uint16_t row) {
            const int code = codes_[feature * capacity_ + row];
            return category ? code != threshold : code <= threshold;
        });
        const auto cut = static_cast<std::size_t>(middle - order_.data());
        open[count++] = {2 * node + 1, begin, cut};
        open[count++] = {2 * node + 2, cut, end};
    }
}

// The bin of each code, as a byte, if 1, 2 or 4 codes share one: a load is faster than a shift.
constexpr auto bins_of_codes = [] {
    std::array<std::array<std::uint8_t, 256>, 3> bins{};
    for (std::size_t shift = 0; shift < bins.size(); ++shift)
        for (int code = -127; code <= 127; ++code) bins[shift][static_cast<std::uint8_t>(code)] = static_cast<std::uint8_t>((code + 127) >> shift);
    return bins;
}();

// The best split of n rows: strictly better than those before it in the order of features and bins. A category is one value
// against all others. Four features at a time: the code of a row is read once, a bin is changed by one instruction, and four
// splits are compared with the best so far in single precision, without a division:
//     G_L^2 (H_R + l) + G_R^2 (H_L + l) <= (1 - slack) (best + before) (H_L + l) (H_R + l)
// is no better. The few others are computed as they are in NumPy.
bool TreeMap::split(std::size_t node, const std::uint16_t* rows, std::size_t n, double ridge, std::uint64_t word,
                    std::size_t& feature, int& threshold) {
    if (n < 2 * least_rows) return false;
    Integers bins[lanes][256 + 4];  // G, H, rows; one is unused. Padded: equal bins of two features do not alias at 4 KB
    const std::size_t d = features(), of_numbers = n >= fine ? 0 : n >= coarse ? 1 : 2;
    std::int64_t sum_g = 0, sum_h = 0;
    for (std::size_t i = 0; i < n; ++i) {
        sum_g += gradients_[rows[i]].g;
        sum_h += gradients_[rows[i]].h;
    }
    const double total_g = static_cast<double>(sum_g) / gradient_steps, total_h = static_cast<double>(sum_h) / gradient_steps;
    const double before = total_g * total_g / (total_h + ridge), widest = (total_h + ridge) * (total_h + ridge);
    const Integers all_g = Integers::all(static_cast<int>(sum_g)), all_h = Integers::all(static_cast<int>(sum_h));
    const Integers one_row = Integers::of(0, 0, 1, 0);
    const Floats l = Floats::all(static_cast<float>(ridge * gradient_steps));
    // What the right side of the comparison begins with; minus infinity, which rejects nothing, beyond single precision.
    const auto bound = [&](double top) {
        const double least = (top + before) * gradient_steps;
        const bool fits = least * widest * gradient_steps * gradient_steps < largest_single;
        return fits ? static_cast<float>(least * (1 - slack)) : -std::numeric_limits<float>::infinity();
    };
    std::uint16_t* order = features_order_.data();
    std::iota(order, order + d, std::uint16_t{0});
    if (d > candidates)
        for (std::size_t j = 0; j < candidates; ++j) std::swap(order[j], order[j + below(draw(word, node * candidates + j), d - j)]);
    const std::size_t tried = std::min(d, candidates);
    const auto most = static_cast<std::int32_t>(n - least_rows);
    double best = least_gain;
    bool found = false;
    for (std::size_t first = 0; first < tried; first += lanes) {
        std::size_t own[lanes], shift[lanes], used = 0;
        const std::int8_t* code[lanes];
        const std::uint8_t* bin_of[lanes];
        int kept[lanes];  // 0: a split of a category takes the rows of its bin alone
        for (std::size_t k = 0; k < lanes; ++k) {
            own[k] = order[std::min(first + k, tried - 1)];
            kept[k] = is_category(own[k]) ? 0 : -1;
            shift[k] = is_category(own[k]) ? 0 : of_numbers;
            code[k] = codes_.data() + own[k] * capacity_;
            bin_of[k] = bins_of_codes[shift[k]].data();
            used = std::max(used, (std::size_t{255} >> shift[k]) + 1);
        }
        for (auto& of_feature : bins) std::fill_n(of_feature, used, Integers::all(0));
        const auto add_rows = [&](auto bin) {
            for (std::size_t i = 0; i < n; ++i) {
                const std::size_t at = rows[i];
                const Integers row = Integers::of(std::bit_cast<std::array<std::int16_t, 2>>(gradients_[at])) + one_row;
                for (std::size_t k = 0; k < lanes; ++k) {
                    Integers& sums = bins[k][bin(k, code[k][at])];
                    sums = sums + row;
                }
            }
        };
        if (of_numbers == 0)
            add_rows([](std::size_t, std::int8_t own_code) { return static_cast<std::size_t>(own_code + 127); });
        else
            add_rows([&](std::size_t k, std::int8_t own_code) { return std::size_t{bin_of[k][static_cast<std::uint8_t>(own_code)]}; });
        double top[lanes];  // of each feature, in the first bin that has it
        float bounds[lanes];
        std::size_t at[lanes] = {};
        std::fill_n(top, lanes, best);
        std::fill_n(bounds, lanes, bound(best));
        const Integers keeps = Integers::of(kept[0], kept[1], kept[2], kept[3]);
        Integers left_g = Integers::all(0), left_h = left_g, left = left_g;
        for (std::size_t b = 0; b < used; ++b) {
            Integers g = bins[0][b], h = bins[1][b], count = bins[2][b], unused = bins[3][b];
            transpose(g, h, count, unused);  // from features to their sums
            if (all_zero(count)) continue;
            left_g = (left_g & keeps) + g;
            left_h = (left_h & keeps) + h;
            left = (left & keeps) + count;
            const Floats gl = Floats::from(left_g), gr = Floats::from(all_g - left_g);
            const Floats hl = Floats::from(left_h) + l, hr = Floats::from(all_h - left_h) + l;
            unsigned better = not_at_most(gl * gl * hr + gr * gr * hl, Floats::load(bounds) * hl * hr);
            if (!better) continue;
            std::int32_t g_left[lanes], h_left[lanes], rows_left[lanes];
            left_g.store(g_left);
            left_h.store(h_left);
            left.store(rows_left);
            for (; better; better &= better - 1) {
                const auto k = static_cast<std::size_t>(std::countr_zero(better));
                if (rows_left[k] < static_cast<std::int32_t>(least_rows) || rows_left[k] > most) continue;
                const double own_g = g_left[k] / gradient_steps, own_h = h_left[k] / gradient_steps;
                const double other_g = total_g - own_g, other_h = total_h - own_h;
                const double gain = own_g * own_g / (own_h + ridge) + other_g * other_g / (other_h + ridge) - before;
                if (!(gain > top[k])) continue;
                top[k] = gain;
                at[k] = b;
                bounds[k] = bound(gain);
            }
        }
        for (std::size_t k = 0; k < std::min(lanes, tried - first); ++k) {
            if (!(top[k] > best)) continue;
            std::size_t above = at[k] + 1;
            while (kept[k] != 0 && bins[k][above].third() == 0) ++above;
            best = top[k];
            found = true;
            feature = own[k];
            threshold = static_cast<int>(kept[k] != 0 ? (((at[k] + 1) << shift[k]) - 1 + (above << shift[k]) - 1) / 2 : at[k]) - 127;
        }
    }
    return found;
}

void TreeMap::describe(Description& d) {
    const std::size_t n = places_ * nodes_, width = features(), rows = stored_;
    const auto whole = [&](const char* name, std::vector<Side> shape, double low, double high, std::function<void(float*)> get,
                           std::function<void(const float*)> set) {
        Field field{name, std::move(shape), {}, {}, low, high, {}, true};
        field.get_single = std::move(get);
        field.set_single = std::move(set);
        d.add(std::move(field));
    };
    whole("split_features", {places_, nodes_}, 0, static_cast<double>(width) - 1,
          [this, n](float* to) { std::copy_n(split_features_.data(), n, to); },
          [this, n](const float* from) {
              for (std::size_t i = 0; i < n; ++i) split_features_[i] = static_cast<std::uint8_t>(from[i]);
          });
    whole("thresholds", {places_, nodes_}, -largest, largest,
          [this, n](float* to) { std::copy_n(thresholds_.data(), n, to); },
          [this, n](const float* from) {
              for (std::size_t i = 0; i < n; ++i) thresholds_[i] = static_cast<std::int8_t>(from[i]);
          });
    const auto count = [&](const char* name, auto& value, std::size_t most) {
        d.add({name, {}, [&value](double* to) { *to = static_cast<double>(value); },
               [&value](const double* from) { value = static_cast<std::remove_reference_t<decltype(value)>>(*from); }, 0,
               static_cast<double>(most), {}, true});
    };
    count("grown", grown_, trees_);
    count("oldest", oldest_, std::max<std::size_t>(1, trees_) - 1);
    count("stale", stale_, trees_);
    d.count("kept", kept_);
    if (places_ > trees_) {
        count("on_trial", on_trial_, 1);
        d.count("fresh", fresh_);
    }
    whole("codes", {side(), width}, -largest, largest,
          [this, rows, width](float* to) {
              for (std::size_t i = 0; i < rows; ++i)
                  for (std::size_t j = 0; j < width; ++j) *to++ = codes_[j * capacity_ + place(i)];
          },
          [this, rows, width](const float* from) {
              for (std::size_t i = 0; i < rows; ++i)
                  for (std::size_t j = 0; j < width; ++j) codes_[j * capacity_ + i] = static_cast<std::int8_t>(*from++);
          });
    d.add({"metric", {width}, [this, width](double* to) { std::copy_n(metric_.data(), width, to); },
           [this, width](const double* from) {
               std::copy_n(from, width, metric_.data());
               for (std::size_t j = 0; j < width; ++j) factors_[j] = steps_in_unit / metric_[j];
           },
           Description::positive});
    if (!categories_.empty())
        whole("learned_codes", {categories_.size(), category_codes}, 0, 1,
              [this](float* to) { std::copy_n(learned_codes_.data(), learned_codes_.size(), to); },
              [this](const float* from) {
                  for (std::size_t i = 0; i < learned_codes_.size(); ++i) learned_codes_[i] = static_cast<std::uint8_t>(from[i]);
              });
    d.scratch(learned_codes_, new_, metric_, factors_, split_features_, thresholds_, codes_, group_codes_, gradients_, order_, found_);
    // Without what came later, so that tables have the sizes that they had.
    d.bytes += sizeof(*this) - (places_ > trees_ ? 0 : sizeof(places_) + sizeof(fresh_) + sizeof(scored_)) + features_order_.size() * sizeof(std::uint16_t);
}

void TreeMap::resize(const Sizes& sizes, const std::string& prefix) {
    const auto size = sizes.find(prefix + "codes");
    stored_ = size == sizes.end() ? 0 : size->second;
    next_ = stored_ % capacity_;
    grown_ = oldest_ = stale_ = 0;
    on_trial_ = false;
    kept_ = fresh_ = 0;
    split_features_.clear();
    std::fill_n(thresholds_.data(), thresholds_.size(), static_cast<std::int8_t>(largest));
    std::fill_n(metric_.data(), metric_.size(), 1.0);
    std::fill_n(factors_.data(), factors_.size(), steps_in_unit);
    std::fill_n(known_, group, false);
    learned_codes_.clear();
}

NOLANA_BINDING(tree_map) {
    nb::class_<TreeMap, Map>(m, "TreeMap")
        .def("__init__", [](TreeMap* self, std::size_t features, std::size_t trees, std::size_t depth, std::size_t rows, std::uint64_t seed,
                            bool refits, const std::optional<Vector>& categories, bool trials) {
            const std::vector<std::size_t> none;
            new (self) TreeMap(features, trees, depth, rows, seed, refits, categories ? category_columns(*categories, features) : none,
                               trials);
        }, "features"_a, "trees"_a, "depth"_a, "rows"_a, "seed"_a, "refits"_a = true, "categories"_a.none() = nb::none(), "trials"_a = false);
}

}  // namespace nolana
