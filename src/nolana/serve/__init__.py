"""`nolana serve`: a model behind HTTP that predicts, learns and survives crashes; the extra ``serve``.

Every request to learn is in a log on the disk before it is learned, and answered after it is learned. The model file
has the position in the log, so that after a crash exactly the records behind it are learned again.

    server   connections, signals             bodies   JSON, JSON lines, Arrow -> lines
    app      endpoints, limits                rows     lines -> X and y, by the plan of the model file
    service  the thread that writes           log      SQLite: records, ids, rows that wait for labels
    model    learns, predicts, is saved       opening  model file and log belong together; replay
"""
