"""Learning rates over time: eta_t = eta t^-power, t counting rows from 1.

constant  eta            follows a stream that changes
sqrt      eta / sqrt(t)  the rate of the regret bounds
inverse   eta / t        for strongly convex losses; eta = 1/lambda is Pegasos'
"""

POWERS = {"constant": 0.0, "sqrt": 0.5, "inverse": 1.0}
