"""Models of the other files, exported: what is scripted and traced elsewhere, to compare the three."""

import nets.inplace
import nets.nested
import nets.shared_tied
import nets.sizes
import nets.vision
from nets.exporting import decomposed, exported
from nets.sample import Sample, call, tensor

VISION = call(tensor(1, 3, 12, 12))
NESTED = call(tensor(2, 4))
SHARED = call(tensor(2, 6))
ATTENTION = call(tensor(2, 6, 8))
INPLACE = call(tensor(3, 4), tensor(2, dtype="int64", high=3))


def shared_tied():
    return nets.shared_tied.Net(nets.shared_tied.Shared())


SAMPLES = [
    Sample(
        "nested_exported",
        "exported",
        "leaves at several depths, parameters used by their owner's operations",
        exported(nets.nested.Net, NESTED),
        [NESTED],
        kind="exported_program",
    ),
    Sample(
        "shared_tied_exported",
        "exported",
        "a shared module called three times, tied and unused parameters",
        exported(shared_tied, SHARED),
        [SHARED],
        kind="exported_program",
    ),
    Sample(
        "shared_tied_exported_strict",
        "exported, strict",
        "the same by strict mode",
        exported(shared_tied, SHARED, strict=True),
        [SHARED],
        kind="exported_program",
    ),
    Sample(
        "attention_exported",
        "exported",
        "attention with sizes taken from its input",
        exported(nets.sizes.Traceable, ATTENTION),
        [ATTENTION],
        kind="exported_program",
    ),
    Sample(
        "inplace_exported",
        "exported",
        "in-place operators, index assignment, a view that writes to its base",
        exported(nets.inplace.Net, INPLACE),
        [INPLACE],
        kind="exported_program",
    ),
    Sample(
        "vision_exported",
        "exported",
        "convolutions, batch norm, residual sums, pooling",
        exported(nets.vision.Net, VISION),
        [VISION],
        kind="exported_program",
    ),
    Sample(
        "vision_exported_decomposed",
        "exported, decomposed",
        "the same in core operators: normalizations with several results",
        decomposed(nets.vision.Net, VISION),
        [VISION],
        kind="exported_program",
    ),
]
