"""Topics of Kafka and streams of Redis as sources: order, positions, and what is no row."""

import io
import itertools
import json
import threading
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nolana
from brokers import Servers, json_rows, redis_server
from nolana.errors import OptionError, OtherSourceError, StreamError, StreamWarning
from nolana.sources.messages import address, open_sink
from nolana.sources.messages.kafka import KafkaTopic

pytest.importorskip("confluent_kafka")
redis = pytest.importorskip("redis")


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    with Servers(tmp_path_factory.mktemp("redis")) as servers:
        yield servers


@pytest.fixture
def cluster(servers):
    return servers.cluster


@pytest.fixture
def server(servers):
    return servers.redis


@pytest.fixture
def topic(request):
    return request.node.name.replace("[", "-").replace("]", "")


def numbered(n, begin=0):
    """Rows that say which they are."""
    return [json.dumps({"i": i % 7, "n": i, "label": i % 2}).encode() for i in range(begin, begin + n)]


def read(source, **options):
    """The column n of all rows, and the stream."""
    stream = nolana.sources.open(source, target="label", **options)
    return [int(n) for block in stream for n in block.X[:, 1]], stream


def add(server, stream, rows):
    client = redis.Redis.from_url(server)
    pipeline = client.pipeline()
    for row in rows:
        pipeline.xadd(stream, {"value": row})
    pipeline.execute()
    return client


# Order and positions


@given(messages=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=40), data=st.data())
def test_order_is_that_of_the_earliest_next_message_also_after_a_resume(servers, messages, data):
    """The oracle takes, again and again, the earliest of the first messages that are left."""
    cluster, topic = servers.cluster, f"order-{next(NUMBERS)}"
    cluster.produce(topic, [(numbered(1, n)[0], p, time) for n, (p, time) in enumerate(messages)])
    left = {p: [(time, p, n) for n, (q, time) in enumerate(messages) if q == p] for p in range(3)}
    expected = []
    while any(left.values()):
        first = min(queue[0][:2] for queue in left.values() if queue)
        expected.append(left[first[1]].pop(0)[2])
    source, size = f"{cluster.url}/{topic}", data.draw(st.integers(1, len(messages)))
    with nolana.sources.open(source, target="label", block_rows=size) as stream:
        begin = [int(n) for n in next(stream).X[:, 1]]
    assert begin + read_on(source, stream)[0] == expected


NUMBERS = itertools.count()


def test_resume_finishes_the_old_ends_before_messages_that_came_since(cluster, topic):
    cluster.send(topic, numbered(60), partitions=3)
    source = f"{cluster.url}/{topic}"
    with nolana.sources.open(source, target="label", block_rows=20) as stream:
        begin = [int(n) for n in next(stream).X[:, 1]]
        state = stream.state()
    cluster.send(topic, numbered(30, 60), partitions=2, start=-1000)  # with earlier times
    with nolana.sources.open(source, resume=state) as stream:
        rest = [int(n) for block in stream for n in block.X[:, 1]]
        after = stream.state()
    assert begin + rest == list(range(90))
    with nolana.sources.open(source, resume=after) as stream:
        assert list(stream) == []
        assert stream.state()["position"] == after["position"]


def test_position_of_other_partitions_is_kept(cluster, topic):
    cluster.send(topic, numbered(40), partitions=4)
    source = f"{cluster.url}/{topic}"
    even, stream = read(source, partitions=[0, 2])
    assert even == list(range(0, 40, 2))
    odd, other = read_on(source, stream, partitions=[1, 3])
    assert odd == list(range(1, 40, 2))
    assert read_on(source, other)[0] == []


def read_on(source, stream, **options):
    resumed = nolana.sources.open(source, resume=stream.state(), **options)
    return [int(n) for block in resumed for n in block.X[:, 1]], resumed


def test_blocks_have_partition_and_offset(cluster, topic):
    cluster.send(topic, numbered(6), partitions=2)
    with nolana.sources.open(f"{cluster.url}/{topic}", target="label", block_rows=4) as stream:
        assert next(stream).places == {"partition": [0, 1, 0, 1], "offset": [0, 0, 1, 1]}
        assert next(stream).places == {"partition": [0, 1], "offset": [2, 2]}


