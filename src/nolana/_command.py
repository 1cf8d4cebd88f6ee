"""The command from its first moment: Ctrl-C ends it with code 130 and without a traceback, also while it is loaded.

``nolana.cli.process`` takes over as soon as it is loaded. Only what Python has loaded anyway is imported here.
"""

import os
import sys

__all__ = ["IS_COMMAND"]

IS_COMMAND = [os.path.basename(name) for name in getattr(sys, "argv", [])[:1]] == ["nolana"]

if IS_COMMAND:
    import _signal  # type: ignore[import-not-found]  # of which ``signal`` is made; that one takes longer to load than all before

    _signal.signal(_signal.SIGINT, lambda *_: os._exit(130))
