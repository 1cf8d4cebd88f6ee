// The mean of the experts' scores.
#include "bind/bind.hpp"
#include "learner/combiner.hpp"

namespace nolana {

class Mean final : public Combiner {
  public:
    void clear(std::size_t experts, std::size_t outputs) override {
        experts_ = experts;
        set_outputs(outputs);
    }
    void set_outputs(std::size_t outputs) override { outputs_ = outputs; }
    void combine(const double* scores, double* f) const override {
        for (std::size_t o = 0; o < outputs_; ++o) {
            double sum = 0;
            for (std::size_t e = 0; e < experts_; ++e) sum += scores[e * outputs_ + o];
            f[o] = sum / static_cast<double>(experts_);
        }
    }
    void learn(const double*, const double*, const double*, double) override {}
    void describe(Description& d) override { d.bytes += sizeof(*this); }

  private:
    std::size_t experts_ = 1, outputs_ = 1;
};

NOLANA_BINDING(mean) { nb::class_<Mean, Combiner>(m, "Mean").def(nb::init<>()); }

}  // namespace nolana