@pytest.mark.parametrize("kind", ["kafka", "redis"])
def test_from_latest_reads_what_comes_later(servers, topic, kind):
    source = servers.send(kind, topic, numbered(10), partitions=2)
    plan = read(source)[1].plan
    with nolana.sources.open(source, plan=plan, from_="latest") as stream:
        assert list(stream) == []
    servers.send(kind, topic, numbered(5, 10), partitions=2)
    assert read_on(source, stream)[0] == list(range(10, 15))


@pytest.mark.parametrize("kind", ["kafka", "redis"])
def test_follow_returns_rows_as_they_come(servers, topic, kind):
    source = servers.send(kind, topic, numbered(3))
    with nolana.sources.open(source, target="label", follow=True) as stream:
        assert next(stream).X[:, 1].tolist() == [0, 1, 2]
        later = threading.Timer(0.3, servers.send, [kind, topic, numbered(2, 3)])
        later.start()
        got = []
        while len(got) < 2:
            got += next(stream).X[:, 1].tolist()
        assert got == [3, 4]
        later.join()
        state = stream.state()
    servers.send(kind, topic, numbered(1, 5))
    resumed = nolana.sources.open(source, resume=state)
    assert [block.X[:, 1].tolist() for block in resumed] == [[5]]


def test_a_stream_of_redis_is_read_by_entries_in_their_order(server, topic):
    client = redis.Redis.from_url(server)
    for i, row in enumerate(json_rows(50)):
        client.xadd(topic, json.loads(row), id=f"{i + 1}-0")
    with nolana.sources.open(f"{server}/{topic}", target="label", block_rows=30) as stream:
        first = next(stream)
        assert first.places == {"id": [f"{i + 1}-0" for i in range(30)]}
        assert stream.columns == {"a": "number", "b": "number", "c": "category"}
        assert first.y.tolist() == [json.loads(row)["label"] for row in json_rows(50)[:30]]
        state = stream.state()
    with nolana.sources.open(f"{server}/{topic}", resume=state) as stream:
        assert next(stream).places["id"] == [f"{i + 1}-0" for i in range(30, 50)]
    times, _ = read_by_time(f"{server}/{topic}", "1970-01-01T00:00:00.041")
    assert times == [f"{i}-0" for i in range(41, 51)]


def read_by_time(source, time):
    with nolana.sources.open(source, target="label", from_=time) as stream:
        return [place for block in stream for place in block.places["id"]], stream


# Another source, and messages that are gone


@pytest.mark.parametrize("kind", ["kafka", "redis"])
def test_resume_refuses_another_source_or_a_changed_message(servers, topic, kind):
    source, other = (servers.send(kind, name, numbered(5)) for name in (topic, f"{topic}-b"))
    _, stream = read(source)
    state = stream.state()
    with pytest.raises(OtherSourceError, match="another source"):
        nolana.sources.open(other, resume=state)
    for marks in state["position"]["messages"]["marks"].values():
        marks[1] = None if marks[1] is None else marks[1] ^ 1
    with pytest.raises(OtherSourceError, match="has changed"):
        nolana.sources.open(source, resume=state)


def test_a_position_beyond_the_end_of_a_partition_is_another_topic(cluster, topic):
    cluster.send(topic, numbered(5))
    _, stream = read(f"{cluster.url}/{topic}")
    state = stream.state()
    state["position"]["messages"]["marks"]["0"] = [17, 1]
    with pytest.raises(OtherSourceError, match="partition 0, offset 17: it ends at partition 0, offset 4"):
        nolana.sources.open(f"{cluster.url}/{topic}", resume=state)


def test_a_truncated_partition_is_an_error_unless_the_start_is_set(cluster, topic):
    """The simulated broker keeps 5 MB of a partition."""
    cluster.send(topic, numbered(5))
    source = f"{cluster.url}/{topic}"
    _, stream = read(source)
    large = [json.dumps({"i": 1, "n": 5 + i, "label": 0, "x": "x" * 500_000}).encode() for i in range(15)]
    cluster.send(topic, large)
    with pytest.raises(StreamError, match=r"messages after partition 0, offset 4 were deleted.*from_='earliest'"):
        nolana.sources.open(source, resume=stream.state())
    with pytest.warns(StreamWarning, match="were deleted"):
        rest, _ = read_on(source, stream, from_="earliest", new_columns="ignore")
    assert rest == list(range(20 - len(rest), 20))
    assert 0 < len(rest) < 15


