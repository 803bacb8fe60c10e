"""The parameters of the region model as a reviewed file: their meaning, units and limits.

`simulation.region_model` draws from them and `benchmarks.fit_region_model` writes them. The packaged file is
`simulation/data/region_model.yaml`; nothing here knows how numbers become a history.
"""

from __future__ import annotations

from importlib import resources
from typing import Annotated, Final, Self

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from contracts.errors import Place, Refused
from simulation.trace import Floats

PACKAGED: Final = "region_model.yaml"
HOURS_A_DAY: Final = 24
DAYS_A_WEEK: Final = 7

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Declared(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Table(_Declared):
    """A distribution as quantiles: `values[i]` is the quantile at `levels[i]`, from level 0 to level 1, all positive.

    Between two levels the logarithm of the value is linear in the level.
    """

    levels: tuple[Share, ...] = Field(strict=False, min_length=2, max_length=100)
    values: tuple[Positive, ...] = Field(strict=False, min_length=2, max_length=100)

    @model_validator(mode="after")
    def _rise(self) -> Self:
        if len(self.levels) != len(self.values):
            raise ValueError(f"{len(self.levels)} levels and {len(self.values)} values; each level needs its value")
        if self.levels[0] != 0 or self.levels[-1] != 1:
            raise ValueError("levels must run from 0 to 1")
        if any(a >= b for a, b in zip(self.levels, self.levels[1:], strict=False)):
            raise ValueError("levels must rise")
        if any(a > b for a, b in zip(self.values, self.values[1:], strict=False)):
            raise ValueError("values must not fall")
        return self

    def at(self, levels: Floats | float) -> Floats:
        """The quantiles at the levels: with uniform levels, draws from the distribution.

        Inverse transform: Devroye, Non-Uniform Random Variate Generation, 1986, chapter 2.
        """
        return np.exp(np.interp(levels, self.levels, np.log(self.values)))


class Episodes(_Declared):
    """When runs of waves start in one aggregate.

    The rate of an aggregate is `per_100_nodes_a_day` for each hundred of its nodes, times a constant of its own,
    lognormal with mean 1 and `spread_sigma`, times a daily factor, lognormal with mean 1 and `memory_sigma`, whose
    logarithm loses half of its correlation in `memory_half_life_days`, times the weights of the hour and the weekday.
    A `storm_share` of episodes are storms: long trains of waves, rare, and an eighth of all losses.
    """

    per_100_nodes_a_day: Positive
    spread_sigma: NotNegative
    memory_sigma: NotNegative
    memory_half_life_days: Positive
    storm_share: Share
    hour_weights_utc: tuple[NotNegative, ...] = Field(strict=False, min_length=HOURS_A_DAY, max_length=HOURS_A_DAY)
    weekday_weights: tuple[NotNegative, ...] = Field(strict=False, min_length=DAYS_A_WEEK, max_length=DAYS_A_WEEK)


class Train(_Declared):
    """The waves of an episode of one kind: how many, how many seconds apart, how large, and for how long.

    A wave takes two of the aggregate's nodes that are up, and `share_beyond_two` of the others; `share_memory`
    correlates the waves of one episode (on the normal scale). Nodes of a wave that another one follows stay away
    `inside_s` seconds.
    """

    waves: Table
    gap_s: Table
    share_beyond_two: Table
    share_memory: Share
    inside_s: Table


class Waves(_Declared):
    """Which nodes of an aggregate fall together within three minutes, and what falls with them.

    A `block_share` of waves takes neighbours in name order, the others scattered nodes; `pool_sigma` is how unlike the
    pools of an aggregate are (lognormal). A loss falls on the first second with `first_second_share`, else later by
    `spread_s`. From a wave of `join_least_share` on, each other aggregate of the hall falls too with `hall_join_share`;
    with `region_join_share` for each other hall the whole hall and another one fall, and each further hall then with
    `region_more_share`. What falls with a wave loses `joined_share` of its nodes that are up.
    """

    block_share: Share
    pool_sigma: NotNegative
    first_second_share: Share
    spread_s: Table
    join_least_share: Share
    hall_join_share: Share
    region_join_share: Share
    region_more_share: Share
    joined_share: Table


class Lengths(_Declared):
    """How long nodes stay away, in seconds, after an episode's last wave (`last_s`) and a loss on its own (`single_s`).

    A `common_share` of a wave's nodes returns together, the others each by their own draw from the same table.
    """

    last_s: Table
    single_s: Table
    common_share: Share


class Singles(_Declared):
    """Losses on their own: a rate per node-hour up, with pools unlike each other (lognormal with mean 1)."""

    per_node_hour: NotNegative
    pool_sigma: NotNegative


class RegionParameters(_Declared):
    """All parameters of the region model. `no_notice_share` is an assumption: no public source records notices."""

    format: Annotated[int, Field(ge=1, le=1)]
    source: str
    no_notice_share: Share
    episodes: Episodes
    ordinary: Train
    storms: Train
    waves: Waves
    lengths: Lengths
    singles: Singles


def packaged() -> RegionParameters:
    """The reviewed parameters that ship with the package."""
    text = resources.files("simulation").joinpath("data", PACKAGED).read_text(encoding="utf-8")
    return parse(text, PACKAGED)


def parse(text: str, file: str) -> RegionParameters:
    """Parameters from YAML text. Refused, with the file and the place in it: anything that is not as declared."""
    try:
        document: object = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
        raise Refused(f"{place}: {error.problem}") from None
    try:
        return RegionParameters.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise Refused(f"{Place(file)}: {where}: {first['msg']}") from None
