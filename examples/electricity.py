"""Electricity: predict the price of the next half hour, with an interval, before it is known.

Prices are simulated, so that the program runs anywhere: a daily and a weekly cycle, demand, wind, and a market that
couples prices to wind from day 120 on. With the real data set elec2 (`nolana data get elec2`) it predicts whether the
price rises.
"""

import numpy as np

import nolana
from nolana import StreamClassifier, StreamRegressor, plot
from nolana.errors import DataError

rng = np.random.default_rng(0)
t = np.arange(240 * 48)
hour, weekday, wind = t % 48 / 2, t // 48 % 7, np.abs(np.cumsum(rng.normal(size=len(t))) % 20 - 10)
demand = 5 + 2 * np.sin(2 * np.pi * (hour - 8) / 24) - (weekday > 4) + 0.3 * rng.normal(size=len(t))
coupled = t >= 120 * 48
price = 30 + 4 * demand + np.maximum(0, demand - 6) ** 3 - np.where(coupled, 1.5 * wind, 0) + rng.normal(size=len(t))
X = np.column_stack([hour, weekday, demand, wind])

model = StreamRegressor(random_state=0)
inside, predicted = [], []
for day in range(0, len(t), 48):  # prices of a day are published together
    rows = slice(day, day + 48)
    if day:
        y, low, high = model.predict(X[rows], interval=0.9)
        predicted.append(y)
        inside.append((low <= price[rows]) & (price[rows] <= high))
    model.partial_fit(X[rows], price[rows])

error = np.abs(np.concatenate(predicted) - price[48:])
before, after = ~coupled[48:], coupled[48:]
print(f"mean error before the market changed  {error[before].mean():.2f}")
print(f"mean error on the first day after     {error[after][:48].mean():.2f}")
print(f"mean error on the last 30 days        {error[-30 * 48 :].mean():.2f}")
print(f"prices inside their 90 % interval     {100 * np.mean(inside):.1f} %")
print(f"drift alarms on days                  {sorted({row // 48 for row in model.drift_})}")

smooth = np.convolve(error, np.ones(96) / 96, mode="valid")
days = (np.arange(len(smooth)) + 144) / 48
plot.panels(
    [plot.Panel("Simulated prices", {"error of the last two days": (days, smooth)}, "day", "mean error", mark=120)],
    "electricity.svg",
)

try:
    X, y = nolana.research.datasets.load("elec2")
except DataError:
    print("elec2 is not installed")
else:
    model = StreamClassifier(random_state=0)
    scores = model.learn(X, y)
    print(f"elec2, price up or down: {100 * (model.classes_[scores[1:].argmax(axis=1)] == y[1:]).mean():.1f} %")