def test_a_trimmed_stream_is_an_error_unless_the_start_is_set(server, topic):
    client = add(server, topic, numbered(10))
    source = f"{server}/{topic}"
    _, stream = read(source)
    add(server, topic, numbered(10, 10))
    client.xtrim(topic, maxlen=11, approximate=False)
    assert read_on(source, stream)[0] == list(range(10, 20))  # the last entry that was read is still there
    client.xtrim(topic, maxlen=4, approximate=False)
    with pytest.raises(StreamError, match="may have been too"):
        nolana.sources.open(source, resume=stream.state())
    with pytest.warns(StreamWarning, match="may have been too"):
        assert read_on(source, stream, from_="earliest")[0] == list(range(16, 20))


def test_gaps_between_entries_are_no_error(server, topic):
    client = add(server, topic, numbered(10))
    _, stream = read(f"{server}/{topic}")
    ids = [entry for entry, _ in client.xrange(topic)]
    client.xdel(topic, *ids[3:10])  # the last one too
    add(server, topic, numbered(2, 10))
    assert read_on(f"{server}/{topic}", stream)[0] == [10, 11]


# Rows


def test_messages_that_are_no_rows_are_named_by_partition_and_offset(cluster, topic, tmp_path):
    rows = numbered(10)
    rows[2], rows[4], rows[5], rows[7] = None, b' {"i": 1,', b"\n", b'[{"i": 1}]'
    rows[8] = rows[8].replace(b"{", b"{\r\n ")  # blanks, in JSON
    cluster.send(topic, rows)
    source = f"{cluster.url}/{topic}"
    with pytest.raises(StreamError, match="partition 0, offset 2: the message has no value: it is a tombstone"):
        read(source)
    found, stream = read(source, on_bad_row=f"quarantine={tmp_path / 'bad'}")
    assert found == [0, 1, 3, 6, 8, 9]
    assert stream.bad_rows_by_reason == {"tombstone": 1, "format": 3}
    records = [json.loads(line) for line in (tmp_path / "bad").read_text().splitlines()]
    assert [(r["partition"], r["offset"], r["reason"]) for r in records] == [
        (0, 2, "tombstone"), (0, 4, "format"), (0, 5, "format"), (0, 7, "format"),
    ]  # fmt: skip
    assert [r["text"] for r in records] == ["", '{"i": 1,', "", '[{"i": 1}]']


def test_bad_rows_are_counted_once_over_resumes(cluster, topic):
    rows = numbered(30)
    for i in range(0, 30, 3):
        rows[i] = None
    cluster.send(topic, rows, partitions=2)
    state, found = None, []
    while True:
        options = {"target": "label"} if state is None else {"resume": state}
        with nolana.sources.open(f"{cluster.url}/{topic}", on_bad_row="skip", block_rows=4, **options) as stream:
            block = next(stream, None)
            state = stream.state()
            if block is None:
                break
            found += block.X[:, 1].tolist()
    assert found == [i for i in range(30) if i % 3]
    assert stream.bad_rows == 10


def test_an_invalid_cell_is_named_by_partition_offset_and_column(cluster, topic):
    rows = [b"1,2,a", b"3,x,b", b"4,5,a"] + [b"6,7,a"] * 30
    cluster.send(topic, rows, partitions=2)
    with pytest.raises(StreamError, match=r"partition 1, offset 0, column 2 \(\"w\"\): 'x' is not a number"):
        nolana.sources.read(f"{cluster.url}/{topic}", names=["h", "w", "kind"], target="kind")


