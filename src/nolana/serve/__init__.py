"""`nolana serve`: a model behind HTTP that predicts, learns and survives crashes; the extra ``serve``.

Every request to learn is in a log on the disk before it is learned, and answered after it is learned. The model file
has the position in the log, so that after a crash exactly the records behind it are learned again.

    server   start, connections, end          bodies      JSON, JSON lines, Arrow -> lines
    app      endpoints                        rows        lines -> X and y, by the plan of the model file
    service  the thread that writes           log         SQLite: records, ids, rows that wait for labels
    group    one transaction of jobs          quarantine  labels that are no class of the model yet
    model    learns, predicts, is saved       status      what the service reports about itself
"""
