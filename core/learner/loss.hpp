// A loss of one output: the slope for gradient steps, the proximal step for Newton's. The losses are in losses.cpp.
#pragma once

namespace nolana {

// What one row asks of a model whose prediction has variance kappa: alpha += pull h, and curvature g
// so that R -= g h h' / (1 + g kappa).
struct Proximal {
    double pull, curvature;
};

class Loss {
  public:
    virtual ~Loss() = default;
    // d loss / d f
    virtual double slope(double y, double f) const = 0;
    // The exact minimiser of weight * loss / noise + (f' - f)^2 / (2 kappa); noise is the variance of a target.
    virtual Proximal proximal(double y, double f, double kappa, double weight, double noise) const = 0;
    // Whether proximal exists.
    virtual bool curved() const { return true; }
    // Whether what is learned is linear in the targets: regression, not classification.
    virtual bool linear() const { return false; }
    // Whether the row asks for anything at all.
    virtual bool active(double y, double f) const { return slope(y, f) != 0; }
};

}  // namespace nolana
