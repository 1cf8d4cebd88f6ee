"""Forecast: the demand of each hour a day ahead, with an interval, from what is known a day before.

Demand is simulated: hour and weekday, a temperature that is forecast well, and a level that wanders. Rows come in the
order of time, so a forecast is made when the newest known demand is that of 24 hours before: lag=24.
"""

from collections import deque

import numpy as np

from nolana import StreamRegressor, plot

LAG, HOURS = 24, 24 * 7 * 20
rng = np.random.default_rng(0)
t = np.arange(HOURS)
hour, weekday = t % 24, t // 24 % 7
temperature = (
    12 + 8 * np.sin(2 * np.pi * t / (24 * 140)) + 4 * np.sin(2 * np.pi * (hour - 9) / 24) + rng.normal(size=HOURS)
)
level = np.cumsum(0.25 * rng.normal(size=HOURS))
shape = 12 * np.sin(2 * np.pi * (hour - 8) / 24) * np.where(weekday > 4, 0.4, 1.0)
demand = 60 + shape + level + 0.1 * np.maximum(0, temperature - 14) ** 2 + rng.normal(size=HOURS)
X = np.column_stack([hour, weekday, temperature])

model = StreamRegressor(lag=LAG, random_state=0)
forecast, low, high = np.full((3, HOURS), np.nan)
waiting = deque()
for now in range(HOURS):
    row = model.at_moment(X[now : now + 1])  # with what is known of demand at this moment
    if now >= LAG:
        forecast[now], low[now], high[now] = (float(part[0]) for part in model.predict(row, interval=0.9))
    waiting.append((row, demand[now : now + 1]))
    if len(waiting) == LAG:
        model.learn(*waiting.popleft())

tested = slice(24 * 28, HOURS)  # after four weeks


def rmse(prediction):
    return float(np.sqrt(np.mean((prediction - demand)[tested] ** 2)))


inside = (low <= demand) & (demand <= high)
print(f"RMSE of nolana                     {rmse(forecast):.2f}")
print(f"RMSE of the value of a day before  {rmse(np.roll(demand, 24)):.2f}")
print(f"RMSE of the value of a week before {rmse(np.roll(demand, 168)):.2f}")
print(f"inside the 90 % interval           {100 * np.mean(inside[tested]):.1f} %")

last = slice(HOURS - 24 * 7, HOURS)
days = t[last] / 24
curves = {"forecast of a day before, 90 %": (days, forecast[last]), "demand": (days, demand[last])}
bands = {"forecast of a day before, 90 %": (days, low[last], high[last])}
plot.panels([plot.Panel("The last week", curves, "day", "demand", bands=bands)], "forecast.svg")
