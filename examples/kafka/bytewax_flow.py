"""Learn a topic in a dataflow of Bytewax, and send each row's prediction from before.

    python bytewax_flow.py localhost:9092 events predictions

It ends at the end of the topic. Bytewax has its own recovery; without it a crash starts again.
`nolana learn kafka://...` stores offsets and model in one file.
"""

import json
import sys

import bytewax.operators as op
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource
from bytewax.dataflow import Dataflow
from bytewax.testing import run_main

from nolana import StreamClassifier


def main(broker, source, sink):
    model = StreamClassifier(random_state=0)

    def learn(message):
        row = json.loads(message.value)
        X = [[row["a"], row["b"]]]
        known = hasattr(model, "classes_")
        prediction = str(model.predict(X)[0]) if known else None
        model.learn(X, [row["label"]])
        answer = {"prediction": prediction, "label": row["label"]}
        return KafkaSinkMessage(None, json.dumps(answer).encode())

    flow = Dataflow("learn")
    messages = op.input("source", flow, KafkaSource([broker], [source], tail=False))
    op.output("sink", op.map("learn", messages, learn), KafkaSink([broker], sink))
    run_main(flow)
    model.save("bytewax.nolana")
    print(f"{model.n_rows_:,} rows learned")


if __name__ == "__main__":
    main(*sys.argv[1:4])
