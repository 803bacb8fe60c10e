"""Nothing foreign (DESIGN 5, 9, 10): nothing outside owned projects, nothing without our mark and nothing of a later
epoch is ever terminated, marked or given back; and nothing is created outside owned projects.
"""

from __future__ import annotations

from collections.abc import Iterator

from repo_layout.documents import AdoptionFile
from simulation.check_reading import Checker
from simulation.check_scene import Scene
from simulation.chronicle import Act, Call


class Touched(Checker):
    """Every act is on a server of ours, in an owned project, marked in the actor's epoch or an earlier one; a mark is
    put only on a server that a reviewed adoption hands over.
    """

    name = "check_ours.Touched"

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Judge one call by the mark that stood on the server before it."""
        who = f"{act.call.value} of {act.name or '(no name)'} ({act.server or 'no server'}) by {act.replica}"
        if act.call in (Call.ASK_RETURN, Call.REMOVE_NODE):
            if act.name not in scene.namesakes:
                yield f"{who}: no instance of ours ever had this name"
            return
        if act.project not in scene.ground.projects:
            yield f"{who}: project {act.project or '(none)'} is not owned"
        if act.call is Call.CREATE or not act.fresh:
            return
        yield from (f"{who}: {wrong}" for wrong in _foreign(scene, act))


def _foreign(scene: Scene, act: Act) -> Iterator[str]:
    """What is wrong with the mark that stood on the server."""
    stood = act.stood
    if stood is None and act.call is Call.MARK:
        if not any(_hands_over(adoption, act) for r in scene.reviewed for adoption in r.estate.adoptions):
            yield "no reviewed adoption hands it over"
    elif stood is None:
        yield "it carries no mark"
    elif (stood.estate, stood.region) != (scene.estate, scene.region):
        yield f"it carries the mark of {stood.estate}/{stood.region}"
    elif stood.epoch > act.epoch:
        yield f"it was marked in epoch {stood.epoch}, the act is of epoch {act.epoch}"
    elif act.call is not Call.MARK and stood.name != act.name:
        yield f"it carries the name {stood.name}"


def _hands_over(adoption: AdoptionFile, act: Act) -> bool:
    """Whether the file is about such a server: one that it names, or one of its workload where it selects by tags."""
    return adoption.workload == act.workload and (bool(adoption.selector) or act.server in adoption.servers)
