"""Learn a topic in an application of Quix Streams, and send each row's prediction from before.

    python quix.py localhost:9092 events predictions

Quix commits offsets beside the model: after a crash rows may be learned twice.
`nolana learn kafka://...` stores offsets and model in one file.
"""

import sys

from quixstreams import Application

from nolana import StreamClassifier


def main(broker, source, sink, rows=None):
    app = Application(broker, consumer_group="nolana", auto_offset_reset="earliest", auto_create_topics=False)
    model = StreamClassifier(random_state=0)

    def learn(row):
        X = [[row["a"], row["b"]]]
        known = hasattr(model, "classes_")
        prediction = str(model.predict(X)[0]) if known else None
        model.learn(X, [row["label"]])
        return {"prediction": prediction, "label": row["label"]}

    app.dataframe(app.topic(source)).apply(learn).to_topic(app.topic(sink))
    app.run(count=rows or 0, timeout=30)
    model.save("quix.nolana")
    print(f"{model.n_rows_:,} rows learned")


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:]))
