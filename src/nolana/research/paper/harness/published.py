"""The numbers printed in the paper (Si, Kumar, Li)."""

# Table 1: RMSE of cpusmall, accuracy % of the others. The paper has one number for usps and names no classes.
TABLE1 = {
    "cpusmall": {"PA": 15.83, "NOGD": 8.30, "FOGD": 7.60, "DualSGD": 7.20, "RRF": 7.77, "NOLANA-paper": 7.08},
    "usps_halves": {"PA": 80.01, "NOGD": 90.52, "FOGD": 89.52, "DualSGD": 89.30, "RRF": 91.05, "NOLANA-paper": 92.07},
    "ijcnn1": {"PA": 89.84, "NOGD": 93.58, "FOGD": 94.00, "DualSGD": 92.92, "RRF": 95.43, "NOLANA-paper": 93.65},
    "webspam": {"PA": 87.49, "NOGD": 91.13, "FOGD": 90.55, "DualSGD": 90.05, "RRF": 91.42, "NOLANA-paper": 91.71},
    "covtype": {"PA": 68.78, "NOGD": 68.84, "FOGD": 69.95, "DualSGD": 70.66, "RRF": 69.97, "NOLANA-paper": 71.51},
}

# Table 2: usps by the threshold: accuracy %, seconds, moves.
TABLE2 = {
    0: (92.00, 30.43, 9298),
    25: (91.91, 25.98, 7742),
    50: (92.14, 20.57, 5523),
    100: (90.91, 9.67, 1262),
    200: (90.27, 5.91, 23),
    300: (90.52, 5.75, 0),
}

# In the text: approximate accuracy of Doubly SGD on usps.
DOUBLY_SGD_USPS = 75.0