def test_csv_has_no_header_and_an_open_quote_ends_with_its_message(cluster, topic):
    rows: list[bytes | None] = [
        None,
        b'"a"b,1,2',
        b'1,"x",0',
        b'2,"y,1',
        b"3,y,0\n",
        b"4",
        b'5,"x, y",1',
        b"\xef\xbb\xbf6,z,1",
    ]
    cluster.send(topic, rows)
    source = f"{cluster.url}/{topic}"
    with nolana.sources.open(source, on_bad_row="skip") as stream:
        blocks = list(stream)
    assert stream.bad_rows_by_reason == {"tombstone": 1, "format": 3}
    assert [offset for block in blocks for offset in block.places["offset"]] == [2, 4, 6, 7]
    assert blocks[0].X[:, 0].tolist() == [1, 3, 5, 6]
    assert blocks[0].y.tolist() == [0, 0, 1, 1]
    with pytest.raises(StreamError, match="no header"):
        nolana.sources.open(source, target="kind")
    with pytest.raises(OptionError, match="header"):
        nolana.sources.open(source, header=True)
    with nolana.sources.open(source, names=["n", "kind", "y"], target="y", on_bad_row="skip") as stream:
        assert list(stream.columns) == ["n", "kind"]
    without_labels = f"{topic}-new"
    cluster.send(without_labels, [b"7,x", b"8,y"])
    with nolana.sources.open(f"{cluster.url}/{without_labels}", plan=stream.plan, target=False) as other:
        assert next(other).X[:, 0].tolist() == [7, 8]


def test_libsvm_in_messages(cluster, topic):
    cluster.send(topic, [None, b"1 1:0.5 3:2", b"0 2:1", b"1 2:x"])
    with nolana.sources.open(f"{cluster.url}/{topic}", on_bad_row="skip") as stream:
        x, y = stream.gather()
    assert (x.tolist(), y.tolist()) == ([[0.5, 0, 2], [0, 1, 0]], [1, 0])
    assert stream.bad_rows_by_reason == {"tombstone": 1, "format": 1}


