"""Every error this project raises on purpose, and the boundary each one names.

* InstarError
  + BadInput             what a person gave cannot be used: says what, why and what to do
    - BadBundle          a harness bundle breaks its schema or refers to what is not there
  + DataError            a fact or a table breaks its contract
    - UnknownEvent       an event kind or version nobody can read
    - StreamConflict     another fact already holds that position of the stream
    - BrokenContract     a frame is not what its table promises
    - GateClosed         a table version has no passed verdict, so nothing may train on it
  + Unavailable          something outside failed: a server, a file system, an optional package
  + RolloutError         one rollout failed; it becomes an event and spares its siblings
    - HarnessCrash       the bundle's own code raised
    - ModelUnavailable   the model's server did not answer after all retries
    - ContextExceeded    the conversation no longer fits the model's context
"""


class InstarError(Exception):
    """Base of every error raised on purpose by this project."""


class BadInput(InstarError):
    """What a person gave cannot be used."""


class BadBundle(BadInput):
    """A harness bundle breaks its schema or refers to what is not there."""


class DataError(InstarError):
    """A fact or a table breaks its contract."""


class UnknownEvent(DataError):
    """An event kind or version that no reader knows."""


class StreamConflict(DataError):
    """Another fact already holds that position of the stream."""


class BrokenContract(DataError):
    """A frame is not what its table promises."""


class GateClosed(DataError):
    """A table version has no passed verdict, so nothing may train on it."""


class Unavailable(InstarError):
    """Something outside failed: a server, a file system, an optional package."""


class RolloutError(InstarError):
    """One rollout failed; it is recorded on the trajectory and spares its siblings."""


class HarnessCrash(RolloutError):
    """The bundle's own code raised."""


class ModelUnavailable(RolloutError):
    """The model's server did not answer after all retries."""


class ContextExceeded(RolloutError):
    """The conversation no longer fits the model's context."""
