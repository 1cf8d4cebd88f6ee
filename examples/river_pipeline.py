"""A River pipeline with a nolana model at its end: features appear, are missing and vanish, and XOR is learned."""

import random

from river import compose, evaluate, linear_model, metrics, preprocessing

from nolana import river as nolana_river

COUNTRIES = ["DE", "FR", "IT", "ES"]


def orders(rows=6000, seed=0):
    """Whether an order is returned depends on two features together; a third one arrives half-way."""
    rng = random.Random(seed)
    for t in range(rows):
        price, hour = rng.gauss(50, 20), rng.uniform(0, 24)
        country = rng.choice(COUNTRIES if t > 1000 else COUNTRIES[:2])
        x = {"country": country, "price": price, "hour": hour}
        if rng.random() < 0.05:
            del x["hour"]  # a missing value
        returned = (price > 50) != (hour > 12)
        if t >= 3000:  # the shop begins to count visits, and now they decide for Spain
            x["visits"] = float(rng.randint(1, 20))
            returned = x["visits"] > 10 if country == "ES" else returned
        yield x, returned


def pipeline(model):
    numbers = compose.SelectType(int, float)
    words = compose.SelectType(str) | preprocessing.OneHotEncoder()
    return (numbers + words) | model


linear = pipeline(preprocessing.StandardScaler() | linear_model.LogisticRegression())
print("LogisticRegression", evaluate.progressive_val_score(orders(), linear, metrics.Accuracy()))

model = pipeline(nolana_river.StreamClassifier(seed=0))
print("nolana            ", evaluate.progressive_val_score(orders(), model, metrics.Accuracy()))
print(f"probability of a return: {model.predict_proba_one({'price': 80.0, 'hour': 8.0, 'country': 'DE'})[True]:.2f}")

# The estimator of nolana is inside the last step: what each expert is worth now, and how many bytes it has.
learned = model["StreamClassifier"]
best = max(learned.estimator.experts_, key=lambda expert: expert["weight"])
print(f"the expert with the largest weight: {best['name']}; {learned.memory_bytes_:,} bytes")