def test_names_of_a_file_without_a_header(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("1,2,a\n3,4,b\n")
    x, y = nolana.sources.read(path, names=["h", "w", "kind"], target="kind", features=["w"])
    assert x.tolist() == [[2], [4]]
    assert y.tolist() == ["a", "b"]
    path.write_text("p,q,r\n1,2,a\n")
    assert nolana.sources.read(path, names=["h", "w", "kind"], header=True, target="kind")[0].tolist() == [[1, 2]]
    with pytest.raises(OptionError, match="is for format 'csv'"):
        nolana.sources.read(io.BytesIO(b'{"a": 1, "b": 2}'), names=["a", "b"])
    with pytest.raises(StreamError, match="too many: the row has 3 fields, there are 2 names"):
        nolana.sources.read(path, names=["h", "kind"])


def test_encoding_of_messages(cluster, topic):
    cluster.send(topic, [f'{{"s": "{word}", "label": 1}}'.encode("latin-1") for word in ("Köln", "Orléans")])
    with nolana.sources.open(f"{cluster.url}/{topic}", encoding="latin-1", categories="onehot") as stream:
        next(stream)
        assert stream.state()["encoder"]["categories"] == [["Köln", "Orléans"]]


# Addresses, options, servers


@pytest.mark.parametrize("text", ["kafka://h:9092", "kafka://h:9092/", "kafka:///t", "redis://h/a/b", "amqp://h/q"])
def test_an_invalid_address_is_refused(text):
    with pytest.raises(ValueError, match=r"form|no source"):
        nolana.sources.open(text)


@pytest.mark.parametrize(
    ("source", "options"),
    [("x.csv", {"follow": True}), ("redis://h/s", {"partitions": [0]}), ("redis://h/s", {"kafka_config": "f"})],
)
def test_an_option_of_another_source_is_refused(source, options):
    with pytest.raises(OptionError, match="is for sources"):
        nolana.sources.open(source, **options)


@pytest.mark.parametrize("options", [{"from_": "soon"}, {"partitions": "0"}, {"partitions": []}, {"names": ["a", ""]}])
def test_an_invalid_value_is_refused(options):
    with pytest.raises(OptionError):
        nolana.sources.open("kafka://127.0.0.1:9/t", **options)


def test_unreachable_brokers_and_absent_topics_are_named(cluster):
    with pytest.raises(StreamError, match=r"no broker answers.*Connection refused"):
        nolana.sources.open("kafka://127.0.0.1:9/t")
    cluster.send("present", numbered(1))
    with pytest.raises(StreamError, match=r"no topic 'absent'; the topics are:.*'present'"):
        nolana.sources.open(f"{cluster.url}/absent")
    with pytest.raises(OptionError, match="0 to 3"):
        nolana.sources.open(f"{cluster.url}/present", partitions=[7])


def test_an_unreachable_redis_and_absent_streams_are_named(server):
    with pytest.raises(StreamError, match=r"does not answer.*Connection refused"):
        nolana.sources.open("redis://127.0.0.1:9/t")
    with pytest.raises(StreamError, match="no stream 'absent'"):
        nolana.sources.open(f"{server}/absent")
    redis.Redis.from_url(server).set("text", "1")
    with pytest.raises(StreamError, match="this key is a string"):
        nolana.sources.open(f"{server}/text")


def test_an_empty_topic_says_so(cluster, topic):
    cluster.send(topic, numbered(1))
    with pytest.raises(StreamError, match="no messages with rows; follow=True"):
        nolana.sources.open(f"{cluster.url}/{topic}", from_="latest")


def test_passwords_are_in_no_message_and_no_state(tmp_path):
    with redis_server(tmp_path, "--requirepass", "geheim/@") as url:
        open_url = url.replace("redis://", "redis://:geheim%2F%40@")
        add(open_url, "s", numbered(3))
        _, stream = read(f"{open_url}/s")
        assert "geheim" not in json.dumps(stream.state(), default=str)
        assert stream.name == f"{url}/s"
        with pytest.raises(StreamError, match="refuses the user or the password") as caught:
            read(f"{url.replace('redis://', 'redis://:falsch@')}/s")
        assert "falsch" not in str(caught.value)
        with pytest.raises(StreamError, match="not a number") as caught:
            read(f"{open_url}/s?db=geheim")
        assert "geheim" not in str(caught.value)


def test_kafka_config_is_checked_and_its_values_are_not_printed(cluster, tmp_path):
    cluster.send("config", numbered(2))
    path = tmp_path / "client.properties"
    for text, message in (
        ("sasl.password=geheim\nno.such=geheim", "no.such is not a property"),
        ("security.protocol=geheim", "security.protocol is not a property of Kafka, or has an invalid value"),
        ("security.protocol=ssl\nssl.ca.location=/geheim", "ssl.ca.location is not a property"),
        ("geheim", "line 1"),
        ("bootstrap.servers=geheim", "decided by the command"),
    ):
        path.write_text(text)
        with pytest.raises(OptionError, match=message) as caught:
            nolana.sources.open(f"{cluster.url}/config", kafka_config=str(path))
        assert "geheim" not in str(caught.value)
    path.write_text("# none needed\nclient.id = test\n\n")
    assert read(f"{cluster.url}/config", kafka_config=str(path))[0] == [0, 1]
    with pytest.raises(StreamError, match="no credentials") as caught:
        nolana.sources.open("kafka://me:geheim@127.0.0.1:9/t")
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("kind", ["kafka", "redis"])
def test_lines_of_a_sink_are_messages(servers, topic, kind):
    source, options = servers.send(kind, topic, []), nolana.sources.SourceOptions()
    values = [row.decode() for row in numbered(5)]
    with closing(open_sink(source, options)) as sink:
        sink.write("\n".join(values[:2]) + "\n")
        sink.write("\n".join(values[2:]) + "\n")
        sink.flush()
    assert sorted(servers.values(kind, topic)) == sorted(numbered(5))
    with pytest.raises(StreamError, match="answer"):
        open_sink(f"{kind}://127.0.0.1:9/sink", options)


def test_an_address_is_printed_without_credentials_and_options():
    assert str(address("rediss://me:geheim@h:1/s?db=2")) == "rediss://h:1/s"


def test_many_messages_pass_a_partition_that_waits(cluster, topic, monkeypatch):
    """Partition 1 is much later: its messages wait, and it is paused."""
    monkeypatch.setattr("nolana.sources.messages.kafka.MOST_HELD", 10_000)
    monkeypatch.setattr("nolana.sources.messages.kafka.BATCH", 20)
    cluster.send(topic, numbered(600))
    rows = numbered(500, 600)
    cluster.produce(topic, [(row, 1, 10**6 + i) for i, row in enumerate(rows)])
    resumed, resume = [], KafkaTopic._resume
    monkeypatch.setattr(KafkaTopic, "_resume", lambda self, which: (resumed.extend(which), resume(self, which))[1])
    assert read(f"{cluster.url}/{topic}")[0] == list(range(1100))
    assert 1 in resumed
