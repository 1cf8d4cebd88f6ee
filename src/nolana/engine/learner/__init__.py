"""The learner around its experts: scaling, losses, combiners, calibration, intervals and the drift alarm."""
